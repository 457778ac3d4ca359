#include "delivery/orchestrator/orchestrator.hpp"

#include "delivery/hub_log.hpp"
#include "spi/hub_rules.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace sagabox::delivery {

Orchestrator::Orchestrator(OrchestratorParts parts, OrchestratorOptions options,
                           std::uint16_t shards)
    : parts_(std::move(parts)),
      options_(options),
      figures_(parts_.metrics),
      errors_(parts_.metrics),
      shards_(shards),
      job_rows_max_(options.batch_rows_max),
      notified_interval_(options.notified_interval_min) {}

void Orchestrator::acquired(const spi::OwnedShard& shard, const WorkerId& owner,
                            Timeline timeline) {
  const std::scoped_lock lock(mutex_);
  // Commits were lost: changes of subscriptions are counted anew.
  if (timeline != timeline_) {
    book_ = {};
    parts_.timeline_changed();
  }
  timeline_ = timeline;
  forget_shard(shard.shard);
  const auto now = parts_.clock.boot_now();
  auto& owned = shards_[shard.shard.value];
  const auto tenure = owned.tenure;
  owned = {.ours = true, .epoch = shard.epoch, .owner = owner, .tenure = tenure};
  owned.scan_at = owned.open_at = owned.ended_at = owned.strays_at = now;
  subscriptions_at_ = std::min(subscriptions_at_, now);
  parts_.wake_starter();
  parts_.wake_ender();
}

void Orchestrator::drain(Shard shard) {
  const std::scoped_lock lock(mutex_);
  shards_[shard.value].draining = true;
  for (auto& [id, line] : lines_) {
    if (line.shard == shard) clear_ready(line);
  }
}

bool Orchestrator::idle(Shard shard) const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::none_of(attempts_, [&](const auto& one) {
    const auto phase = one.second.phase;
    const bool writes = phase == Attempt::Phase::beginning || phase == Attempt::Phase::making ||
                        phase == Attempt::Phase::ending;
    return writes && one.second.delivery.shard == shard;
  });
}

void Orchestrator::lost(Shard shard) {
  const std::scoped_lock lock(mutex_);
  forget_shard(shard);
}

void Orchestrator::forget_shard(Shard shard) {
  auto& owned = shards_[shard.value];
  ++owned.tenure;
  owned.ours = false;
  owned.draining = false;
  std::erase_if(attempts_, [&](const auto& one) {
    const auto& [id, attempt] = one;
    if (attempt.delivery.shard != shard) return false;
    if (attempt.under_way()) --under_way_;
    findings_.remove(id);
    return true;
  });
  std::erase_if(lines_, [&](const auto& one) {
    const auto& line = one.second;
    if (line.shard != shard) return false;
    if (line.timer) timers_.erase({*line.timer, line.id});
    return true;
  });
  std::erase_if(jobs_, [&](const JobRecord& job) { return job.shard == shard; });
  std::erase_if(jobs_to_check_, [&](const JobRecord& job) { return job.shard == shard; });
}

bool Orchestrator::owns(Shard shard) const {
  const std::scoped_lock lock(mutex_);
  return owned(shard).ours;
}

bool Orchestrator::add_fence(Fences& fences, Shard shard) const {
  const auto& is = owned(shard);
  if (fences.of.empty()) fences.owner = is.owner;
  if (fences.owner != is.owner) return false;
  const bool known = std::ranges::find(fences.of, shard, &spi::Fence::shard) != fences.of.end();
  if (!known) fences.of.push_back({.shard = shard, .epoch = is.epoch});
  return true;
}

void Orchestrator::fences_broken(const Fences& fences, const std::vector<bool>& held) {
  for (std::size_t at = 0; at < held.size() && at < fences.of.size(); ++at) {
    const auto& fence = fences.of[at];
    // It may have been taken again meanwhile, at another epoch.
    if (held[at] || !owned(fence.shard).ours || owned(fence.shard).epoch != fence.epoch) continue;
    forget_shard(fence.shard);
    if (auto* const worker = worker_.load()) {
      worker->shard_lost(spi::Scope(scope), fence.shard, fence.epoch);
    }
  }
}

Line* Orchestrator::find_line(const SubscriptionId& id) {
  const auto at = lines_.find(id);
  return at == lines_.end() ? nullptr : &at->second;
}

Line& Orchestrator::line_for(const SubscriptionId& id, Shard shard, BootTime now) {
  if (auto* const known = find_line(id)) return *known;
  auto subscription = book_.find(id);
  const auto limits = subscription ? subscription->settings.limits : Limits{};
  auto& line =
      lines_
          .emplace(id,
                   Line{.id = id,
                        .shard = shard,
                        .subscription = std::move(subscription),
                        .flow = EndpointFlow(limits, options_.breaker, options_.window_max, now)})
          .first->second;
  line.doom = line.subscription && line.state() == SubscriptionState::disabled;
  if (!line.subscription) subscriptions_missing_ = true;
  return line;
}

void Orchestrator::update_line(Line& line, BootTime now) {
  auto subscription = book_.find(line.id);
  if (!subscription) {
    // It is among those that have been disabled for days, or gone: no list has them.
    const bool stale = line.subscription && line.state() != SubscriptionState::disabled;
    if (stale) line.subscription.reset();
    subscriptions_missing_ = subscriptions_missing_ || line.subscription == nullptr;
    return;
  }
  if (subscription == line.subscription) return;
  line.subscription = std::move(subscription);
  line.stopped = false;
  line.flow.limit(line.subscription->settings.limits, now);
  line.doom = line.state() == SubscriptionState::disabled;
  line.look_from_start();
  consider(line, now);
}

void Orchestrator::clear_ready(Line& line) {
  for (auto& lane : line.ready) {
    for (const auto& id : lane) {
      const auto at = attempts_.find(id);
      if (at != attempts_.end() && !at->second.under_way()) attempts_.erase(at);
    }
    lane.clear();
  }
}

void Orchestrator::consider(Line& line, BootTime now) {
  if (!works_on(line.shard)) return;
  if (!line.subscription) {
    subscriptions_missing_ = true;
    return;
  }
  if (!line.goes()) {
    clear_ready(line);
    if (line.state() != SubscriptionState::disabled || !line.doom) return;
    if (!std::exchange(line.dooming, true)) doomed_.push_back(line.id);
    return parts_.wake_ender();
  }
  if (line.may_begin(now) && !std::exchange(line.in_turn, true)) turns_.push_back(line.id);
  const bool admits = line.flow.admits(false, now) || line.flow.admits(true, now);
  const bool worth_reading = admits && line.ready_count() * 2 < page_rows();
  if (line.look && worth_reading && !std::exchange(line.looking, true)) looks_.push_back(line.id);
  const bool held = (line.ready_count() > 0 && !line.in_turn) || (line.look && !admits);
  if (held && line.flow.next(now) != BootTime::max()) {
    set_timer(line, std::max(line.flow.next(now), now + timer_step));
  }
  if (line.due_at) set_timer(line, *line.due_at);
}

std::uint32_t Orchestrator::page_rows() const {
  const auto share = options_.ready_max / std::max<std::size_t>(lines_.size(), 1);
  return static_cast<std::uint32_t>(
      std::clamp<std::size_t>(share, options_.page_rows_min, options_.page_rows));
}

void Orchestrator::set_timer(Line& line, BootTime at) {
  if (line.timer && *line.timer <= at) return;
  if (line.timer) timers_.erase({*line.timer, line.id});
  line.timer = at;
  timers_.emplace(at, line.id);
}

void Orchestrator::fire_timers(BootTime now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const auto id = timers_.begin()->second;
    timers_.erase(timers_.begin());
    auto& line = *find_line(id);
    line.timer.reset();
    if (line.due_at && *line.due_at <= now) {
      line.due_at.reset();
      line.look_from_start();
      // Only the earliest was remembered, and by the store's clock it may not be due yet.
      auto& open_at = shards_[line.shard.value].open_at;
      open_at = std::min(open_at, now + options_.notified_interval_max);
    }
    consider(line, now);
  }
}

void Orchestrator::look_at(Line& line, WallTime due, BootTime now) {
  const auto boot = parts_.clock.boot_now();  // `now` may be older than the wall clock's
  const auto wait = Duration(due - parts_.clock.wall_now());
  if (wait <= Duration{}) {
    if (!line.look) line.look_from_start();
  } else if (!line.due_at || *line.due_at > boot + wait) {
    line.due_at = boot + wait;
  }
  consider(line, now);
}

void Orchestrator::added(std::span<const DeliveryRecord> deliveries) {
  const std::scoped_lock lock(mutex_);
  const auto now = parts_.clock.boot_now();
  bool any = false;
  for (const auto& delivery : deliveries) {
    if (!works_on(delivery.shard)) continue;
    any = true;
    auto& line = line_for(delivery.subscription, delivery.shard, now);
    // What is in the table already goes first.
    const bool takes =
        line.subscription && line.goes() && !line.look && line.ready_count() < page_rows();
    if (takes) {
      take_due(line, delivery);
    } else {
      line.look = true;
    }
    consider(line, now);
  }
  hinted_ = hinted_ || any;
  if (any) parts_.wake_starter();
}

void Orchestrator::ended(std::span<const spi::FinishedJob> jobs) {
  const std::scoped_lock lock(mutex_);
  const auto now = parts_.clock.wall_now();
  bool any = false;
  for (const auto& job : jobs) {
    const auto known = attempts_.find(job.of.delivery);
    if (known == attempts_.end() || results_.size() >= options_.results_max) continue;
    if (!known_results_.insert(job.of).second) continue;
    results_.push_back({.of = job.of,
                        .subscription = known->second.delivery.subscription,
                        .result = job.result,
                        .ended_at = now});
    any = true;
  }
  hinted_ = hinted_ || any;
  if (any) parts_.wake_ender();
}

void Orchestrator::notified() {
  const std::scoped_lock lock(mutex_);
  const auto now = parts_.clock.boot_now();
  if (notified_last_ > now) return;
  const auto wait =
      std::exchange(hinted_, false) ? options_.notified_interval_max : notified_interval_;
  notified_last_ = std::max(now, notified_last_ + wait);
  for (auto& one : shards_) {
    one.open_at = std::min(one.open_at, notified_last_);
    one.ended_at = std::min(one.ended_at, notified_last_);
  }
  parts_.wake_starter();
  parts_.wake_ender();
}

void Orchestrator::found_something(bool did) {
  notified_interval_ =
      did ? options_.notified_interval_min
          : std::min(options_.notified_interval_max, notified_interval_ + notified_interval_ / 8);
}

void Orchestrator::subscriptions_changed() {
  const std::scoped_lock lock(mutex_);
  subscriptions_at_ = {};
  parts_.wake_starter();
}

OrchestratorSnapshot Orchestrator::snapshot() const {
  const std::scoped_lock lock(mutex_);
  auto snapshot = totals_;
  snapshot.shards_owned = static_cast<std::uint32_t>(
      std::ranges::count_if(shards_, [](const Owned& shard) { return shard.ours; }));
  snapshot.subscriptions = lines_.size();
  snapshot.in_progress = under_way_;
  snapshot.ready = attempts_.size() - under_way_;
  snapshot.endpoints_down = static_cast<std::uint64_t>(
      std::ranges::count_if(lines_, [](const auto& one) { return one.second.flow.down(); }));
  snapshot.findings = findings_.count();
  return snapshot;
}

void Orchestrator::show_gauges(BootTime now) {
  if (now < gauges_at_) return;
  gauges_at_ = now + std::chrono::seconds(1);
  figures_.in_progress.set(under_way_);
  figures_.ready.set(static_cast<double>(attempts_.size() - under_way_));
  figures_.findings.set(static_cast<double>(findings_.count()));
  figures_.endpoints_down.set(static_cast<double>(
      std::ranges::count_if(lines_, [](const auto& one) { return one.second.flow.down(); })));
}

std::vector<runtime::Finding<DeliveryId>> Orchestrator::findings(std::size_t rows_max) const {
  const std::scoped_lock lock(mutex_);
  return findings_.list(rows_max);
}

std::optional<EndpointState> Orchestrator::endpoint(const SubscriptionId& subscription) const {
  const std::scoped_lock lock(mutex_);
  const auto found = lines_.find(subscription);
  if (found == lines_.end() || !works_on(found->second.shard)) return std::nullopt;
  const auto& line = found->second;
  EndpointState state{.under_way = line.flow.under_way(), .ready = line.ready_count()};
  if (line.flow.down()) {
    const auto down_for = parts_.clock.boot_now() - line.flow.down_since();
    state.down_since = std::chrono::floor<WallTime::duration>(parts_.clock.wall_now() - down_for);
  }
  return state;
}

bool Orchestrator::is_down(const SubscriptionId& subscription) const {
  const std::scoped_lock lock(mutex_);
  const auto line = lines_.find(subscription);
  return line != lines_.end() && line->second.flow.down();
}

std::vector<SubscriptionRecord> Orchestrator::take_disabled() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(disabled_, {});
}

void Orchestrator::log_about(LogLevel level, std::string_view what,
                             const DeliveryRecord& delivery) const {
  log_delivery(parts_.log, level, what, delivery,
               {{"status", static_cast<std::int64_t>(delivery.status)},
                {"code", delivery.code ? code_name(*delivery.code) : std::string_view()},
                {"error", std::string_view(delivery.error)}});
}

}  // namespace sagabox::delivery
