#pragma once

#include "delivery/store_retry.hpp"
#include "delivery/subscription_book.hpp"
#include "feed/reader.hpp"
#include "observe/error_metrics.hpp"
#include "ownership/worker.hpp"

#include <sagabox/event_types.hpp>
#include <sagabox/hub_record.hpp>
#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/spi/audit_store.hpp>
#include <sagabox/spi/delivery_store.hpp>
#include <sagabox/spi/event_store.hpp>
#include <sagabox/time.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sagabox::delivery {

/// What a router works with; all of it outlives the router.
struct RouterParts {
  spi::EventStore& events;
  spi::DeliveryStore& deliveries;  ///< `add` only
  /// What events should look like; null: as they like.
  const EventTypes* types = nullptr;
  /// Has what the store refuses; null: nothing has.
  spi::AuditStore* audit = nullptr;
  const Clock& clock;
  Metrics& metrics = no_metrics();
  Logger& log = no_log();
  /// Called without a lock when a step may be due earlier than `next` said.
  std::function<void()> wake = [] {};
  /// Commits were lost: what was read of the store may not be there. Called with a lock held.
  std::function<void()> timeline_changed = [] {};
  /// Called without a lock with deliveries that have been added, some of them perhaps before.
  std::function<void(std::span<const DeliveryRecord>)> added = [](std::span<const DeliveryRecord>) {
  };
};

struct RouterOptions {
  std::uint32_t read_rows_max = 500;
  std::size_t read_bytes_max = std::size_t{8} * 1024 * 1024;
  /// In one write.
  std::size_t deliveries_max = 1000;
  Duration poll_interval = std::chrono::milliseconds(100);
  /// Positions are moved at most so often: what was routed since is routed again after a crash,
  /// and meets its own deliveries.
  Duration move_interval = std::chrono::milliseconds(100);
};

struct RouterSnapshot {
  std::uint32_t shards_owned = 0;
  std::uint64_t events = 0;      ///< routed since the start, as all below
  std::uint64_t deliveries = 0;  ///< that were new
  std::uint64_t refused = 0;     ///< deliveries that the store does not take
  std::uint64_t unfit = 0;       ///< events that do not fit the catalogue of event types
};

/// Makes the deliveries of the events whose shards are ours. Reads events forward with what has
/// changed about subscriptions, adds the deliveries of those that match, and moves the position
/// of a shard only over events whose deliveries have committed. All of it may be repeated.
///
/// Has no thread. `step` and `next` belong to one thread; everything else is safe from any thread.
class Router final : public ownership::Holder {
 public:
  static constexpr std::string_view scope = "hub:router";

  explicit Router(RouterParts parts, RouterOptions options = {});

  /// Whose lease counts, before the first step. Without one, shards are ours until they are lost.
  void attach(ownership::Worker& worker) noexcept { worker_.store(&worker); }

  /// At most one call of a store: asks where shards begin, adds deliveries, moves positions, or
  /// reads. False: nothing is due before `next`.
  bool step();
  [[nodiscard]] BootTime next(BootTime now) const;
  /// Events may have been committed.
  void wake() noexcept;

  void acquired(const spi::OwnedShard& shard, const WorkerId& owner, Timeline timeline) override;
  void drain(Shard shard) override;
  [[nodiscard]] bool idle(Shard shard) const override;
  void lost(Shard shard) override;

  [[nodiscard]] RouterSnapshot snapshot() const;
  [[nodiscard]] bool owns(Shard shard) const;

 private:
  struct OwnedShard {
    bool ours = false;
    bool begun = false;  ///< its position was read
    std::uint32_t tenure = 0;
    Epoch epoch{};
    WorkerId owner{};
    Sequence moved{};  ///< the stored position
  };
  using TakenEvent = feed::TakenRows<HubEvent>::Taken;
  /// Deliveries of one or more whole events, in the order of their events.
  struct Batch {
    std::vector<DeliveryRecord> deliveries{};
    std::vector<feed::RowPlace> events{};
    std::size_t added = 0;     ///< of `deliveries`
    std::size_t rows_max = 0;  ///< of the next write
    bool is_void = false;      ///< its events may not be there any more
    /// Why the store does not take the next delivery.
    std::optional<Error> refusal{};
    [[nodiscard]] bool empty() const noexcept { return events.empty(); }
  };
  struct Reading {
    feed::ReadPlan plan{};
    std::uint64_t subscriptions_after = 0;
  };
  struct Moves {
    WorkerId owner{};
    std::vector<spi::RoutingPosition> positions{};
    std::vector<spi::Fence> fences{};
  };

  [[nodiscard]] bool live(BootTime now) const;
  bool begin_shards(BootTime now);
  bool add_deliveries(BootTime now);
  void fill_batch();
  void added(std::size_t rows, Result<std::uint64_t> fresh, BootTime now);
  void log_made(std::span<const DeliveryRecord> deliveries) const;
  bool tell_refusal(BootTime now);
  void refused(const DeliveryRecord& delivery, const Error& error);
  void end_writes(std::size_t rows);
  void check_type(const HubEvent& event);
  void end_batch();
  bool move_positions(BootTime now);
  [[nodiscard]] Moves plan_moves() const;
  /// Returns the fences that do not hold.
  std::vector<spi::Fence> apply_moves(const Moves& moves, const Result<std::vector<bool>>& held,
                                      BootTime now);
  bool read_events(BootTime now);
  void apply_read(const Reading& reading, Result<spi::RoutingReply> reply, BootTime now);
  void failed(std::string_view what, const Error& error, BootTime now);
  void forget(Shard shard);
  [[nodiscard]] bool moves_wait() const;

  const RouterParts parts_;
  const RouterOptions options_;
  ErrorMetrics errors_;
  Counter& routed_;
  Counter& made_;
  Counter& unfit_;
  Counter& refused_;
  std::atomic<ownership::Worker*> worker_{nullptr};

  mutable std::mutex mutex_;  // of all below
  std::vector<OwnedShard> shards_;
  Timeline timeline_{};
  feed::Reader reader_;
  SubscriptionBook book_;
  std::deque<TakenEvent> events_;  ///< read, and not in the batch yet
  Batch batch_;
  StoreRetry retry_;
  BootTime move_at_{};
  RouterSnapshot totals_;
};

}  // namespace sagabox::delivery
