#pragma once

#include "transports/timed_parcels.hpp"

#include <sagabox/delivery.hpp>
#include <sagabox/spi/transport.hpp>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace sagabox::transports {

/// The name of a function in this process: `bus:orders`, `fn:charge_card`.
class LocalName final : public spi::Address {
 public:
  LocalName(std::string name, std::uint32_t threads) : name_(std::move(name)), threads_(threads) {}
  [[nodiscard]] const std::string& str() const noexcept { return name_; }
  [[nodiscard]] std::optional<std::uint32_t> at_once() const override { return threads_; }

 private:
  std::string name_;
  std::uint32_t threads_;
};

/// Empty if `name` is allowed in an address.
std::string local_name_problem(std::string_view name);

/// `scheme` includes its colon.
Result<std::shared_ptr<const LocalName>> local_name(std::string_view scheme, std::string_view text,
                                                    const spi::AddressSettings& settings,
                                                    std::uint32_t threads);

/// A few threads that call functions of this process for parcels whose addresses are LocalNames.
/// C++ cannot end a function: one past its deadline is asked to stop, its parcel has timed out, and
/// until it returns others of its name and key are deferred. Parcels that no thread has started are
/// deferred too. Thread-safe.
class Crew {
 public:
  struct Options {
    const Clock& clock;
    std::uint32_t threads;
    std::uint32_t in_flight_max;
    /// An exception counts as a failure.
    std::function<spi::SendResult(const LocalName& name, const Delivery& delivery)> call;
  };
  explicit Crew(Options options);
  /// Waits for functions that still run.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  [[nodiscard]] std::uint32_t threads() const noexcept { return options_.threads; }
  [[nodiscard]] spi::TransportTraits traits() const {
    return {.keeps_order = false, .in_flight_max = options_.in_flight_max};
  }
  void send(std::span<spi::Parcel> parcels, spi::SendResults& results);
  void close(BootTime deadline) { parcels_.close(deadline); }

 private:
  /// A running function; used by its thread only, except for the members that the lock guards.
  struct Running {
    TimedParcels::ItemPtr item{};
    std::stop_source stop{};
    bool overdue = false;
  };
  void work();
  [[nodiscard]] spi::SendResult call(const Running& running) const noexcept;
  [[nodiscard]] bool follows_an_overdue_one(const spi::Parcel& parcel) const;
  /// The deadline has passed: a running function is asked to stop.
  void give_up(const TimedParcels::ItemPtr& item);

  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<TimedParcels::ItemPtr> queue_;
  std::vector<Running*> running_;
  bool ended_ = false;
  TimedParcels parcels_;
  std::vector<std::thread> threads_;
};

}  // namespace sagabox::transports
