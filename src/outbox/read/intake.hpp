#pragma once

#include "feed/full_pass.hpp"
#include "feed/read_schedule.hpp"
#include "observe/error_metrics.hpp"
#include "outbox/read/read_ahead.hpp"
#include "outbox/read/shards.hpp"
#include "outbox/upkeep/pauses.hpp"

#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/spi/outbox_store.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

namespace sagabox::outbox {

/// Reads which keys wait for a retry: before anything else of a shard is read, and again if some
/// keys may wait unnecessarily.
struct KeysRead {
  Shard shard;
  Sequence after;
  std::uint32_t tenure = 0;
  std::optional<BlockedKeysPage> again{};
};
struct DueRead {
  std::vector<spi::DueRange> ranges;
  std::vector<std::uint32_t> tenures;
};
struct FreshRead {
  BootTime begun{};
  std::vector<spi::Range> ranges{};
  std::vector<PlannedRange> pages{};
};

/// One read to make now.
struct ReadPlan {
  struct Ticket {
    Shard shard;
    feed::ReadTicket ticket;
  };
  std::variant<KeysRead, DueRead, FreshRead> what{};
  std::vector<Ticket> tickets{};
  std::size_t bytes_max = 0;
};
using ReadAnswer = std::variant<Result<spi::RetryingKeysReply>, Result<spi::ReadReply>>;

struct IntakeOptions {
  Duration poll_interval = std::chrono::milliseconds(100);
  /// The interval of full passes, see `feed::FullPassSchedule`.
  Duration safety_interval_min = std::chrono::seconds(30);
  /// The interval with claims, where a full pass also takes unclaimed rows of other shards; it is
  /// repeated while it finds some.
  Duration sweep_interval = std::chrono::milliseconds(500);
  /// The rows above the capacity of the cold queue, while it is emptied fast.
  std::uint32_t read_ahead = 0;
  /// See `Shares`.
  std::uint64_t apart_max = Shares::apart_max_default;
};

/// Reads pending rows of the owned shards in batches, as long as there is room. `plan`, `perform`
/// and `apply` belong to one thread; `wake` and `reopen` are safe from any.
class Intake {
 public:
  struct Parts {
    spi::OutboxStore& store;
    const TableName& table;
    Shards& shards;
    Room& room;
    const Pauses& pauses;
    const Clock& clock;
    Metrics& metrics;
    Logger& log;
    /// Receives the messages.
    std::function<void(ShardState::Taken&)> deliver;
  };
  Intake(Parts parts, IntakeOptions options);

  /// nullopt if there is no room, no read is due, no shard is owned, or the table is paused.
  [[nodiscard]] std::optional<ReadPlan> plan(BootTime now);
  /// One call of the store.
  [[nodiscard]] ReadAnswer perform(const ReadPlan& plan);
  void apply(const ReadPlan& plan, ReadAnswer answer, BootTime now);

  /// The earliest time of the next read, unless woken or room becomes free.
  [[nodiscard]] BootTime next(BootTime now) const;
  /// Whether there may be rows to read, but no room for them.
  [[nodiscard]] bool waits_for_room() const;

  /// Something has been committed.
  void wake() noexcept { schedule_.wake(); }
  [[nodiscard]] bool woken() const noexcept { return schedule_.woken(); }
  /// Messages that a gate held back may be dispatched again.
  void reopen();

 private:
  enum class Keys : std::uint8_t { loading, all };
  [[nodiscard]] std::optional<ReadPlan> plan_keys(Keys which);
  [[nodiscard]] std::optional<ReadPlan> plan_rows(BootTime now);
  [[nodiscard]] std::optional<ReadPlan> plan_due();
  [[nodiscard]] std::optional<ReadPlan> plan_fresh(BootTime now);
  void apply_keys(const KeysRead& plan, const spi::RetryingKeysReply& reply);
  void apply_due(const DueRead& plan, spi::ReadReply& reply, BootTime now);
  void apply_fresh(const FreshRead& plan, spi::ReadReply& reply, BootTime now);
  void mark_seen(const ReadPlan& plan);
  void failed(const Error& error, BootTime now);
  /// `backlog`: there are more rows to read than fit.
  void look_after_full_pass(BootTime now, bool backlog);
  [[nodiscard]] bool anything_eager() const;
  /// Whether the message that ended the last read fits now.
  [[nodiscard]] bool fits() const;
  /// How long to wait after a pass over the due rows.
  [[nodiscard]] Duration rest_after_due_pass();

  struct Instruments {
    Instruments(Metrics& metrics, std::string_view table);
    Counter& fresh_rows;
    Counter& due_rows;
    Counter& admitted;
    Counter& late_rows;
    Counter& safety_rows;
    ErrorMetrics errors;
  };

  Parts parts_;
  IntakeOptions options_;
  Instruments instruments_;
  const bool claims_;

  ReadAhead ahead_;
  feed::ReadSchedule schedule_;
  feed::FullPassSchedule full_passes_;
  BootTime due_at_{};
  bool due_last_ = false;
  /// The rows that the present pass over due rows has returned, and whether any was dispatched.
  std::size_t due_shown_ = 0;
  bool due_went_ = false;
  Duration due_rest_{};
  std::atomic<bool> reopened_{false};
  std::uint32_t reads_ = 0;
  std::size_t first_ = 0;
  std::size_t first_due_ = 0;
  bool keys_last_ = false;  // the last read was a check of blocked keys
  /// The size of the message that ended the last read; no read is useful until it fits.
  std::optional<std::size_t> bytes_wanted_;
};

}  // namespace sagabox::outbox
