#pragma once

#include "transports/kafka/address.hpp"
#include "transports/kafka/producer.hpp"

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace sagabox::kafka {

/// One thread passes parcels to librdkafka, receives its reports and keeps deadlines. It replaces
/// the producer when it must make sure that parcels with a result are not sent later: past a
/// deadline, after a fatal error, when no broker is left.
class KafkaTransport final : public spi::Transport, private Producer::Events {
 public:
  explicit KafkaTransport(Options options);
  ~KafkaTransport() override;

  [[nodiscard]] spi::TransportTraits traits() const override;
  Result<std::shared_ptr<const spi::Address>> address(
      std::string_view text, const spi::AddressSettings& settings) override;
  void send(std::span<spi::Parcel> parcels, spi::SendResults& results) override;
  Result<std::vector<std::string>> findings(BootTime deadline) override;
  void close(BootTime deadline) override;

 private:
  void reported(Letter& letter, rd_kafka_resp_err_t error, bool may_have_arrived) override;
  void troubled(rd_kafka_resp_err_t error, std::string_view text) override;

  void run();
  void take_incoming();
  void expire();
  void produce_waiting();
  void produce_some(BootTime now);
  /// Returns false if librdkafka accepts no more now.
  bool produce(std::unique_ptr<Letter>& letter);
  [[nodiscard]] bool have_producer(BootTime now);
  void poll_producer();
  void look_after_producer();
  /// Ends it; unsent parcels go to the next producer, unless `verdict` is the result for all of
  /// them.
  void end_producer(const spi::SendResult* verdict);
  void requeue();
  void wait();
  [[nodiscard]] spi::SendResult not_sent(std::string_view why) const;

  const Options options_;
  transports::UnderWay under_way_;
  transports::Wake wake_;

  std::mutex mutex_;
  std::vector<transports::UnderWay::Admitted> incoming_;
  /// Kept, because parcels under way refer to them.
  std::map<std::string, std::shared_ptr<const KafkaTopic>> topics_;

  // Used by the thread only.
  std::unique_ptr<Producer> producer_;
  std::deque<std::unique_ptr<Letter>> waiting_;
  std::vector<std::unique_ptr<Letter>> withdrawn_;
  std::vector<transports::UnderWay::Key> delivered_;  ///< reported together
  const spi::SendResult* verdict_ = nullptr;  ///< for withdrawn letters; null: they are sent again
  bool is_down_ = false;                      ///< no broker is left
  bool is_broken_ = false;
  bool is_full_ = false;  ///< until the next report
  std::string last_error_;
  Duration backoff_;
  std::optional<BootTime> retry_at_;
  std::thread burial_;  ///< ending a producer takes a while

  std::atomic<bool> ending_ = false;
  std::mutex closing_;
  std::thread thread_;
};

}  // namespace sagabox::kafka
