#include "core/history_text.hpp"
#include "observe/audit_events.hpp"
#include "stores/sql/record.hpp"
#include "stores/sqlite/outbox_store.hpp"
#include "stores/sqlite/places.hpp"
#include "stores/sqlite/unit_of_work.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::sqlite {
namespace {

using spi::Settlement;
using spi::Verdict;

/// The failures of a row, and its place.
struct FailureState {
  Place place = 0;
  std::uint32_t failed_for_good = 0;
  std::string code;
  std::string error;
  std::string history;
};

/// An item that only records its attempt may have no error.
bool fails(const Settlement& item) {
  return item.verdict != Verdict::attempt || !item.error.empty();
}

using Neighbours = Expected::Neighbours;

/// Splits items sorted by sequence into runs without gaps that have the same number of attempts.
template <class Each>
Status for_each_run(Neighbours sorted, Each&& each) {
  std::size_t from = 0;
  for (std::size_t at = 1; at <= sorted.size(); ++at) {
    if (at < sorted.size() && sorted[at]->sequence.value == sorted[at - 1]->sequence.value + 1 &&
        sorted[at]->attempts == sorted[from]->attempts) {
      continue;
    }
    if (auto done = each(sorted.subspan(from, at - from)); !done.ok()) return done;
    from = at;
  }
  return {};
}

/// One settle, in the caller's transaction.
class Settling {
 public:
  Settling(Connection& connection, const OutboxStatements& statements,
           const spi::SettleRequest& request, WallTime now, Expected& expected)
      : connection_(connection),
        statements_(statements),
        request_(request),
        now_(now),
        expected_(expected) {}

  /// Settles the delivered messages of a shard, most of which are adjacent. Returns their number.
  Result<std::uint32_t> settle_done(std::vector<const Settlement*> items) {
    std::ranges::sort(items, {}, [](const Settlement* item) { return item->sequence; });
    std::uint32_t settled = 0;
    auto done = for_each_run(items, [&](Neighbours run) -> Status {
      auto rows = settle_run(run);
      if (!rows.ok()) return rows.error();
      settled += *rows;
      return {};
    });
    expected_.expect_nothing();
    if (!done.ok()) return done.error();
    return settled;
  }

  /// Settles any other verdict; returns whether there was such a row.
  Result<bool> settle(const Settlement& item) {
    switch (item.verdict) {
      case Verdict::retry:
        return retry(item);
      case Verdict::dead:
      case Verdict::park:
        return bury(item);
      case Verdict::done:
      case Verdict::attempt:
        break;
    }
    return attempt(item);
  }

  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
  [[nodiscard]] const std::vector<AuditEvent>& deaths() const noexcept { return deaths_; }

 private:
  /// Tries the most likely places of a row first: only the row itself has its priority.
  template <class Try>
  Result<std::optional<Place>> first_place(const Settlement& item, Try&& attempt_at) {
    for (const auto from : every_lane) {
      const auto place = place_of(from, item.sequence);
      Result<bool> there = attempt_at(place);
      if (!there.ok()) return there.error();
      if (*there) return std::optional(place);
    }
    return std::optional<Place>();
  }

  Result<bool> changed(Run& run) {
    if (auto done = run.finish(); !done.ok()) return done.error();
    return connection_.changes() > 0;
  }

  Result<bool> remove(Place place, const Settlement& item) {
    auto run = connection_.run(statements_.remove);
    run.with(place).with(item.id.view());
    return changed(run);
  }

  /// Most likely all are in one lane; the rest is looked for in the next.
  Result<std::uint32_t> settle_run(Neighbours run) {
    std::uint32_t settled = 0;
    for (const auto from : every_lane) {
      const auto first = place_of(from, run.front()->sequence);
      const auto last = place_of(from, run.back()->sequence);
      expected_.expect(first, run);
      if (request_.retain_done) {
        auto archive = connection_.run(statements_.archive_run);
        archive.with(first).with(last).with(now_).with(run.front()->attempts);
        if (auto archived = archive.finish(); !archived.ok()) return archived.error();
        if (!expected_.last_found()) continue;
      }
      auto remove = connection_.run(statements_.remove_run);
      if (auto gone = remove.with(first).with(last).finish(); !gone.ok()) return gone.error();
      if (!expected_.last_found()) continue;
      const auto rows = connection_.changes();
      counts_.leave(*expected_.last_found(), rows);
      counts_.done += request_.retain_done ? rows : 0;
      settled += static_cast<std::uint32_t>(rows);
      if (settled == run.size()) break;
    }
    return settled;
  }

  Result<std::optional<FailureState>> failure_state_of(const Settlement& item) {
    FailureState failure_state;
    auto found = first_place(item, [&](Place place) -> Result<bool> {
      auto run = connection_.run(statements_.failures);
      auto row = run.with(place).with(item.id.view()).step();
      if (!row.ok() || !*row) return row;
      failure_state = {.place = place,
                       .failed_for_good = static_cast<std::uint32_t>(run.integer(0)),
                       .code = std::string(run.text(1)),
                       .error = std::string(run.text(2)),
                       .history = std::string(run.text(3))};
      return true;
    });
    if (!found.ok()) return found.error();
    if (!*found) return std::optional<FailureState>();
    return std::optional(std::move(failure_state));
  }

  /// A failure that used an attempt is added to the history.
  [[nodiscard]] std::string history_with(const FailureState& failure_state,
                                         const Settlement& item) const {
    if (item.attempts <= failure_state.failed_for_good) return failure_state.history;
    auto history = history_from_text(failure_state.history);
    add_failure(history, {item.attempts, now_, item.code, item.error});
    return history_text(history);
  }

  Result<bool> retry(const Settlement& item) {
    auto found = failure_state_of(item);
    if (!found.ok()) return found.error();
    if (!*found) return false;
    const FailureState& failure_state = **found;
    const auto history = history_with(failure_state, item);
    auto run = connection_.run(statements_.retry);
    run.with(failure_state.place).with(place_of(waiting_from, item.sequence)).with(item.attempts);
    run.with(now_ + std::chrono::duration_cast<std::chrono::microseconds>(item.delay));
    run.with(std::max(failure_state.failed_for_good, item.attempts));
    run.with(code_name(item.code)).with(item.error).with_or_null(history);
    run.with(static_cast<std::int64_t>(item.targets_done.value));
    if (auto changed_it = changed(run); !changed_it.ok()) return changed_it;
    counts_.waiting += waits(failure_state.place) ? 0 : 1;
    counts_.last = std::max(counts_.last, item.sequence);
    return true;
  }

  Result<bool> attempt(const Settlement& item) {
    if (!fails(item)) {
      auto found = first_place(item, [&](Place place) -> Result<bool> {
        auto run = connection_.run(statements_.attempt);
        run.with(place).with(item.id.view()).with(item.attempts);
        return changed(run);
      });
      if (!found.ok()) return found.error();
      return found->has_value();
    }
    auto found = failure_state_of(item);
    if (!found.ok()) return found.error();
    if (!*found) return false;
    const auto history = history_with(**found, item);
    auto run = connection_.run(statements_.failed_attempt);
    run.with((*found)->place).with(item.attempts);
    run.with(code_name(item.code)).with(item.error).with_or_null(history);
    return changed(run);
  }

  Result<bool> bury(const Settlement& item) {
    auto found = failure_state_of(item);
    if (!found.ok()) return found.error();
    if (!*found) return false;
    const FailureState& failure_state = **found;
    const bool dies = item.verdict == Verdict::dead;
    const bool keeps = dies && item.keep_last_error && !failure_state.error.empty();
    const bool refused = !item.note.empty();
    const auto history = refused ? std::string()
                         : keeps ? failure_state.history
                                 : history_with(failure_state, item);
    const auto state = dies ? MessageState::dead : MessageState::quarantined;
    auto run = connection_.run(statements_.bury);
    run.with(failure_state.place).with(state_name(state)).with(now_).with(item.attempts);
    run.with(std::max(failure_state.failed_for_good, item.attempts));
    run.with(keeps ? std::string_view(failure_state.code) : code_name(item.code));
    run.with(keeps ? failure_state.error : item.error)
        .with_or_null(history)
        .with_or_null(item.note);
    if (auto buried = changed(run); !buried.ok()) return buried;
    if (auto removed = remove(failure_state.place, item); !removed.ok()) return removed;
    counts_.leave(failure_state.place);
    ++counts_.ended(state);
    if (!dies) return true;
    return tell_death(item);
  }

  Result<bool> tell_death(const Settlement& item) {
    auto run = connection_.run(statements_.buried);
    auto row = run.with(item.sequence.value).step();
    if (!row.ok() || !*row) return row;
    const RunView view(run);
    const sql::Row buried(view, 0);
    const auto record = sql::decode_record(buried).record;
    const auto message = sql::audited_message(buried);
    deaths_.push_back(dead_letter_event({request_.table, record.id, message.get(), record.attempts},
                                        record.code.value_or(Code::unknown_internal), record.error,
                                        *record.ended_at));
    return true;
  }

  Connection& connection_;
  const OutboxStatements& statements_;
  const spi::SettleRequest& request_;
  const WallTime now_;
  Expected& expected_;
  Counts counts_;
  std::vector<AuditEvent> deaths_;
};

Result<bool> holds(Connection& connection, const SharedStatements& statements,
                   const spi::Fencing& fencing, const spi::Fence& fence) {
  auto run = connection.run(statements.hold);
  run.with(fencing.scope).with(fence.shard.value).with(fencing.owner.view());
  run.with(fence.epoch.value);
  return run.step();
}

/// Returns how many rows changed.
Result<std::uint32_t> settle_shard(Settling& settling, const spi::SettleRequest& request,
                                   Shard shard, bool held) {
  if (!held) return 0U;
  std::vector<const Settlement*> done;
  done.reserve(request.items.size());
  std::uint32_t rows = 0;
  for (const auto& item : request.items) {
    if (item.shard != shard) continue;
    if (item.verdict == Verdict::done) {
      done.push_back(&item);
      continue;
    }
    auto settled = settling.settle(item);
    if (!settled.ok()) return settled.error();
    rows += *settled ? 1 : 0;
  }
  auto delivered = settling.settle_done(std::move(done));
  if (!delivered.ok()) return delivered.error();
  return rows + *delivered;
}

}  // namespace

Result<spi::SettleReply> SqliteOutbox::settle(const spi::SettleRequest& request) {
  const auto& statements = statements_.of(request.table);
  const auto now = context_.clock.wall_now();
  return in_transaction(*context_.writer, [&](Connection& connection) -> Result<spi::SettleReply> {
    if (auto known = expected_.introduce(connection.link()); !known.ok()) return known.error();
    spi::SettleReply reply;
    for (const auto& fence : request.fencing.fences) {
      auto held = holds(connection, context_.shared, request.fencing, fence);
      if (!held.ok()) return held.error();
      reply.parts.push_back({*held, 0});
    }
    Settling settling(connection, statements, request, now, expected_);
    for (std::size_t at = 0; at < reply.parts.size(); ++at) {
      auto rows =
          settle_shard(settling, request, request.fencing.fences[at].shard, reply.parts[at].held);
      if (!rows.ok()) return rows.error();
      reply.parts[at].rows = *rows;
    }
    auto counted = add_counts(connection, context_.shared, request.table, settling.counts());
    if (!counted.ok()) return counted.error();
    if (settling.deaths().empty()) return reply;
    LinkSession session(connection.link(), context_.clock);
    if (auto head = audit_.append(session, settling.deaths()); !head.ok()) {
      return head.error();
    }
    return reply;
  });
}

}  // namespace sagabox::sqlite
