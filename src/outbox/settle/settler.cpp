#include "outbox/settle/settler.hpp"

#include "observe/metric_names.hpp"
#include "outbox/dispatch/registry.hpp"
#include "outbox/settle/verdict.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace sagabox::outbox {
namespace {

constexpr Duration settle_retry_min = std::chrono::milliseconds(10);
constexpr Duration settle_retry_max = std::chrono::seconds(1);
/// After fewer failures in a row a batch is repeated unchanged, because the store may be down.
/// After that other batches are tried in between, and the batch is split, because its rows may be
/// the cause.
constexpr std::uint32_t failures_max = 5;
/// How often a single row may conflict, with growing delays, before it is quarantined.
constexpr std::uint32_t conflicts_max = 5;
/// While batches are being split, rows to be quarantined are collected up to this number.
constexpr std::size_t park_rows = 100;
/// The minimum interval between tries of rows that are held back, one at a time.
constexpr Duration held_back_interval = std::chrono::milliseconds(100);

/// Whether the store was reached and will return the same error again, so that a row is the cause.
bool is_refusal(Code code) {
  return code == Code::schema_validation_failed || code == Code::unknown_internal;
}

}  // namespace

Settler::Instruments::Instruments(Metrics& metrics, std::string_view table)
    : batches(metrics.counter(metric::outbox_settle_batches_total,
                              {{"table", table}, {"result", "ok"}})),
      batches_failed(metrics.counter(metric::outbox_settle_batches_total,
                                     {{"table", table}, {"result", "failed"}})),
      missed(metrics.counter(metric::outbox_settle_missed_rows_total, {{"table", table}})),
      refused_parked(metrics.counter(metric::outbox_refused_parked_total, {{"table", table}})),
      rows(metrics.histogram(metric::outbox_settle_rows, {{"table", table}})),
      errors(metrics) {}

Settler::Settler(Parts parts, SettlerOptions options)
    : parts_(std::move(parts)),
      options_(options),
      instruments_(parts_.metrics, parts_.table.str()),
      refused_(options.refused_rows_max) {
  parts_.shards.wake_settler_at(options_.rows_max);
}

std::optional<SettlePlan> Settler::plan(BootTime now) {
  drop_refused();
  if (now < retry_at_) return std::nullopt;
  const bool repeats = failures_ > 0 && failures_ < failures_max && !again_.empty();
  if (!repeats && std::exchange(fresh_next_, false)) {
    if (auto batch = fresh(now)) return batch;
  }
  fresh_next_ = true;
  if (!repeats && to_park_.size() >= park_rows) {
    if (auto plan = next_park()) return plan;
  }
  if (auto plan = next_again()) return plan;
  if (auto plan = next_park()) return plan;
  if (auto plan = next_held_back(now)) return plan;
  fresh_next_ = false;
  return fresh(now);
}

std::optional<SettlePlan> Settler::fresh(BootTime now) {
  if (now < fresh_at(now)) return std::nullopt;
  auto batch = collect();
  if (batch.items.empty()) return std::nullopt;
  if (!again_.empty()) drop_superseded(batch);
  return batch;
}

std::optional<SettlePlan> Settler::next_again() {
  while (!again_.empty()) {
    auto plan = still_ours(std::move(again_.front()));
    again_.pop_front();
    if (!plan.items.empty()) return plan;
    // What failed was of shards that are no longer ours.
    store_answers();
  }
  return std::nullopt;
}

std::optional<SettlePlan> Settler::next_park() {
  while (!to_park_.empty()) {
    auto plan = still_ours(plan_of(to_park_, options_.rows_max));
    if (!plan.items.empty()) return plan;
  }
  return std::nullopt;
}

std::optional<SettlePlan> Settler::next_held_back(BootTime now) {
  if (now < held_back_at_) return std::nullopt;
  while (auto row = refused_.next(now)) {
    auto plan = still_ours(plan_of(*std::move(row)));
    if (plan.items.empty()) continue;
    held_back_at_ = now + held_back_interval;
    return plan;
  }
  return std::nullopt;
}

BootTime Settler::next(BootTime now) const {
  if (!again_.empty() || !to_park_.empty()) return std::max(now, retry_at_);
  const auto held = refused_.due();
  const auto at = held == BootTime::max() ? held : std::max(held, held_back_at_);
  return std::max(retry_at_, std::min(at, fresh_at(now)));
}

BootTime Settler::fresh_at(BootTime now) const {
  const auto waiting = parts_.shards.settlements();
  if (waiting == 0) return BootTime::max();
  if (waiting >= options_.rows_max || stopping_.load()) return now;
  return parts_.shards.oldest_settlement() + options_.delay_max;
}

void Settler::drop_refused() {
  for (const auto& [shard, tenure] : refused_.shards()) {
    const auto [ours, draining] = parts_.shards.with(shard, [&](const ShardState& state) {
      return std::pair(state.tenure() == tenure, state.phase() == ShardState::Phase::draining);
    });
    if (ours && !draining) continue;
    const auto rows = refused_.drop(shard, !ours);
    if (rows == 0) continue;
    parts_.log.log(LogLevel::warning,
                   "results that the store refuses are dropped with their shard: the next owner "
                   "delivers the messages again",
                   {{"table", std::string_view(parts_.table.str())},
                    {"shard", std::uint64_t{shard.value}},
                    {"rows", std::uint64_t{rows}}});
  }
}

void Settler::drop_superseded(const SettlePlan& fresh) {
  std::set<std::pair<Shard, Sequence>> newer;
  for (const auto& item : fresh.items) newer.emplace(item.shard, item.sequence);
  for (auto& plan : again_) {
    const bool has_attempts = std::ranges::any_of(plan.items, [](const spi::Settlement& item) {
      return item.verdict == spi::Verdict::attempt;
    });
    if (!has_attempts) continue;
    plan = kept_of(
        std::move(plan),
        [&](const spi::Fence&, const spi::Settlement& item, const Settling&) {
          return item.verdict != spi::Verdict::attempt ||
                 !newer.contains({item.shard, item.sequence});
        },
        [&](const spi::Settlement& item, const Settling& about) {
          parts_.shards.with(item.shard,
                             [&](ShardState& state) { state.settled(item, about.tenure); });
          parts_.shards.free_places(about.holds_place ? 1 : 0);
        });
  }
}

SettlePlan Settler::collect() {
  SettlePlan plan;
  const auto count = parts_.shards.size();
  first_ = (first_ + 1) % count;
  for (std::size_t step = 0; step < count && plan.about.size() < options_.rows_max; ++step) {
    auto& slot = parts_.shards.at((first_ + step) % count);
    const std::scoped_lock lock(slot.mutex);
    const auto before = plan.about.size();
    // A batch has one owner: results of another tenure go into the next batch.
    if (before > 0 && slot.owner != plan.owner) continue;
    slot.state.collect(options_.rows_max - before, plan.about);
    if (plan.about.size() == before) continue;
    const auto& first = plan.about[before].settlement;
    plan.owner = slot.owner;
    plan.fences.push_back({.shard = first.shard, .epoch = slot.state.epoch()});
    plan.ends.push_back(plan.about.size());
  }
  plan.items.reserve(plan.about.size());
  for (auto& settling : plan.about) plan.items.push_back(std::move(settling.settlement));
  parts_.shards.settlements_collected(plan.items.size());
  return plan;
}

SettlePlan Settler::still_ours(SettlePlan plan) {
  std::size_t places = 0;
  auto kept = kept_of(
      std::move(plan),
      [&](const spi::Fence& fence, const spi::Settlement&, const Settling& about) {
        return parts_.shards.with(
            fence.shard, [&](const ShardState& state) { return state.tenure() == about.tenure; });
      },
      [&](const spi::Settlement&, const Settling& about) { places += about.holds_place ? 1 : 0; });
  parts_.shards.free_places(places);
  return kept;
}

Result<spi::SettleReply> Settler::perform(const SettlePlan& plan) {
  return parts_.store.settle({.table = parts_.table,
                              .fencing = {parts_.shards.scope(), plan.owner, plan.fences},
                              .items = plan.items,
                              .retain_done = options_.retain_done});
}

void Settler::failed(SettlePlan plan, const Error& error, BootTime now) {
  instruments_.batches_failed.increment();
  instruments_.errors.count(error.code);
  const bool is_alone = plan.items.size() == 1;
  if (is_refusal(error.code)) {
    failures_ = 0;
    store_answers();
    retry_at_ = now;
    return is_alone ? alone(std::move(plan), error, now, true) : split(std::move(plan), error);
  }
  // For parts of a batch, a conflict also shows that the store can be reached.
  const bool conflicts = error.code == Code::storage_conflict && plan.suspect;
  const bool others_go = plan.failed_after && successes_ > *plan.failed_after;
  if (conflicts) store_answers();
  plan.failed_after = successes_;
  if (conflicts || others_go) {
    retry_at_ = now;
    return is_alone ? alone(std::move(plan), error, now, false) : split(std::move(plan), error);
  }
  store_fails(error.code, now);
  parts_.log.log(LogLevel::warning, "settle failed, will be sent again",
                 {{"table", std::string_view(parts_.table.str())},
                  {"rows", std::uint64_t{plan.items.size()}},
                  {"code", code_name(error.code)},
                  {"error", std::string_view(error.message)}});
  retry_at_ = now + std::min(settle_retry_max, settle_retry_min * (1 << std::min(failures_, 7U)));
  if (++failures_ < failures_max) {
    again_.push_front(std::move(plan));
  } else if (is_alone) {
    plan.suspect = true;
    again_.push_back(std::move(plan));
  } else {
    split(std::move(plan), error);
  }
}

void Settler::store_fails(Code code, BootTime now) {
  const std::scoped_lock lock(failing_mutex_);
  failing_ = {.code = code, .since = failing_ ? failing_->since : now};
}

void Settler::store_answers() {
  const std::scoped_lock lock(failing_mutex_);
  failing_.reset();
}

std::optional<Settler::Failing> Settler::failing() const {
  const std::scoped_lock lock(failing_mutex_);
  return failing_;
}

void Settler::split(SettlePlan plan, const Error& error) {
  // Log once for a batch, not for each of its parts.
  if (!plan.suspect) {
    parts_.log.log(LogLevel::warning, "settle refused, will be sent again in halves",
                   {{"table", std::string_view(parts_.table.str())},
                    {"rows", std::uint64_t{plan.items.size()}},
                    {"code", code_name(error.code)},
                    {"error", std::string_view(error.message)}});
  }
  auto [first, second] = halves(std::move(plan));
  again_.push_front(std::move(second));
  again_.push_front(std::move(first));
}

void Settler::alone(SettlePlan plan, const Error& error, BootTime now, bool for_good) {
  // The message has not been dispatched: it waits until its attempt can be stored.
  if (!for_good && plan.items.front().verdict == spi::Verdict::attempt) {
    retry_at_ = now + settle_retry_max / 4;
    again_.push_back(std::move(plan));
    return;
  }
  auto row = only_row(std::move(plan));
  const auto& settlement = row.result.settlement;
  if (settlement.verdict == spi::Verdict::attempt) return attempt_failed(row, error);
  const bool park =
      for_good || (error.code == Code::storage_conflict &&
                   refused_.tries(settlement.shard, settlement.sequence) >= conflicts_max);
  if (!park || is_parked_instead(settlement)) {
    return keep_refused(std::move(row), error, now, for_good);
  }
  auto instead = row;
  instead.result.settlement = parked_instead(settlement, error);
  refused_.park(std::move(row), error);
  to_park_.push_back(std::move(instead));
}

void Settler::keep_refused(RefusedRows::Row row, const Error& error, BootTime now, bool refused) {
  const auto id = row.result.settlement.id;
  const auto shard = row.result.settlement.shard;
  const auto sequence = row.result.settlement.sequence;
  const auto tenure = row.result.tenure;
  const bool holds_place = row.result.holds_place;
  if (!refused) {
    if (const auto gone = refused_.make_room(shard, sequence)) {
      log_forgotten(gone->id, gone->sequence, {gone->code, gone->error});
    }
  }
  const auto held = refused_.keep_refused(std::move(row), error, now, refused);
  if (held == RefusedRows::Held::again) return;
  parts_.shards.with(shard, [&](ShardState& state) { state.keep_refused(tenure); });
  parts_.shards.free_places(holds_place ? 1 : 0);
  if (held == RefusedRows::Held::forgotten) return log_forgotten(id, sequence, error);
  parts_.log.log(LogLevel::error,
                 "the store refuses the result of this message, and its quarantine; it is "
                 "held back and tried again, others go on",
                 {{"table", std::string_view(parts_.table.str())},
                  {"message", id.view()},
                  {"sequence", sequence.value},
                  {"code", code_name(error.code)},
                  {"error", std::string_view(error.message)}});
}

void Settler::log_forgotten(const MessageId& id, Sequence sequence, const Error& error) {
  parts_.log.log(LogLevel::error,
                 "the store refuses the result of this message, and too many are held back: "
                 "it is not tried again before its shard changes hands; others go on",
                 {{"table", std::string_view(parts_.table.str())},
                  {"message", id.view()},
                  {"sequence", sequence.value},
                  {"code", code_name(error.code)},
                  {"error", std::string_view(error.message)}});
}

void Settler::attempt_failed(const RefusedRows::Row& row, const Error& error) {
  const auto& settlement = row.result.settlement;
  parts_.log.log(LogLevel::warning, "the store refuses to record an attempt of this message",
                 {{"table", std::string_view(parts_.table.str())},
                  {"message", settlement.id.view()},
                  {"sequence", settlement.sequence.value},
                  {"code", code_name(error.code)},
                  {"error", std::string_view(error.message)}});
  parts_.shards.with(settlement.shard,
                     [&](ShardState& state) { state.settled(settlement, row.result.tenure); });
  parts_.shards.free_places(row.result.holds_place ? 1 : 0);
  parts_.attempt_refused(parked_instead(settlement, error), row.result.tenure);
}

void Settler::apply(SettlePlan plan, Result<spi::SettleReply> reply, BootTime now) {
  if (!reply.ok()) return failed(std::move(plan), reply.error(), now);
  failures_ = 0;
  store_answers();
  ++successes_;
  instruments_.batches.increment();
  instruments_.rows.observe(static_cast<double>(plan.items.size()));
  const bool usable = parts_.shards.same_timeline(reply->timeline);
  for (std::size_t part = 0; part < plan.fences.size(); ++part) {
    settled(plan, part, usable ? reply->parts[part] : spi::SettleReply::Part{}, now);
  }
  parts_.shards.free_places(static_cast<std::size_t>(
      std::count_if(plan.about.begin(), plan.about.end(),
                    [](const Settling& settling) { return settling.holds_place; })));
}

void Settler::settled(const SettlePlan& plan, std::size_t part, const spi::SettleReply::Part& reply,
                      BootTime now) {
  const auto& fence = plan.fences[part];
  const auto begin = part == 0 ? 0 : plan.ends[part - 1];
  const auto end = plan.ends[part];
  if (!reply.held) {
    parts_.log.log(LogLevel::warning, "shard is in other hands; its results were not taken",
                   {{"table", std::string_view(parts_.table.str())},
                    {"shard", std::uint64_t{fence.shard.value}},
                    {"epoch", fence.epoch.value}});
    return parts_.shards.fence_broken(fence);
  }
  // Fewer rows although the fence held: the batch was repeated, or an operator removed rows.
  if (reply.rows < end - begin) {
    instruments_.missed.add(static_cast<double>(end - begin - reply.rows));
    parts_.log.log(LogLevel::info, "some rows of a settle were gone already",
                   {{"table", std::string_view(parts_.table.str())},
                    {"shard", std::uint64_t{fence.shard.value}},
                    {"rows", std::uint64_t{end - begin - reply.rows}}});
  }
  parts_.shards.with(fence.shard, [&](ShardState& state) {
    for (auto at = begin; at < end; ++at) {
      if (plan.suspect) {
        row_settled(state, plan.items[at], plan.about[at].tenure, now);
      } else {
        state.settled(plan.items[at], plan.about[at].tenure);
      }
    }
    // A retry of a row that was removed must not block its key.
    if (reply.rows < end - begin) state.check_blocked_keys();
  });
  for (auto at = begin; at < end; ++at) {
    const auto& item = plan.items[at];
    count(plan.about[at], item);
    if (is_parked_instead(item)) parked(item);
    if (item.verdict == spi::Verdict::attempt) {
      parts_.attempt_written(item.shard, item.sequence, plan.about[at].tenure);
    }
  }
}

void Settler::row_settled(ShardState& state, const spi::Settlement& item, std::uint32_t tenure,
                          BootTime now) {
  const auto known = item.verdict == spi::Verdict::attempt
                         ? std::nullopt
                         : refused_.stored(item.shard, item.sequence);
  if (!known || !known->held_back) {
    state.settled(item, tenure);
  } else {
    state.settled_late(item, tenure);
    // The cause of the refusals may be gone for other rows, too.
    held_back_at_ = now;
    refused_.retry_all(now);
  }
  // Its key must not wait for a retry that will not come.
  if (known && known->blocks_key && is_parked_instead(item)) state.check_blocked_keys();
}

void Settler::parked(const spi::Settlement& item) {
  instruments_.refused_parked.increment();
  parts_.log.log(LogLevel::error,
                 "the store refuses the result of this message; it was quarantined instead",
                 {{"table", std::string_view(parts_.table.str())},
                  {"message", item.id.view()},
                  {"sequence", item.sequence.value},
                  {"note", std::string_view(item.note)}});
}

void Settler::count(const Settling& settling, const spi::Settlement& item) {
  auto* figures = settling.figures;
  switch (item.verdict) {
    case spi::Verdict::done:
      delivered_.fetch_add(1, std::memory_order_relaxed);
      if (figures == nullptr) return;
      figures->done.increment();
      if (item.attempts > 1) figures->done_after_retry.increment();
      return;
    case spi::Verdict::retry:
      retried_.fetch_add(1, std::memory_order_relaxed);
      if (figures == nullptr) return;
      figures->retry.increment();
      figures->retries.increment();
      return;
    case spi::Verdict::dead:
      dead_.fetch_add(1, std::memory_order_relaxed);
      if (figures != nullptr) figures->dead.increment();
      if (settling.replayed) return;
      parts_.metrics
          .counter(metric::outbox_dead_total,
                   {{"table", parts_.table.str()},
                    {"topic", settling.dead ? std::string_view(settling.dead->topic()) : ""},
                    {"code", code_name(item.code)}})
          .increment();
      return;
    case spi::Verdict::park:
      if (figures != nullptr) figures->parked.increment();
      return;
    case spi::Verdict::attempt:
      return;
  }
}

}  // namespace sagabox::outbox
