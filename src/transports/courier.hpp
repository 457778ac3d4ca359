#pragma once

#include "transports/pending_parcels.hpp"
#include "transports/wake.hpp"

#include <sagabox/random.hpp>
#include <sagabox/result.hpp>
#include <sagabox/spi/transport.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace sagabox::transports {

/// A connection that is up: what a protocol does over it. One thread uses it.
class Link {
 public:
  class Answers {
   public:
    virtual ~Answers() = default;
    /// Parcels of a link are numbered 1, 2, 3 … in the order in which they were posted. Answers to
    /// what has had one are ignored.
    virtual void answered(std::uint64_t number, spi::SendResult result) = 0;
  };

  /// Cuts the connection: what has not left yet does not leave any more.
  virtual ~Link() = default;

  /// Puts a parcel on its way. A result: it does not get on its way, and has no number.
  virtual std::optional<spi::SendResult> post(const spi::Parcel& parcel, std::uint64_t number) = 0;
  /// False: so much waits to be written that more would only take memory.
  [[nodiscard]] virtual bool takes_more() const = 0;
  /// Writes and reads what can be written and read without waiting. An error: the connection is
  /// lost, and why.
  virtual Status turn(BootTime now, Answers& answers) = 0;

  [[nodiscard]] virtual int fd() const = 0;
  [[nodiscard]] virtual bool wants_write() const = 0;
  /// When it wants a turn though nothing moves, for a heartbeat.
  [[nodiscard]] virtual BootTime turn_by() const { return BootTime::max(); }
  /// Everything was answered, and it ends: a word of farewell, without waiting.
  virtual void leave() {}
};

/// Brings parcels over one connection that one thread of its own looks after: takes them from any
/// thread, connects when the first comes and again, with backoff, when the connection is lost,
/// keeps deadlines and sees to it that each parcel has one result.
class Courier final : private Link::Answers {
 public:
  using Connected = Result<std::unique_ptr<Link>>;
  /// Connects and logs in; may wait, on a thread that nobody waits for for ever. Owns all it uses.
  using Connect = std::function<Connected(BootTime deadline)>;

  struct Options {
    std::string server{};  ///< for errors: "Redis at 127.0.0.1:6379"
    std::uint32_t in_flight_max = 1024;
    Duration connect_max = std::chrono::seconds(5);
    Duration backoff_min = std::chrono::milliseconds(50);
    Duration backoff_max = std::chrono::seconds(2);
    const Clock* clock = &system_clock();
    Random* random = &system_random();
  };

  Courier(Options options, Connect connect);
  ~Courier() override;
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  /// As `spi::Transport::send` and `close`.
  void send(std::span<spi::Parcel> parcels, spi::SendResults& results);
  void close(BootTime deadline);

 private:
  struct Dial;

  void run();
  void take_inbox();
  void expire_waiting(BootTime now);
  void expire_posted(BootTime now);
  void look_after_dial(BootTime now);
  void dial(BootTime now);
  void dial_failed(BootTime now, const Error& error);
  void work(BootTime now);
  void post_waiting();
  void lose_link(BootTime now, const std::string& reason);
  /// Whether there is nothing left to do.
  bool closed(BootTime now);
  void wait();
  void answered(std::uint64_t number, spi::SendResult result) override;
  [[nodiscard]] Duration backoff();

  const Options options_;
  const Connect connect_;
  const std::shared_ptr<Wake> wake_;
  const std::shared_ptr<std::atomic<std::uint32_t>> dials_;  ///< also those that were given up
  std::atomic<std::uint32_t> under_way_{0};

  std::mutex mutex_;
  std::vector<Handed> inbox_;
  std::optional<BootTime> close_by_;
  std::mutex closing_;  ///< one at a time joins the thread

  // The thread's own.
  std::vector<Handed> taken_;
  PendingParcels waiting_{under_way_};  ///< not posted yet
  PendingParcels posted_{under_way_};   ///< on `link_`, under its numbers
  std::unique_ptr<Link> link_;
  std::shared_ptr<Dial> dial_;
  bool needed_ = false;
  BootTime dial_not_before_{};
  std::uint32_t dials_failed_ = 0;
  std::string last_error_;

  std::thread thread_;
};

}  // namespace sagabox::transports
