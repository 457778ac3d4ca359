#include "outbox/settler.hpp"

#include "observe/metric_names.hpp"
#include "outbox/registry.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::outbox {
namespace {

constexpr Duration retry_min = std::chrono::milliseconds(10);
constexpr Duration retry_max = std::chrono::seconds(1);
/// Somebody may mend what the store refuses a row for.
constexpr Duration held_back_interval = std::chrono::seconds(30);
/// With more than so many it is not the rows that are to blame.
constexpr std::size_t held_back_max = 16;
/// So many conflicts of one batch are no coincidence.
constexpr std::uint32_t conflicts_max = 5;

/// The store was reached, and will say the same next time.
bool is_refusal(Code code, std::uint32_t failures, bool suspect) {
  if (code == Code::storage_conflict) return suspect || failures >= conflicts_max;
  return code == Code::schema_validation_failed || code == Code::unknown_internal;
}

std::pair<SettlePlan, SettlePlan> halves(SettlePlan plan) {
  std::pair<SettlePlan, SettlePlan> both;
  const auto half = plan.items.size() / 2;
  std::size_t begin = 0;
  for (std::size_t part = 0; part < plan.fences.size(); ++part) {
    for (auto at = begin; at < plan.ends[part]; ++at) {
      auto& into = at < half ? both.first : both.second;
      if (into.fences.empty() || into.fences.back().shard != plan.fences[part].shard) {
        into.fences.push_back(plan.fences[part]);
        into.ends.push_back(0);
      }
      into.items.push_back(std::move(plan.items[at]));
      into.about.push_back(std::move(plan.about[at]));
      into.ends.back() = into.items.size();
    }
    begin = plan.ends[part];
  }
  both.first.owner = both.second.owner = plan.owner;
  both.first.suspect = both.second.suspect = true;
  return both;
}

}  // namespace

Settler::Figures::Figures(Metrics& metrics, std::string_view table)
    : batches(metrics.counter(metric::outbox_settle_batches_total,
                              {{"table", table}, {"result", "ok"}})),
      batches_failed(metrics.counter(metric::outbox_settle_batches_total,
                                     {{"table", table}, {"result", "failed"}})),
      missed(metrics.counter(metric::outbox_settle_missed_rows_total, {{"table", table}})),
      rows(metrics.histogram(metric::outbox_settle_rows, {{"table", table}})),
      errors(metrics) {}

Settler::Settler(Parts parts, SettlerOptions options)
    : parts_(std::move(parts)), options_(options), figures_(parts_.metrics, parts_.table.str()) {
  parts_.shards.ring_settler_at(options_.rows_max);
}

std::optional<SettlePlan> Settler::plan(BootTime now) {
  // First, so that there is room again for another that is refused.
  if (auto again = next_held_back(now)) return again;
  if (!again_.empty()) {
    if (auto again = next_again(now); again || !again_.empty()) return again;
  }
  if (now < next(now)) return std::nullopt;
  auto batch = collect();
  if (batch.items.empty()) return std::nullopt;
  return batch;
}

std::optional<SettlePlan> Settler::next_again(BootTime now) {
  while (!again_.empty() && now >= retry_at_) {
    auto plan = still_ours(std::move(again_.front()));
    again_.pop_front();
    if (!plan.items.empty()) return plan;
  }
  return std::nullopt;
}

std::optional<SettlePlan> Settler::next_held_back(BootTime now) {
  for (auto held = held_back_.begin(); held != held_back_.end();) {
    const bool draining = parts_.shards.with(held->plan.fences[0].shard, [](const auto& state) {
      return state.phase() == ShardState::Phase::draining;
    });
    if (!draining && now < held->retry_at) {
      ++held;
      continue;
    }
    auto plan = still_ours(std::move(held->plan));
    held = held_back_.erase(held);
    if (plan.items.empty()) continue;
    if (!draining) return plan;
    let_go(plan);
  }
  return std::nullopt;
}

BootTime Settler::next(BootTime now) const {
  auto at = again_.empty() ? BootTime::max() : retry_at_;
  for (const auto& held : held_back_) at = std::min(at, held.retry_at);
  if (!again_.empty()) return at;
  const auto waiting = parts_.shards.settlements();
  if (waiting == 0) return at;
  if (waiting >= options_.rows_max || stopping_.load()) return now;
  return std::min(at, parts_.shards.oldest_settlement() + options_.delay_max);
}

SettlePlan Settler::collect() {
  SettlePlan plan;
  const auto count = parts_.shards.size();
  first_ = (first_ + 1) % count;
  for (std::size_t step = 0; step < count && plan.about.size() < options_.rows_max; ++step) {
    auto& slot = parts_.shards.at((first_ + step) % count);
    const std::scoped_lock lock(slot.mutex);
    const auto before = plan.about.size();
    // One batch, one owner: what another tenure left goes with the next.
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
  SettlePlan kept{.owner = plan.owner, .suspect = plan.suspect};
  std::size_t begin = 0;
  std::size_t places = 0;
  for (std::size_t part = 0; part < plan.fences.size(); ++part) {
    const auto end = plan.ends[part];
    const bool ours = parts_.shards.with(plan.fences[part].shard, [&](const ShardState& state) {
      return state.tenure() == plan.about[begin].tenure;
    });
    for (auto at = begin; at < end; ++at) {
      if (ours) {
        kept.items.push_back(std::move(plan.items[at]));
        kept.about.push_back(std::move(plan.about[at]));
      } else if (plan.about[at].holds_place) {
        ++places;
      }
    }
    if (ours) {
      kept.fences.push_back(plan.fences[part]);
      kept.ends.push_back(kept.items.size());
    }
    begin = end;
  }
  parts_.shards.free_places(places);
  return kept;
}

Result<spi::SettleReply> Settler::perform(const SettlePlan& plan) {
  return parts_.store.settle({.table = parts_.table,
                              .owner = plan.owner,
                              .fences = plan.fences,
                              .items = plan.items,
                              .retain_done = options_.retain_done});
}

void Settler::failed(SettlePlan plan, const Error& error, BootTime now) {
  figures_.batches_failed.increment();
  figures_.errors.count(error.code);
  const bool refused =
      is_refusal(error.code, failures_, plan.suspect) && held_back_.size() < held_back_max;
  if (refused && plan.items.size() == 1) return hold_back(std::move(plan), error, now);
  parts_.log.log(LogLevel::warning,
                 refused ? "settle refused, will be sent again in halves"
                         : "settle failed, will be sent again",
                 {{"table", std::string_view(parts_.table.str())},
                  {"rows", std::uint64_t{plan.items.size()}},
                  {"code", code_name(error.code)},
                  {"error", std::string_view(error.message)}});
  if (refused) {
    auto [first, second] = halves(std::move(plan));
    again_.push_front(std::move(second));
    again_.push_front(std::move(first));
    retry_at_ = now;
    return;
  }
  retry_at_ = now + std::min(retry_max, retry_min * (1 << std::min(failures_, 7U)));
  ++failures_;
  again_.push_front(std::move(plan));
}

void Settler::hold_back(SettlePlan plan, const Error& error, BootTime now) {
  const auto& item = plan.items.front();
  parts_.log.log(LogLevel::error,
                 "the store refuses the result of this message; it is held back and tried again, "
                 "others go on",
                 {{"table", std::string_view(parts_.table.str())},
                  {"message", item.id.view()},
                  {"sequence", item.sequence.value},
                  {"code", code_name(error.code)},
                  {"error", std::string_view(error.message)}});
  held_back_.push_back({std::move(plan), now + held_back_interval});
}

void Settler::let_go(const SettlePlan& plan) {
  const auto& item = plan.items.front();
  parts_.log.log(LogLevel::warning,
                 "a result that the store refuses is dropped with its shard: the next owner "
                 "delivers the message again",
                 {{"table", std::string_view(parts_.table.str())}, {"message", item.id.view()}});
  parts_.shards.with(item.shard,
                     [&](ShardState& state) { state.settled(item, plan.about.front().tenure); });
  parts_.shards.free_places(plan.about.front().holds_place ? 1 : 0);
}

void Settler::apply(SettlePlan plan, Result<spi::SettleReply> reply, BootTime now) {
  if (!reply.ok()) return failed(std::move(plan), reply.error(), now);
  failures_ = 0;
  figures_.batches.increment();
  figures_.rows.observe(static_cast<double>(plan.items.size()));
  const bool usable = parts_.shards.same_timeline(reply->timeline);
  for (std::size_t part = 0; part < plan.fences.size(); ++part) {
    settled(plan, part, usable ? reply->parts[part] : spi::SettleReply::Part{});
  }
  parts_.shards.free_places(static_cast<std::size_t>(
      std::count_if(plan.about.begin(), plan.about.end(),
                    [](const Settling& settling) { return settling.holds_place; })));
}

void Settler::settled(const SettlePlan& plan, std::size_t part,
                      const spi::SettleReply::Part& reply) {
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
  // Fewer rows with the fence in place: the batch is a repeat, or somebody removed rows.
  if (reply.rows < end - begin) {
    figures_.missed.add(static_cast<double>(end - begin - reply.rows));
    parts_.log.log(LogLevel::info, "some rows of a settle were gone already",
                   {{"table", std::string_view(parts_.table.str())},
                    {"shard", std::uint64_t{fence.shard.value}},
                    {"rows", std::uint64_t{end - begin - reply.rows}}});
  }
  parts_.shards.with(fence.shard, [&](ShardState& state) {
    for (auto at = begin; at < end; ++at) {
      state.settled(plan.items[at], plan.about[at].tenure);
    }
    // A retry of a row that is gone must not hold up its key.
    if (reply.rows < end - begin) state.check_blocked_keys();
  });
  for (auto at = begin; at < end; ++at) {
    const auto& item = plan.items[at];
    count(plan.about[at], item);
    if (item.verdict == spi::Verdict::attempt) {
      parts_.attempt_written(item.shard, item.sequence, plan.about[at].tenure);
    }
  }
}

void Settler::count(const Settling& settling, const spi::Settlement& item) {
  auto* figures = settling.figures;
  switch (item.verdict) {
    case spi::Verdict::done:
      delivered_.fetch_add(1, std::memory_order_relaxed);
      if (figures != nullptr) figures->done.increment();
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
