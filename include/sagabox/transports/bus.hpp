#pragma once

#include <sagabox/delivery.hpp>
#include <sagabox/once.hpp>
#include <sagabox/spi/transport.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sagabox {

/// Receives messages in this process. An exception is an error. Called from several threads.
using Subscriber = std::function<void(const Delivery&)>;

struct BusOptions {
  /// Messages whose subscribers run at the same time.
  std::uint32_t threads = 4;
  std::uint32_t in_flight_max = 1024;
  /// Of subscribers that declare a store and name none of their own. Outlives it.
  Metrics* metrics = &no_metrics();
  const Clock* clock = &system_clock();
};

/// Calls all subscribers of a topic of this bus: `bus:orders`, which a route names and which may
/// differ from the topic of the messages. Subscribers are called one after the other, in the order
/// of subscription. It is an error if there is no subscriber (TX.NO_SUBSCRIBERS), or if one throws;
/// the others are still called, and several errors are joined. After an error the message is
/// retried like any failed message, with all subscribers.
///
/// At the deadline stop is requested and the message times out. While a subscriber continues after
/// that, its thread stays in use, and messages of its topic and key are deferred, so that they do
/// not overtake it.
class Bus final : public spi::Transport {
 public:
  explicit Bus(const BusOptions& options = {});
  /// Waits for subscribers that still run.
  ~Bus() override;
  Bus(const Bus&) = delete;
  Bus& operator=(const Bus&) = delete;

  /// CONFIG.INVALID for a topic that is not valid in an address, TX.INVALID_HANDLER for an empty
  /// function.
  Status subscribe(std::string_view topic, Subscriber subscriber);
  /// Adds a subscriber that returns an Outcome like a listener; any outcome except done is an
  /// error.
  template <class Answering>
    requires std::is_invocable_r_v<Outcome, Answering&, const Delivery&>
  Status subscribe(std::string_view topic, Answering subscriber) {
    return add(topic, Listener(std::move(subscriber)));
  }
  /// The default consumer is `bus:topic`; TX.INVALID_STATE if another subscriber of the topic has
  /// that name. An error caused only by the database spends no attempt.
  Status subscribe(std::string_view topic, StoreListener subscriber);

  [[nodiscard]] spi::TransportTraits traits() const override;
  Result<std::shared_ptr<const spi::Address>> address(
      std::string_view text, const spi::AddressSettings& settings) override;
  void send(std::span<spi::Parcel> parcels, spi::SendResults& results) override;
  Result<std::vector<std::string>> findings(BootTime deadline) override;
  void close(BootTime deadline) override;

 private:
  Status add(std::string_view topic, Listener subscriber, std::string consumer = {});

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sagabox
