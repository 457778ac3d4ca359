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

/// Told of a message in this process. An exception is an error. Called from several threads.
using Subscriber = std::function<void(const Delivery&)>;

struct BusOptions {
  /// Messages whose subscribers run at the same time.
  std::uint32_t threads = 4;
  std::uint32_t in_flight_max = 1024;
  /// Of subscribers that declare a store and name none of their own. Outlives it.
  Metrics* metrics = &no_metrics();
  const Clock* clock = &system_clock();
};

/// Tells all subscribers of a topic of this bus: `bus:orders`, which a route names and which need
/// not be the topic of the messages. They are called one after the other, in the order of
/// subscription. Nobody there is an error (TX.NO_SUBSCRIBERS), and so is one who throws; the others
/// are called all the same, and several errors are joined. A message with an error is tried again
/// like any that failed, with all subscribers.
///
/// At the deadline the stop token is set and the message has timed out. While a subscriber goes on
/// all the same its thread is not free, and messages of its topic and key are put off: they
/// do not overtake it.
class Bus final : public spi::Transport {
 public:
  explicit Bus(const BusOptions& options = {});
  /// Waits for subscribers that still run.
  ~Bus() override;
  Bus(const Bus&) = delete;
  Bus& operator=(const Bus&) = delete;

  /// CONFIG.INVALID for a topic that no address can name, TX.INVALID_HANDLER for no function.
  Status subscribe(std::string_view topic, Subscriber subscriber);
  /// One that answers as a listener does: what is not done is an error.
  template <class Answering>
    requires std::is_invocable_r_v<Outcome, Answering&, const Delivery&>
  Status subscribe(std::string_view topic, Answering subscriber) {
    return add(topic, Listener(std::move(subscriber)));
  }
  /// Its consumer is `bus:topic` unless it is named; TX.INVALID_STATE if another subscriber of the
  /// topic has that name. An error that is the database's alone spends no attempt.
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
