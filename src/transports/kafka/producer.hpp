#pragma once

#include "transports/kafka/client.hpp"
#include "transports/under_way.hpp"
#include "transports/wake.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sagabox::kafka {

/// A parcel that librdkafka is sending; we keep the message, it is not copied.
struct Letter {
  transports::UnderWay::Key key;
  spi::Parcel parcel;
  std::size_t place = 0;  ///< its index among the held letters
  bool alone = false;     ///< no other letter was held at the same time
};

/// One producer instance of librdkafka. Used by one thread, which also receives all reports.
class Producer {
 public:
  class Events {
   public:
    virtual ~Events() = default;
    virtual void reported(Letter& letter, rd_kafka_resp_err_t error, bool may_have_arrived) = 0;
    virtual void troubled(rd_kafka_resp_err_t error, std::string_view text) = 0;
  };

  /// `wake` rings when there is something to poll; `wake` and `events` must outlive the producer.
  static Result<std::unique_ptr<Producer>> open(const Options& options, Events& events,
                                                transports::Wake& wake);
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;
  /// Takes a while; letters that are still held get no report.
  ~Producer();

  /// On an error the letter stays with the caller.
  rd_kafka_resp_err_t produce(std::unique_ptr<Letter>& letter);
  /// Runs the callbacks of waiting reports.
  void poll();
  /// Takes back the letters that were not sent yet, or all, and reports them.
  enum class Withdraw : std::uint8_t { queued, everything };
  void withdraw(Withdraw what);

  [[nodiscard]] const std::vector<std::unique_ptr<Letter>>& held() const noexcept { return held_; }

 private:
  explicit Producer(Events& events) : events_(events) {}
  static void on_report(rd_kafka_t* client, const rd_kafka_message_t* message, void* opaque);
  static void on_error(rd_kafka_t* client, int error, const char* text, void* opaque);
  [[nodiscard]] rd_kafka_topic_t* topic(const std::string& name);

  Events& events_;
  rd_kafka_t* client_ = nullptr;
  rd_kafka_queue_t* queue_ = nullptr;
  std::unordered_map<std::string, rd_kafka_topic_t*> topics_;
  std::vector<std::unique_ptr<Letter>> held_;
};

}  // namespace sagabox::kafka
