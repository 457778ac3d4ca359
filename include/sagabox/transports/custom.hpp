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

/// Calls functions of yours by name: `fn:charge_card`. They answer as listeners do; an exception is
/// a failure. What is said of deadlines and keys at `Bus` holds here, too.
class Functions final : public spi::Transport {
 public:
  explicit Functions(const FunctionsOptions& options = {});
  /// Waits for functions that still run.
  ~Functions() override;
  Functions(const Functions&) = delete;
  Functions& operator=(const Functions&) = delete;

  /// Before a route names it. A name has one function.
  Status add(std::string_view name, Listener function);
  /// Its consumer is `fn:name` unless it is named.
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

/// Transports of yours by name: `custom:fax`, `custom:fax/+49…`. Yours reads the whole address.
class CustomTransports final : public spi::Transport {
 public:
  /// Before a route names it. A name has one transport.
  Status add(std::string_view name, std::shared_ptr<spi::Transport> transport);

  /// What all of them can do.
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
