#include "saga/orchestrator/orchestrator.hpp"

#include "saga/calls/participants.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::saga {

using std::chrono::floor;

Orchestrator::Orchestrator(OrchestratorParts parts, OrchestratorOptions options)
    : parts_(std::move(parts)),
      options_(options),
      scope_(scope_of(parts_.definition)),
      figures_(parts_.metrics, parts_.definition),
      errors_(parts_.metrics),
      shards_(parts_.store.capabilities().shards),
      reader_(parts_.store.capabilities(), {.poll_interval = options.poll_interval,
                                            .full_pass_interval_min = options.full_pass_interval}) {
  for (const auto& [version, plan] : parts_.plans.all()) figures_.expect(plan);
}

void Orchestrator::acquired(const spi::OwnedShard& shard, const WorkerId& owner,
                            Timeline timeline) {
  {
    const std::scoped_lock lock(mutex_);
    forget_shard(shard.shard);
    timeline_ = timeline;
    auto& owned = shards_[shard.shard.value];
    owned.ours = true;
    owned.draining = false;
    owned.unclean = shard.unclean;
    owned.epoch = shard.epoch;
    owned.owner = owner;
    owned.due_after = {};
    owned.due_id = {};
    owned.due_at = {};
    owned.full_at = parts_.clock.boot_now() + options_.full_pass_interval;
    reader_.acquire(shard.shard);
  }
  parts_.wake_reader();
}

void Orchestrator::drain(Shard shard) {
  const std::scoped_lock lock(mutex_);
  auto& owned = shards_[shard.value];
  owned.draining = true;
  owned.drain_began = parts_.clock.boot_now();
  // Its rows stay where they are, for the next owner.
  reader_.lose(shard);
  std::vector<SagaId> affected;
  for (auto& [id, entry] : entries_) {
    if (entry->shard == shard && entry->phase != Entry::Phase::parked) affected.push_back(id);
  }
  for (const auto& id : affected) {
    auto& entry = *find(id);
    absent_ -= waiting_of(entry);
    std::erase_if(entry.events, [](const Incoming& event) { return event.place.has_value(); });
    if (entry.phase == Entry::Phase::present) continue;
    if (!entry.in_batch && entry.events.empty() && entry.calls.empty()) remove(entry);
  }
}

bool Orchestrator::idle(Shard shard) const {
  const std::scoped_lock lock(mutex_);
  const auto& owned = shards_[shard.value];
  const bool waits_for_all =
      parts_.clock.boot_now() < owned.drain_began + options_.drain && owned.draining;
  for (const auto& [id, entry] : entries_) {
    if (entry->shard != shard) continue;
    if (entry->in_batch || entry->single_calls > 0) return false;
    const bool has_result = std::ranges::any_of(entry->events, [](const Incoming& event) {
      return std::holds_alternative<CallEnded>(event.event);
    });
    if (has_result && entry->phase == Entry::Phase::present) return false;
    if (waits_for_all && !entry->calls.empty()) return false;
  }
  return std::ranges::none_of(outgoing_, [&](const Outgoing& call) {
    return call.order.shard == shard && !call.order.idempotent;
  });
}

void Orchestrator::lost(Shard shard) {
  {
    const std::scoped_lock lock(mutex_);
    forget_shard(shard);
  }
  parts_.wake_writer();
}

void Orchestrator::forget_shard(Shard shard) {
  auto& owned = shards_[shard.value];
  ++owned.tenure;
  owned.ours = false;
  owned.draining = false;
  reader_.lose(shard);
  for (auto at = entries_.begin(); at != entries_.end();) {
    auto& entry = *at->second;
    if (entry.shard != shard) {
      ++at;
      continue;
    }
    forget_calls(entry);
    set_timer(entry, std::nullopt);
    absent_ -= waiting_of(entry);
    at = entries_.erase(at);
  }
  // Also of sagas that are not in memory.
  std::erase_if(found_in_, [&](const auto& one) {
    if (one.second == shard) findings_.remove(one.first);
    return one.second == shard;
  });
  std::erase_if(outgoing_, [&](const Outgoing& call) {
    if (call.order.shard == shard) flights_.erase(call.order.ticket);
    return call.order.shard == shard;
  });
}

bool Orchestrator::owns(Shard shard) const {
  const std::scoped_lock lock(mutex_);
  return shards_[shard.value].ours;
}

Entry* Orchestrator::find(const SagaId& id) {
  const auto at = entries_.find(id);
  return at == entries_.end() ? nullptr : at->second.get();
}

Entry& Orchestrator::entry_for(const SagaId& id, Shard shard) {
  auto& slot = entries_[id];
  if (!slot) {
    slot = std::make_unique<Entry>();
    slot->id = id;
    slot->shard = shard;
    slot->tenure = shards_[shard.value].tenure;
  }
  slot->gone = false;
  return *slot;
}

void Orchestrator::forget_finding(const SagaId& id) {
  findings_.remove(id);
  found_in_.erase(id);
}

void Orchestrator::mark_ready(Entry& entry) {
  if (entry.ready || entry.in_batch || entry.events.empty()) return;
  if (entry.phase != Entry::Phase::present && entry.phase != Entry::Phase::absent) return;
  entry.ready = true;
  ready_.push_back(entry.id);
}

void Orchestrator::want(Entry& entry) {
  absent_ -= waiting_of(entry);
  entry.phase = Entry::Phase::loading;
  entry.instance.reset();
  set_timer(entry, std::nullopt);
  if (std::exchange(entry.wanted, true)) return;
  wanted_.push_back(entry.id);
}

void Orchestrator::set_timer(Entry& entry, std::optional<WallTime> at) {
  if (entry.timer == at) return;
  if (entry.timer) timers_.erase({*entry.timer, entry.id});
  entry.timer = at;
  if (at) timers_.emplace(*at, entry.id);
}

void Orchestrator::settle_down(Entry& entry, WallTime now) {
  if (entry.phase == Entry::Phase::absent) return;  // until its start comes
  if (!entry.events.empty()) return mark_ready(entry);
  if (entry.phase != Entry::Phase::present || !entry.instance) return;
  const auto& instance = *entry.instance;
  const auto next = next_time(instance);
  if (entry.idle() && has_ended(instance.state) && !next) return remove(entry);
  const bool is_far = !next || *next > now + floor<WallTime::duration>(options_.keep);
  if (!entry.idle() || !is_far || (entry.unsaved && next)) {
    // At the earliest after a moment: what is due and does not move must not keep us busy.
    const auto soon = now + std::chrono::milliseconds(10);
    return set_timer(entry, next && *next <= now ? std::optional(soon) : next);
  }
  if (next) {
    auto& owned = shards_[entry.shard.value];
    // The forward pass has gone further already.
    if (*next <= owned.due_after) {
      owned.due_after = *next - WallTime::duration(1);
      owned.due_id = {};
    }
  }
  remove(entry);
}

void Orchestrator::remove(Entry& entry) {
  set_timer(entry, std::nullopt);
  forget_finding(entry.id);
  if (reads_out_ > 0) {
    // A read that began before may show it as it was.
    entry.gone = true;
    gone_.push_back(entry.id);
    return;
  }
  entries_.erase(SagaId(entry.id));
}

std::uint32_t Orchestrator::waiting_of(const Entry& entry) {
  if (entry.phase != Entry::Phase::absent) return 0;
  return static_cast<std::uint32_t>(std::ranges::count_if(
      entry.events, [](const Incoming& event) { return event.place.has_value(); }));
}

void Orchestrator::forget_calls(Entry& entry) {
  for (const auto& [key, ticket] : entry.calls) {
    flights_.erase(ticket);
    to_abandon_.push_back(ticket);
  }
  std::erase_if(outgoing_, [&](const Outgoing& call) { return call.order.saga == entry.id; });
  entry.calls.clear();
  entry.single_calls = 0;
}

void Orchestrator::abandon_call(Entry& entry, const CallKey& key) {
  for (const auto& [made, ticket] : entry.calls) {
    if (made != key) continue;
    const auto waits = std::ranges::find(outgoing_, ticket,
                                         [](const Outgoing& call) { return call.order.ticket; });
    if (waits == outgoing_.end()) {
      to_abandon_.push_back(ticket);
      return;
    }
    if (!waits->order.idempotent) --entry.single_calls;
    outgoing_.erase(waits);
    flights_.erase(ticket);
    std::erase_if(entry.calls, [&](const auto& call) { return call.first == key; });
    return;
  }
}

WallTime Orchestrator::remember_until(const Instance& instance, const Call& call) const {
  const auto last = std::max(call.deadline, instance.deadline.value_or(call.deadline));
  return last + std::chrono::ceil<WallTime::duration>(options_.remember);
}

void Orchestrator::order_call(Entry& entry, Call call) {
  const auto& owned = shards_[entry.shard.value];
  const auto& given = entry.plan->step(call.key.step).given;
  // A compensation may always be made again.
  const bool repeatable = given.idempotent || call.key.direction == BarrierDirection::compensation;
  // Whoever gets the shard makes it: nothing of it has begun.
  if (owned.draining && repeatable) return;
  const CallTicket ticket{parts_.tickets.fetch_add(1) + 1};
  flights_.emplace(ticket, Flight{entry.id, call.key, entry.shard, repeatable});
  entry.calls.emplace_back(call.key, ticket);
  if (!repeatable) ++entry.single_calls;
  const auto deadline = call.deadline;
  const auto remember_until = this->remember_until(*entry.instance, call);
  const auto& step = entry.instance->steps[call.key.step];
  const bool was_held = step.code == over_limit && !step.error.empty();
  outgoing_.push_back({.order = {.ticket = ticket,
                                 .call = std::move(call),
                                 .saga = entry.id,
                                 .definition = parts_.definition,
                                 .definition_version = entry.instance->definition_version,
                                 .tenant = entry.instance->tenant,
                                 .step = given.name,
                                 .idempotent = repeatable,
                                 .shard = entry.shard,
                                 .epoch = owned.epoch,
                                 .deadline = {},
                                 .remember_until = remember_until,
                                 .traceparent = entry.instance->traceparent,
                                 .was_held = was_held},
                       .tenure = entry.tenure,
                       .deadline = deadline});
}

void Orchestrator::make_calls(BootTime now) {
  std::vector<CallOrder> orders;
  std::vector<CallTicket> abandoned;
  std::vector<SagaCommandResult> tell;
  std::vector<spi::Fence> lost;
  {
    const std::scoped_lock lock(mutex_);
    abandoned.swap(to_abandon_);
    tell.swap(to_tell_);
    lost.swap(lost_);
    show_figures(now);
    // Without a lease nothing is begun. It is not yet lost, either.
    if (live(now)) {
      const auto wall = parts_.clock.wall_now();
      orders.reserve(outgoing_.size());
      for (auto& call : outgoing_) {
        call.order.deadline = now + (call.deadline - wall);
        orders.push_back(std::move(call.order));
      }
      outgoing_.clear();
    }
  }
  if (auto* const worker = worker_.load()) {
    for (const auto& fence : lost) worker->shard_lost(scope_, fence.shard, fence.epoch);
  }
  for (const auto ticket : abandoned) parts_.caller.abandon(ticket);
  if (!orders.empty()) parts_.caller.call(std::move(orders), *this);
  for (const auto& result : tell) parts_.told(result);
}

void Orchestrator::show_figures(BootTime now) {
  if (now < figures_at_) return;
  figures_at_ = now + std::chrono::seconds(1);
  figures_.in_memory.set(static_cast<double>(entries_.size()));
  figures_.calls.set(static_cast<double>(flights_.size()));
  figures_.findings.set(static_cast<double>(findings_.count()));
}

void Orchestrator::ended(CallTicket ticket, CallResult result) noexcept {
  bool first = false;
  {
    const std::scoped_lock lock(ended_mutex_);
    first = ended_.empty();
    ended_.push_back({ticket, std::move(result)});
  }
  if (first) parts_.wake_writer();
}

void Orchestrator::committed_somewhere() {
  const std::scoped_lock lock(mutex_);
  reader_.wake();
}

OrchestratorSnapshot Orchestrator::snapshot() const {
  const std::scoped_lock lock(mutex_);
  auto snapshot = totals_;
  snapshot.shards_owned = static_cast<std::uint32_t>(
      std::ranges::count_if(shards_, [](const Owned& shard) { return shard.ours; }));
  snapshot.instances = entries_.size();
  snapshot.calls = flights_.size();
  snapshot.findings = findings_.count();
  return snapshot;
}

std::vector<runtime::Finding<SagaId>> Orchestrator::findings(std::size_t rows_max) const {
  const std::scoped_lock lock(mutex_);
  return findings_.list(rows_max);
}

}  // namespace sagabox::saga
