#include "observe/audit_events.hpp"
#include "stores/postgres/driver/session.hpp"
#include "stores/postgres/driver/unit_of_work.hpp"
#include "stores/postgres/outbox/outbox_store.hpp"
#include "stores/postgres/outbox/settle_parts.hpp"
#include "stores/sql/record.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <future>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::postgres {
namespace {

/// The items of a settle, by the statement that settles them.
struct Sorted {
  SettledRows done;
  SettledRows kept;  ///< retry and attempt: the row stays
  SettledRows buried;
  bool deaths = false;
};

Sorted sorted(std::span<const spi::Settlement> items) {
  Sorted by;
  for (const auto& item : items) {
    switch (item.verdict) {
      case spi::Verdict::done:
        by.done.push_back(&item);
        break;
      case spi::Verdict::retry:
      case spi::Verdict::attempt:
        by.kept.push_back(&item);
        break;
      case spi::Verdict::dead:
        by.deaths = true;
        [[fallthrough]];
      case spi::Verdict::park:
        by.buried.push_back(&item);
        break;
    }
  }
  // The lock order of all settles, which is mostly that of the rows in the table.
  for (auto* list : {&by.done, &by.kept, &by.buried}) {
    std::sort(list->begin(), list->end(),
              [](const auto* a, const auto* b) { return a->sequence < b->sequence; });
  }
  return by;
}

/// The error of a settle whose halves did not both succeed; `storage_in_doubt` takes precedence.
Error worse_of(std::span<const Result<spi::SettleReply>> replies) {
  const Result<spi::SettleReply>* worse = nullptr;
  bool some_done = false;
  for (const auto& reply : replies) {
    some_done = some_done || reply.ok();
    if (reply.ok()) continue;
    if (worse == nullptr || reply.error().code == Code::storage_in_doubt) worse = &reply;
  }
  auto error = worse->error();
  if (some_done) error.message += "; half of the settle was done";
  return error;
}

Params fence_params(const spi::SettleRequest& request) {
  Params params;
  const auto& [scope, owner, fences] = request.fencing;
  params.text(scope).text(owner.view());
  params.array(Type::int2, fences,
               [](const spi::Fence& f) { return static_cast<std::int16_t>(f.shard.value); });
  params.array(Type::int8, fences,
               [](const spi::Fence& f) { return static_cast<std::int64_t>(f.epoch.value); });
  return params;
}

using Item = spi::Settlement;

std::int64_t item_sequence(const Item* item) {
  return static_cast<std::int64_t>(item->sequence.value);
}

void add_rows(Params& params, const SettledRows& items) {
  params.array(Type::int8, items, item_sequence);
  params.array(Type::int2, items,
               [](const Item* i) { return static_cast<std::int16_t>(i->shard.value); });
  params.array(Type::text, items, [](const Item* i) { return i->id.view(); });
}

void add_attempts(Params& params, const SettledRows& items) {
  params.array(Type::int4, items, [](const Item* i) {
    return static_cast<std::int32_t>(std::min<std::uint32_t>(i->attempts, INT32_MAX));
  });
}

Params done_params(const spi::SettleRequest& request, const SettledRows& items) {
  auto params = fence_params(request);
  add_rows(params, items);
  if (request.retain_done) add_attempts(params, items);
  return params;
}

Params dense_params(const spi::SettleRequest& request, const SettledRows& items) {
  auto params = fence_params(request);
  params.array(Type::int8, items, item_sequence);
  params.array(Type::text, items, [](const Item* i) { return i->id.view(); });
  params.int8(item_sequence(items.front())).int8(item_sequence(items.back()));
  params.int2(items.front()->lane.value().value);
  if (request.retain_done) add_attempts(params, items);
  return params;
}

/// An item that only records its attempt may have no error.
bool fails(const Item& item) {
  return item.verdict != spi::Verdict::attempt || !item.error.empty();
}

Params kept_params(const spi::SettleRequest& request, const SettledRows& items) {
  auto params = fence_params(request);
  params.int8(static_cast<std::int64_t>(history_attempts_max));
  add_rows(params, items);
  add_attempts(params, items);
  params.array(Type::boolean, items,
               [](const Item* i) { return i->verdict == spi::Verdict::retry; });
  params.array(Type::int8, items, [](const Item* i) -> std::int64_t {
    return std::chrono::duration_cast<std::chrono::microseconds>(i->delay).count();
  });
  params.array(Type::boolean, items, [](const Item* i) { return fails(*i); });
  params.array(Type::text, items, [](const Item* i) { return code_name(i->code); });
  params.array(Type::text, items, [](const Item* i) { return std::string_view(i->error); });
  params.array(Type::int8, items, [](const Item* i) -> std::int64_t {
    return static_cast<std::int64_t>(i->targets_done.value);
  });
  return params;
}

Params buried_params(const spi::SettleRequest& request, const SettledRows& items) {
  auto params = fence_params(request);
  params.int8(static_cast<std::int64_t>(history_attempts_max));
  add_rows(params, items);
  add_attempts(params, items);
  params.array(Type::text, items, [](const Item* i) {
    return state_name(i->verdict == spi::Verdict::dead ? MessageState::dead
                                                       : MessageState::quarantined);
  });
  params.array(Type::text, items, [](const Item* i) { return code_name(i->code); });
  params.array(Type::text, items, [](const Item* i) { return std::string_view(i->error); });
  params.array(Type::boolean, items, [](const Item* i) {
    return i->verdict == spi::Verdict::dead && i->keep_last_error;
  });
  params.array(Type::text, items, [](const Item* i) { return std::string_view(i->note); });
  return params;
}

/// The statements of one settle, in the order they run: first the planner settings; the last may be
/// the one that buries.
struct Plan {
  explicit Plan(const OutboxStatements& statements) { add(statements.keep_settle_plan, {}); }

  static constexpr std::size_t first_answer = 1;
  std::list<Params> params;  // of calls, which point to them: a list does not move them
  std::vector<Call> calls;

  void add(const Statement& statement, Params with) {
    params.push_back(std::move(with));
    calls.push_back({&statement, &params.back()});
  }
};

/// Adds a statement for each part; returns the indexes of their answers.
std::vector<std::size_t> add_parts(Plan& plan, const spi::SettleRequest& request,
                                   const OutboxStatements& statements,
                                   std::span<const DonePart> done) {
  const bool keeps = request.retain_done;
  bool plans_walks = false;
  std::vector<std::size_t> answers;
  for (const auto& part : done) {
    if (std::exchange(plans_walks, part.dense) != part.dense) {
      plan.add(part.dense ? statements.keep_dense_plan : statements.keep_settle_plan, {});
    }
    answers.push_back(plan.calls.size());
    if (part.dense) {
      plan.add(keeps ? statements.archive_dense : statements.delete_dense,
               dense_params(request, part.rows));
    } else {
      plan.add(keeps ? statements.archive_done : statements.delete_uncounted,
               done_params(request, part.rows));
    }
  }
  return answers;
}

Plan plan_of(const spi::SettleRequest& request, const OutboxStatements& statements,
             const Sorted& by) {
  Plan plan(statements);
  if (!by.done.empty()) {
    plan.add(request.retain_done ? statements.archive_done : statements.delete_done,
             done_params(request, by.done));
  }
  if (!by.kept.empty()) plan.add(statements.retry, kept_params(request, by.kept));
  // The answer of bury has the buried rows, so another statement has to return which fences hold.
  if (plan.calls.size() == Plan::first_answer) plan.add(statements.hold, fence_params(request));
  if (!by.buried.empty()) plan.add(statements.bury, buried_params(request, by.buried));
  return plan;
}

class Parts {
 public:
  explicit Parts(std::span<const spi::Fence> fences) : parts_(fences.size()) {
    for (std::size_t i = 0; i < fences.size(); ++i) part_of_[fences[i].shard.value] = i;
  }

  /// (shard, rows) for every shard that is held.
  void count(const Rows& rows) {
    for (int row = 0; row < rows.size(); ++row) {
      auto& part = part_of(rows.int2(row, 0));
      part.held = true;
      part.rows += static_cast<std::uint32_t>(rows.int8(row, 1));
    }
  }
  /// Counts the answer of a second settle: a shard that is no longer held is lost.
  void count_again(const Rows& rows) {
    for (auto& part : parts_) part.held = false;
    count(rows);
    for (auto& part : parts_) {
      if (!part.held) part.rows = 0;
    }
  }
  /// Counts by the shard that holds a row, which need not be the one it was written to.
  void count_buried(const Rows& rows, const SettledRows& items) {
    constexpr int sequence_column = 1;
    std::map<std::uint64_t, Shard> held_by;
    for (const auto* item : items) held_by[item->sequence.value] = item->shard;
    for (int row = 0; row < rows.size(); ++row) {
      ++parts_[part_of_.at(held_by.at(rows.uint8(row, sequence_column)).value)].rows;
    }
  }

  /// Counts every row of the held shards as found; returns their number.
  std::uint64_t expect(std::span<const Item> items) {
    std::uint64_t rows = 0;
    for (const auto& item : items) {
      auto& part = parts_[part_of_.at(item.shard.value)];
      if (!part.held) continue;
      ++part.rows;
      ++rows;
    }
    return rows;
  }

  /// True if items of the held shards were not found.
  [[nodiscard]] bool lack_some_of(std::span<const Item> items) const {
    const auto expected = std::ranges::count_if(
        items, [&](const Item& item) { return parts_[part_of_.at(item.shard.value)].held; });
    std::uint64_t rows = 0;
    for (const auto& part : parts_) rows += part.rows;
    return rows < static_cast<std::uint64_t>(expected);
  }

  std::vector<spi::SettleReply::Part> take() { return std::move(parts_); }

 private:
  spi::SettleReply::Part& part_of(std::int16_t shard) {
    return parts_[part_of_.at(static_cast<std::uint16_t>(shard))];
  }

  std::vector<spi::SettleReply::Part> parts_;
  std::map<std::uint16_t, std::size_t> part_of_;
};

spi::SettleReply reply_of(const spi::SettleRequest& request, const Sorted& by,
                          const std::vector<Rows>& answers, Timeline timeline) {
  Parts parts(request.fencing.fences);
  const auto counted = answers.size() - (by.buried.empty() ? 0 : 1);
  for (auto i = Plan::first_answer; i < counted; ++i) parts.count(answers[i]);
  if (!by.buried.empty()) parts.count_buried(answers.back(), by.buried);
  return {parts.take(), timeline};
}

/// In the order in which the settle names them.
std::vector<AuditEvent> deaths_in(const spi::SettleRequest& request, const Rows& buried) {
  const RowsView view(buried);
  std::map<Sequence, sql::Row> row_of;
  for (int at = 0; at < buried.size(); ++at) {
    const sql::Row row(view, at);
    row_of.emplace(sql::decode_record(row).record.sequence, row);
  }
  std::vector<AuditEvent> events;
  for (const auto& item : request.items) {
    if (item.verdict != spi::Verdict::dead) continue;
    const auto found = row_of.find(item.sequence);
    if (found == row_of.end()) continue;
    const auto record = sql::decode_record(found->second).record;
    const auto message = sql::audited_message(found->second);
    events.push_back(dead_letter_event({request.table, record.id, message.get(), record.attempts},
                                       record.code.value_or(Code::unknown_internal), record.error,
                                       *record.ended_at));
  }
  return events;
}

}  // namespace

Result<std::optional<spi::SettleReply>> PostgresOutbox::delete_all(
    const spi::SettleRequest& request, const OutboxStatements& statements,
    std::span<const DonePart> done) {
  Plan plan(statements);
  plan.add(statements.hold, fence_params(request));
  const auto deleting = add_parts(plan, request, statements, done);
  auto lease = context_.relay.take();
  if (!lease.ok()) return lease.error();
  Connection& connection = **lease;
  if (auto begun = connection.begin(); !begun.ok()) return begun.error();
  auto answers = connection.run(plan.calls, Effect::none);
  if (!answers.ok()) {
    (void)connection.rollback();
    return answers.error();
  }
  Parts parts(request.fencing.fences);
  parts.count((*answers)[Plan::first_answer]);
  std::uint64_t deleted = 0;
  for (const auto at : deleting) deleted += (*answers)[at].affected();
  if (deleted != parts.expect(request.items)) {
    if (auto back = connection.rollback(); !back.ok()) return back.error();
    return std::optional<spi::SettleReply>();
  }
  if (auto committed = connection.commit(); !committed.ok()) return committed.error();
  return std::optional(spi::SettleReply{parts.take(), connection.timeline()});
}

Result<spi::SettleReply> PostgresOutbox::archive_all(const spi::SettleRequest& request,
                                                     const OutboxStatements& statements,
                                                     std::span<const DonePart> done) {
  Plan plan(statements);
  const auto archiving = add_parts(plan, request, statements, done);
  auto connection = context_.relay.take();
  if (!connection.ok()) return connection.error();
  auto answers = (*connection)->run(plan.calls, Effect::commits);
  if (!answers.ok()) return answers.error();
  Parts parts(request.fencing.fences);
  for (const auto at : archiving) parts.count((*answers)[at]);
  if (parts.lack_some_of(request.items) && std::ranges::any_of(done, &DonePart::dense)) {
    // These rows are gone, or outside the range that was walked. By its key a row is found
    // anywhere.
    SettledRows all;
    for (const auto& part : done) all.insert(all.end(), part.rows.begin(), part.rows.end());
    Plan by_key(statements);
    by_key.add(statements.archive_done, done_params(request, all));
    auto more = (*connection)->run(by_key.calls, Effect::commits);
    if (!more.ok()) return more.error();
    parts.count_again((*more)[Plan::first_answer]);
  }
  return spi::SettleReply{parts.take(), (*connection)->timeline()};
}

Result<spi::SettleReply> PostgresOutbox::settle(const spi::SettleRequest& request) {
  auto reply = settle_in_halves(request);
  if (reply.ok()) context_.vacuum.left(request.table, request.items.size());
  return reply;
}

Result<spi::SettleReply> PostgresOutbox::settle_in_halves(const spi::SettleRequest& request) {
  // Other callers may need the last connection.
  constexpr std::uint32_t connections = 2;
  const bool may_halve =
      !statements_of(request.table).claims && context_.relay.to_be_had() > connections;
  const auto halves = may_halve ? in_halves(request) : std::nullopt;
  if (!halves) return settle_at_once(request);
  const auto settle_half = [&](const Half& half) {
    return settle_at_once({.table = request.table,
                           .fencing = {request.fencing.scope, request.fencing.owner, half.fences},
                           .items = half.items,
                           .retain_done = request.retain_done});
  };
  // If no thread can be started, the halves run one after the other.
  auto other = std::async([&] { return settle_half(halves->back()); });
  const std::array<Result<spi::SettleReply>, 2> replies{settle_half(halves->front()), other.get()};
  const auto& [first, second] = replies;
  if (!first.ok() || !second.ok()) return worse_of(replies);
  if (first->timeline != second->timeline) {
    return Error{Code::storage_in_doubt,
                 "the server was replaced by another during a settle; it is sent again"};
  }
  spi::SettleReply reply{{}, first->timeline};
  auto of_first = first->parts.begin();
  auto of_second = second->parts.begin();
  auto fence_of_first = halves->front().fences.begin();
  for (const auto& fence : request.fencing.fences) {
    const bool is_first =
        fence_of_first != halves->front().fences.end() && fence_of_first->shard == fence.shard;
    reply.parts.push_back(is_first ? *of_first++ : *of_second++);
    if (is_first) ++fence_of_first;
  }
  return reply;
}

Result<spi::SettleReply> PostgresOutbox::settle_at_once(const spi::SettleRequest& request) {
  const auto by = sorted(request.items);
  const auto& statements = statements_of(request.table);
  if (by.kept.empty() && by.buried.empty() && by.done.size() >= rows_many) {
    const auto done = statements.claims
                          ? std::vector<DonePart>{{by.done, false}}
                          : in_parts(by.done, {.shards = request.fencing.fences.size(),
                                               .shards_all = context_.shards});
    if (request.retain_done) return archive_all(request, statements, done);
    auto reply = delete_all(request, statements, done);
    if (!reply.ok()) return reply.error();
    if (*reply) return std::move(**reply);
  }
  auto plan = plan_of(request, statements, by);
  if (!by.deaths) {
    auto connection = context_.relay.take();
    if (!connection.ok()) return connection.error();
    auto answers = (*connection)->run(plan.calls, Effect::commits);
    if (!answers.ok()) return answers.error();
    return reply_of(request, by, *answers, (*connection)->timeline());
  }
  return in_transaction(context_.relay, [&](Connection& connection) -> Result<spi::SettleReply> {
    auto answers = connection.run(plan.calls, Effect::none);
    if (!answers.ok()) return answers.error();
    if (const auto events = deaths_in(request, answers->back()); !events.empty()) {
      auto usual = connection.run(statements.plan_as_usual, {}, Effect::none);
      if (!usual.ok()) return usual.error();
      LinkSession session(connection.link());
      if (auto head = audit_.append(session, events); !head.ok()) return head.error();
    }
    return reply_of(request, by, *answers, connection.timeline());
  });
}

}  // namespace sagabox::postgres
