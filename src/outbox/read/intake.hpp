#pragma once

#include "feed/full_pass.hpp"
#include "feed/read_schedule.hpp"
#include "observe/error_figures.hpp"
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

/// Which keys wait for a retry: asked before anything else of a shard is read, and when some may
/// wait in vain.
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

/// One read that is wanted now.
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
  /// Of full passes, see `feed::FullPassSchedule`.
  Duration safety_interval_min = std::chrono::seconds(30);
  /// Where rows are claimed, such a pass also takes what others have left: so often instead, and
  /// for as long as it finds something.
  Duration sweep_interval = std::chrono::milliseconds(500);
  /// Beyond the capacity of the cold queue, while it is emptied fast.
  std::uint32_t read_ahead = 0;
  /// See `Shares`.
  std::uint64_t apart_max = Shares::apart_max_default;
};

/// Reads what is pending in the shards that are ours, in batches, as far as there is room.
/// `plan`, `perform` and `apply` belong to one thread; `wake` and `reopen` are safe from any.
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
    /// Where the messages go.
    std::function<void(ShardState::Taken&)> deliver;
  };
  Intake(Parts parts, IntakeOptions options);

  /// Nothing: there is no room, nothing to expect, nothing is ours, or the table is paused.
  [[nodiscard]] std::optional<ReadPlan> plan(BootTime now);
  /// One call of the store.
  [[nodiscard]] ReadAnswer perform(const ReadPlan& plan);
  void apply(const ReadPlan& plan, ReadAnswer answer, BootTime now);

  /// `plan` has nothing to do before this unless woken, or room comes up.
  [[nodiscard]] BootTime next(BootTime now) const;
  /// There may be something to read and there is no room for it.
  [[nodiscard]] bool waits_for_room() const;

  /// Something has been committed.
  void wake() noexcept { schedule_.wake(); }
  [[nodiscard]] bool woken() const noexcept { return schedule_.woken(); }
  /// Messages that a gate kept back may go again.
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
  /// `backlog`: there is more to read than fits.
  void look_after_full_pass(BootTime now, bool backlog);
  [[nodiscard]] bool anything_eager() const;
  /// Enough to be worth a read.
  [[nodiscard]] bool fits() const;
  /// How long to wait after a pass over what is due.
  [[nodiscard]] Duration rest_after_due_pass();

  struct Figures {
    Figures(Metrics& metrics, std::string_view table);
    Counter& fresh_rows;
    Counter& due_rows;
    Counter& admitted;
    Counter& late_rows;
    Counter& safety_rows;
    ErrorFigures errors;
  };

  Parts parts_;
  IntakeOptions options_;
  Figures figures_;
  const bool claims_;

  ReadAhead ahead_;
  feed::ReadSchedule schedule_;
  feed::FullPassSchedule full_passes_;
  BootTime due_at_{};
  bool due_last_ = false;
  /// Of the pass over what is due: how many rows it showed, and whether any could go.
  std::size_t due_shown_ = 0;
  bool due_went_ = false;
  Duration due_rest_{};
  std::atomic<bool> reopened_{false};
  std::uint32_t reads_ = 0;
  std::size_t first_ = 0;
  std::size_t first_due_ = 0;
  bool keys_last_ = false;  // the last read was one of keys that are known already
  /// The last read ended at a message of so many bytes; until it fits, reading on is in vain.
  std::optional<std::size_t> bytes_wanted_;
};

}  // namespace sagabox::outbox
