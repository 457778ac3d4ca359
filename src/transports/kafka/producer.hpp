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

/// A parcel in librdkafka's hands; the message stays with us, it is not copied.
struct Letter {
  transports::UnderWay::Key key;
  spi::Parcel parcel;
  std::size_t place = 0;  ///< among those held
  bool alone = false;     ///< no other was held since it is
};

/// One instance of librdkafka's producer. Used by one thread, which is also where everything is
/// told.
class Producer {
 public:
  class Events {
   public:
    virtual ~Events() = default;
    virtual void reported(Letter& letter, rd_kafka_resp_err_t error, bool may_have_arrived) = 0;
    virtual void troubled(rd_kafka_resp_err_t error, std::string_view text) = 0;
  };

  /// `wake` rings when there is something to poll; both outlive it.
  static Result<std::unique_ptr<Producer>> open(const Options& options, Events& events,
                                                transports::Wake& wake);
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;
  /// Takes a while; what is held then has no report any more.
  ~Producer();

  /// On an error the letter is handed back.
  rd_kafka_resp_err_t produce(std::unique_ptr<Letter>& letter);
  /// Tells what there is to tell.
  void poll();
  /// Takes back what has not left yet, or everything, and tells.
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
