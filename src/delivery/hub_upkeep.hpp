#pragma once

#include "delivery/orchestrator/orchestrator.hpp"
#include "observe/error_metrics.hpp"
#include "runtime/periodic_work.hpp"

#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/spi/hub_admin_store.hpp>
#include <sagabox/spi/ownership_store.hpp>
#include <sagabox/time.hpp>

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sagabox::delivery {

/// Removes what ended longer ago than its retention, a page at a time. One process at a time does.
class HubPurger final : public runtime::PeriodicWork {
 public:
  static constexpr Duration interval = std::chrono::minutes(10);
  static constexpr std::uint32_t rows_max = 1000;

  struct Parts {
    spi::HubAdminStore& store;
    const Clock& clock;
    Metrics& metrics;
    Logger& log;
    Duration retention{};       ///< 0: nothing is removed
    Duration dead_retention{};  ///< 0: the dead are kept
    /// Whether this process is the one.
    std::function<bool()> mine;
  };
  explicit HubPurger(Parts parts) : parts_(std::move(parts)), errors_(parts_.metrics) {}

  bool step() override;
  [[nodiscard]] BootTime next(BootTime now) const override;

 private:
  enum class Turn : std::uint8_t { none, ended, dead };
  /// Returns whether there is more of it.
  bool purge(const Result<spi::HubPurged>& purged);

  const Parts parts_;
  ErrorMetrics errors_;
  Turn turn_ = Turn::none;
  BootTime due_{};
  bool begun_ = false;
};

/// Shows a figure of the store as gauges, read by one process: the owner of shard 0. Where another
/// one has it they are NaN, which no alert and no maximum takes for a value. While the store does
/// not answer they are NaN too, and `hub_figures_known` is 0.
class HubFigureReader : public runtime::PeriodicWork {
 public:
  static constexpr Duration interval = std::chrono::seconds(15);
  /// What there is more of is estimated, or shown as this.
  static constexpr std::uint64_t counted_max = 10'000;

  struct Parts {
    spi::HubAdminStore& store;
    const Clock& clock;
    Metrics& metrics;
    Logger& log;
    /// Whether this process is the one.
    std::function<bool()> mine;
  };

  bool step() final;
  [[nodiscard]] BootTime next(BootTime) const final { return shows_ ? due_ : BootTime::max(); }

 protected:
  /// `of`: which figures, as the label of `hub_figures_known`. Without metrics it does nothing.
  HubFigureReader(Parts parts, std::string_view of);

  /// Reads and shows.
  virtual Status read() = 0;
  /// Shows that nothing is known.
  virtual void clear() = 0;
  [[nodiscard]] double age_of(std::optional<WallTime> oldest) const;

  const Parts parts_;

 private:
  const std::string of_;
  ErrorMetrics errors_;
  const bool shows_;
  bool shown_ = false;
  BootTime due_{};
};

/// How many deliveries are open or dead, and how old the oldest open one is.
class HubBacklog final : public HubFigureReader {
 public:
  explicit HubBacklog(Parts parts) : HubFigureReader(std::move(parts), "deliveries") {}

 private:
  Status read() override;
  void clear() override;
};

/// How many events are not routed yet, and how old the first of them is.
class HubRoutingLag final : public HubFigureReader {
 public:
  explicit HubRoutingLag(Parts parts) : HubFigureReader(std::move(parts), "events") {}

 private:
  Status read() override;
  void clear() override;
};

/// Publishes an event about each subscription that was disabled because of its endpoint.
class DisabledNotices final : public runtime::PeriodicWork {
 public:
  static constexpr Duration interval = std::chrono::seconds(1);

  /// `publish`: the same event for the same change, so that it may be published again.
  struct Parts {
    Orchestrator& orchestrator;
    const Clock& clock;
    Logger& log;
    std::function<Status(const SubscriptionRecord&)> publish;
  };
  explicit DisabledNotices(Parts parts) : parts_(std::move(parts)) {}

  bool step() override;
  [[nodiscard]] BootTime next(BootTime now) const override { return std::max(now, due_); }

 private:
  const Parts parts_;
  std::deque<SubscriptionRecord> waiting_;
  BootTime due_{};
};

/// Where one process at a time has the hub: whether another one has it. Asked by its roles, from
/// any thread.
class HubStandBy final : public runtime::PeriodicWork {
 public:
  static constexpr Duration interval = std::chrono::seconds(1);

  struct Parts {
    spi::OwnershipStore& ownership;
    std::string store;  ///< its name, for people
    const Clock& clock;
    Logger& log;
    /// The other process has ended.
    std::function<void()> free;
  };
  explicit HubStandBy(Parts parts) : parts_(std::move(parts)) {}

  [[nodiscard]] bool stands_by() const noexcept { return stands_by_.load(); }
  bool step() override;
  [[nodiscard]] BootTime next(BootTime now) const override { return std::max(now, due_); }

 private:
  /// Who owns the deliveries in another process; empty: nobody does. Null: the store does not say.
  [[nodiscard]] std::optional<WorkerId> other_owner() const;

  const Parts parts_;
  std::atomic<bool> stands_by_{false};
  BootTime due_{};
};

}  // namespace sagabox::delivery
