#pragma once

#include <sagabox/delivery.hpp>
#include <sagabox/once.hpp>
#include <sagabox/spi/transport.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox {

struct FunctionsOptions {
  /// Functions that run at the same time.
  std::uint32_t threads = 4;
  std::uint32_t in_flight_max = 1024;
  /// Of functions that declare a store and name none of their own. Outlives it.
  Metrics* metrics = &no_metrics();
  const Clock* clock = &system_clock();
};

/// Calls your functions by name: `fn:charge_card`. They return an Outcome like listeners; an
/// exception is a failure. Deadlines and keys are handled as in `Bus`.
class Functions final : public spi::Transport {
 public:
  explicit Functions(const FunctionsOptions& options = {});
  /// Waits for functions that still run.
  ~Functions() override;
  Functions(const Functions&) = delete;
  Functions& operator=(const Functions&) = delete;

  /// Call it before a route uses the name. A name has one function.
  Status add(std::string_view name, Listener function);
  /// The default consumer is `fn:name`.
  Status add(std::string_view name, StoreListener function);

  [[nodiscard]] spi::TransportTraits traits() const override;
  Result<std::shared_ptr<const spi::Address>> address(
      std::string_view text, const spi::AddressSettings& settings) override;
  void send(std::span<spi::Parcel> parcels, spi::SendResults& results) override;
  Result<std::vector<std::string>> findings(BootTime deadline) override;
  void close(BootTime deadline) override;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Your own transports by name: `custom:fax`, `custom:fax/+49…`. Your transport gets the whole
/// address.
class CustomTransports final : public spi::Transport {
 public:
  /// Call it before a route uses the name. A name has one transport.
  Status add(std::string_view name, std::shared_ptr<spi::Transport> transport);

  /// The traits that all of them have in common.
  [[nodiscard]] spi::TransportTraits traits() const override;
  Result<std::shared_ptr<const spi::Address>> address(
      std::string_view text, const spi::AddressSettings& settings) override;
  void send(std::span<spi::Parcel> parcels, spi::SendResults& results) override;
  Result<std::vector<std::string>> findings(BootTime deadline) override;
  void close(BootTime deadline) override;

 private:
  struct Named {
    std::string name;
    std::shared_ptr<spi::Transport> transport;
  };
  [[nodiscard]] std::vector<Named> all() const;

  mutable std::mutex mutex_;
  std::vector<Named> named_;
};

}  // namespace sagabox
