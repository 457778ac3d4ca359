#pragma once

#include "transports/courier.hpp"
#include "transports/out_buffer.hpp"
#include "transports/stream.hpp"

#include <sagabox/transports/redis.hpp>

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;
struct redisReply;

namespace sagabox::redis {

struct StreamAddress final : spi::Address {
  std::string key;
  std::uint64_t maxlen = 0;  ///< 0: no bound
  bool approximate = true;
  std::uint32_t replicas = 0;
};

/// The result for an error reply: "OOM command not allowed when used memory > 'maxmemory'."
spi::SendResult error_meaning(std::string_view reply);

/// RESP: `*2\r\n$4\r\nAUTH\r\n…`.
void append_words(std::string& out, std::initializer_list<std::string_view> words);
void append_xadd(std::string& out, const spi::Parcel& parcel, const StreamAddress& address);

/// A connection that has logged in.
class Connection {
 public:
  static Result<std::unique_ptr<Connection>> open(const Options& options, BootTime deadline);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  struct FreeReply {
    void operator()(redisReply* reply) const;
  };
  using Reply = std::unique_ptr<redisReply, FreeReply>;

  [[nodiscard]] transports::Stream& stream() noexcept { return *stream_; }
  /// Sends and waits for the reply; an error reply is an error.
  Result<Reply> ask(std::initializer_list<std::string_view> words, BootTime deadline,
                    const Clock& clock);
  /// Reads what has arrived; returns whether there was anything.
  Result<bool> receive();
  /// The next complete reply; null if there is none.
  Result<Reply> next_reply();

 private:
  explicit Connection(std::unique_ptr<transports::Stream> stream);

  std::unique_ptr<transports::Stream> stream_;
  redisReader* reader_;
};

/// Many XADDs are written at once; the replies have the same order.
class RedisLink final : public transports::Link {
 public:
  RedisLink(std::unique_ptr<Connection> connection, Duration replicas_max)
      : connection_(std::move(connection)), replicas_max_(replicas_max) {}

  std::optional<spi::SendResult> post(const spi::Parcel& parcel, std::uint64_t number) override;
  [[nodiscard]] bool takes_more() const override { return out_.size() < out_bytes_max; }
  Status turn(BootTime now, Answers& answers) override;
  [[nodiscard]] int fd() const override { return connection_->stream().fd(); }
  [[nodiscard]] bool wants_write() const override { return !out_.empty(); }

 private:
  static constexpr std::size_t out_bytes_max = 1024UL * 1024;

  struct Expected {
    std::uint64_t number = 0;  ///< 0: the answer to a WAIT
    std::uint32_t replicas = 0;
  };

  void ask_for_replicas();
  Status write();
  Status read(Answers& answers);
  void take(const redisReply& reply, Answers& answers);
  void take_replicas(const redisReply& reply, Answers& answers);

  std::unique_ptr<Connection> connection_;
  const Duration replicas_max_;
  transports::OutBuffer out_;
  std::deque<Expected> expected_;
  std::vector<Expected> stored_;  ///< on the primary; the next WAIT's answer is for them
  std::uint32_t replicas_wanted_ = 0;
  std::string lost_;  ///< the server is no longer the one to write to
};

}  // namespace sagabox::redis
