#include "outbox/settler.hpp"

#include "observe/metric_names.hpp"
#include "outbox/registry.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::outbox {
namespace {

constexpr Duration retry_min = std::chrono::milliseconds(10);
constexpr Duration retry_max = std::chrono::seconds(1);

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
  if (retained_) {
    if (now < retry_at_) return std::nullopt;
    auto again = still_ours(std::move(*retained_));
    retained_.reset();
    if (!again.items.empty()) return again;
  }
  if (now < next(now)) return std::nullopt;
  auto batch = collect();
  if (batch.items.empty()) return std::nullopt;
  return batch;
}

BootTime Settler::next(BootTime now) const {
  if (retained_) return retry_at_;
  const auto waiting = parts_.shards.settlements();
  if (waiting == 0) return BootTime::max();
  if (waiting >= options_.rows_max || stopping_.load()) return now;
  return parts_.shards.oldest_settlement() + options_.delay_max;
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
  SettlePlan kept{.owner = plan.owner};
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

void Settler::apply(SettlePlan plan, Result<spi::SettleReply> reply, BootTime now) {
  if (!reply.ok()) {
    figures_.batches_failed.increment();
    figures_.errors.count(reply.error().code);
    parts_.log.log(LogLevel::warning, "settle failed, will be sent again",
                   {{"table", std::string_view(parts_.table.str())},
                    {"rows", std::uint64_t{plan.items.size()}},
                    {"code", code_name(reply.error().code)},
                    {"error", std::string_view(reply.error().message)}});
    retry_at_ = now + std::min(retry_max, retry_min * (1 << std::min(failures_, 7U)));
    ++failures_;
    retained_ = std::move(plan);
    return;
  }
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
