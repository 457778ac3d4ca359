#pragma once

#include "transports/nats/address.hpp"
#include "transports/nats/connector.hpp"

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sagabox::nats {

/// One thread publishes, reads and keeps deadlines; it blocks only in `poll`.
class NatsTransport final : public spi::Transport {
 public:
  explicit NatsTransport(Options options);
  ~NatsTransport() override;

  [[nodiscard]] spi::TransportTraits traits() const override;
  Result<std::shared_ptr<const spi::Address>> address(
      std::string_view text, const spi::AddressSettings& settings) override;
  void send(std::span<spi::Parcel> parcels, spi::SendResults& results) override;
  Result<std::vector<std::string>> findings(BootTime deadline) override;
  void close(BootTime deadline) override;

 private:
  using Admitted = transports::UnderWay::Admitted;

  void run();
  void take_news();
  void take_incoming();
  void publish_waiting();
  [[nodiscard]] spi::SendResult too_large(const spi::Parcel& parcel) const;
  void serve(bool readable);
  void expire();
  void drop_connection();
  [[nodiscard]] bool wait();
  [[nodiscard]] int wait_milliseconds() const;

  const Options options_;
  const std::shared_ptr<transports::UnderWay> under_way_;
  const std::shared_ptr<transports::Wake> wake_;

  std::mutex mutex_;
  std::vector<Admitted> incoming_;
  /// By subject and stream; kept, because parcels under way refer to them.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const Subject>> subjects_;

  // Used by the thread only.
  std::deque<Admitted> waiting_;
  std::unique_ptr<Connection> connection_;
  BootTime heard_at_{};
  bool wanted_ = false;
  std::string last_error_;

  std::unique_ptr<Connector> connector_;
  std::atomic<bool> ending_ = false;
  std::mutex closing_;
  std::thread thread_;
};

}  // namespace sagabox::nats
