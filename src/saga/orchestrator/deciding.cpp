#include "saga/calls/emission.hpp"
#include "saga/orchestrator/orchestrator.hpp"
#include "saga/stored_waits.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::saga {
namespace {

/// A started saga, with the little that a batch adds.
constexpr std::size_t item_bytes_min = 256;

bool is_start(const Incoming& event) {
  const auto* const command = event.command();
  return command != nullptr && command->kind == SagaCommandKind::start;
}

}  // namespace

void Orchestrator::take_ended() {
  std::vector<Ended> ended;
  {
    const std::scoped_lock lock(ended_mutex_);
    ended.swap(ended_);
  }
  for (auto& [ticket, result] : ended) {
    const auto at = flights_.find(ticket);
    // Its shard is no longer ours.
    if (at == flights_.end()) continue;
    const auto flight = at->second;
    auto* const entry = find(flight.saga);
    if (entry == nullptr) {
      flights_.erase(at);
      continue;
    }
    end_call(*entry, ticket, flight, std::move(result));
    mark_ready(*entry);
  }
}

void Orchestrator::end_call(Entry& entry, CallTicket ticket, const Flight& flight,
                            CallResult result) {
  entry.events.push_back({.event = CallEnded{flight.key, std::move(result)}});
  std::erase_if(entry.calls, [&](const auto& call) { return call.second == ticket; });
  if (!flight.idempotent) --entry.single_calls;
  flights_.erase(ticket);
}

void Orchestrator::withdraw_late_calls(Entry& entry, WallTime now) {
  if (!entry.instance) return;
  const auto calls = entry.calls;
  for (const auto& [key, ticket] : calls) {
    const auto& in_flight = entry.instance->steps[key.step].in_flight;
    if (!in_flight || in_flight->call != key.call || in_flight->deadline > now) continue;
    const auto waits = std::ranges::find(outgoing_, ticket,
                                         [](const Outgoing& call) { return call.order.ticket; });
    if (waits != outgoing_.end()) {
      outgoing_.erase(waits);
    } else if (!parts_.caller.withdraw(ticket)) {
      continue;
    }
    const auto flight = flights_.at(ticket);
    end_call(entry, ticket, flight,
             {.kind = CallResult::Kind::unreachable, .error = "not begun in time"});
  }
}

void Orchestrator::fire_timers(WallTime now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    auto& entry = *find(timers_.begin()->second);
    set_timer(entry, std::nullopt);
    if (entry.phase == Entry::Phase::parked) {
      want(entry);
      parts_.wake_reader();
      continue;
    }
    if (entry.phase != Entry::Phase::absent) {
      withdraw_late_calls(entry, now);
      entry.events.push_back({.event = TimePassed{}});
    }
    mark_ready(entry);
  }
}

std::optional<WriteStep> Orchestrator::plan_write(BootTime now) {
  const std::scoped_lock lock(mutex_);
  const auto wall = parts_.clock.wall_now();
  take_ended();
  if (!live(now)) return std::nullopt;
  fire_timers(wall);
  if (now < write_retry_at_) return std::nullopt;
  const bool fresh_first = std::exchange(fresh_next_, false) && write_failures_ == 0;
  if (!fresh_first) {
    if (auto step = plan_again()) return step;
  }
  begin_waiting_starts();
  WriteStep step;
  std::size_t bytes = 0;
  auto calls = flights_.size();
  for (auto left = ready_.size();
       left > 0 && step.items.size() < options_.batch_sagas_max && bytes < options_.batch_bytes_max;
       --left) {
    const auto id = ready_.front();
    ready_.pop_front();
    auto* const entry = find(id);
    if (entry == nullptr || !std::exchange(entry->ready, false) || entry->gone) continue;
    const auto& owned = shards_[entry->shard.value];
    // One batch, one owner: what is left of another tenure goes with the next.
    if (!step.items.empty() && owned.owner != step.owner) {
      mark_ready(*entry);
      continue;
    }
    if (must_wait(*entry, calls)) {
      entry->ready = true;
      waiting_starts_.push_back(id);
      continue;
    }
    auto item = decide_on(*entry, wall);
    if (!item) {
      if (auto* const kept = find(id); kept != nullptr && !kept->gone) settle_down(*kept, wall);
      continue;
    }
    step.owner = owned.owner;
    if (std::ranges::find(step.fences, entry->shard, &spi::Fence::shard) == step.fences.end()) {
      step.fences.push_back({.shard = entry->shard, .epoch = owned.epoch});
    }
    bytes += item->bytes;
    calls += item->calls.size();
    entry->in_batch = true;
    step.items.push_back(*std::move(item));
  }
  if (!step.items.empty()) {
    step.flatten();
    return step;
  }
  return fresh_first ? plan_again() : std::nullopt;
}

void Orchestrator::begin_waiting_starts() {
  if (flights_.size() >= options_.calls_max) return;
  // Only as many as may call: the others would come back at once.
  auto room = options_.calls_max - flights_.size();
  for (; room > 0 && !waiting_starts_.empty(); --room) {
    ready_.push_back(std::move(waiting_starts_.front()));
    waiting_starts_.pop_front();
  }
}

bool Orchestrator::must_wait(const Entry& entry, std::size_t calls) const {
  return calls >= options_.calls_max && entry.phase == Entry::Phase::absent &&
         std::ranges::any_of(entry.events, is_start);
}

std::optional<BatchItem> Orchestrator::decide_on(Entry& entry, WallTime now) {
  if (entry.in_batch || entry.events.empty()) return std::nullopt;
  BatchItem item;
  item.saga = entry.id;
  item.shard = entry.shard;
  item.tenure = entry.tenure;
  if (entry.phase == Entry::Phase::absent) {
    decide_absent(entry, now, item);
    // Nothing waits for its start any more, and it was removed.
    if (find(item.saga) == nullptr) return std::nullopt;
  }
  if (entry.phase == Entry::Phase::present) decide_present(entry, now, item);
  const bool takes = std::ranges::any_of(
      item.events, [](const Incoming& event) { return event.place.has_value(); });
  if (entry.phase == Entry::Phase::parked) return std::nullopt;
  if (item.write) finish_item(entry, now, item);
  if (!item.write && !takes) {
    for (auto& call : item.calls) order_call(entry, std::move(call));
    for (const auto& key : item.abandoned) abandon_call(entry, key);
    return std::nullopt;
  }
  return item;
}

void Orchestrator::decide_present(Entry& entry, WallTime now, BatchItem& item) {
  while (!entry.events.empty() && entry.phase == Entry::Phase::present) {
    auto incoming = std::move(entry.events.front());
    entry.events.pop_front();
    const auto* const command = incoming.command();
    if (command != nullptr && command->tenant != entry.instance->tenant) {
      refuse(*command, "AUTH.DENIED: the saga belongs to another tenant", now, item);
      item.events.push_back(std::move(incoming));
      continue;
    }
    if (command != nullptr && !entry.conflict.empty() && entry.reloaded) {
      refuse(*command, entry.conflict, now, item);
      item.events.push_back(std::move(incoming));
      continue;
    }
    auto decision =
        parts_.decide(*entry.plan, *std::move(entry.instance), incoming.event, now, parts_.random);
    const bool replays = command != nullptr && command->kind == SagaCommandKind::replay;
    if (replays && decision.result && decision.result->applied) item.replayed = true;
    item.events.push_back(std::move(incoming));
    take_decision(entry, std::move(decision), item);
  }
}

void Orchestrator::decide_absent(Entry& entry, WallTime now, BatchItem& item) {
  std::deque<Incoming> rest;
  std::optional<WallTime> wait;
  absent_ -= waiting_of(entry);
  const auto start = std::ranges::find_if(entry.events, is_start);
  if (start != entry.events.end() && start != entry.events.begin()) {
    std::rotate(entry.events.begin(), start, start + 1);
  }
  while (!entry.events.empty() && entry.phase == Entry::Phase::absent) {
    auto incoming = std::move(entry.events.front());
    entry.events.pop_front();
    const auto* const command = incoming.command();
    if (command == nullptr) continue;
    const auto until =
        command->written_at + std::chrono::floor<WallTime::duration>(options_.absent_wait);
    const Plan* plan = nullptr;
    std::string reason = "no such saga";
    if (is_start(incoming)) {
      plan = parts_.plans.newest();
      if (command->body.find("\"version\"") != std::string::npos) {
        if (auto request = read_start(*command); request.ok() && request->version) {
          plan = parts_.plans.find(*request->version);
          reason = "version " + std::to_string(*request->version) + " of " + parts_.definition +
                   " is not registered";
        }
      }
    }
    if (plan != nullptr && entry.conflict.empty()) {
      entry.plan = plan;
      auto decision = decide_start(*plan, *command, now, parts_.random);
      item.events.push_back(std::move(incoming));
      if (decision.write) {
        item.starts = true;
        entry.phase = Entry::Phase::present;
        decision.instance.shard = entry.shard;
        decision.instance.epoch = shards_[entry.shard.value].epoch.value;
      }
      take_decision(entry, std::move(decision), item);
      continue;
    }
    if (plan != nullptr) reason = entry.conflict;
    if (plan == nullptr && now < until && absent_ + rest.size() < options_.absent_max) {
      if (is_start(incoming)) found(entry, Code::config_invalid, reason);
      wait = wait ? std::min(*wait, until) : until;
      rest.push_back(std::move(incoming));
      continue;
    }
    refuse(*command, reason, now, item);
    if (plan == nullptr) {
      item.audit.push_back({.kind = AuditKind::dead_letter,
                            .at = now,
                            .tenant = command->tenant,
                            .topic = std::string(saga_command_name(command->kind)),
                            .message_id = command->id.str(),
                            .code = std::string(code_name(Code::request_not_found)),
                            .detail = "command of saga " + command->saga.str() + ": " + reason});
    }
    item.events.push_back(std::move(incoming));
  }
  for (auto& incoming : rest) entry.events.push_back(std::move(incoming));
  absent_ += waiting_of(entry);
  if (entry.phase != Entry::Phase::absent) return;
  set_timer(entry, wait);
  if (entry.events.empty() && item.events.empty()) remove(entry);
}

void Orchestrator::refuse(const SagaCommand& command, std::string reason, WallTime now,
                          BatchItem& item) const {
  item.results.push_back({.id = command.id,
                          .saga = command.saga,
                          .applied = false,
                          .reason = std::move(reason),
                          .at = now});
}

void Orchestrator::take_decision(Entry& entry, Decision decision, BatchItem& item) {
  if (decision.result) item.results.push_back(*std::move(decision.result));
  for (auto& event : decision.audit) item.audit.push_back(std::move(event));
  if (entry.phase != Entry::Phase::present) return;
  entry.instance = std::move(decision.instance);
  entry.unsaved = entry.unsaved || (decision.changed && !decision.write);
  for (const auto& key : decision.abandoned) {
    const auto made = std::erase_if(item.calls, [&](const Call& call) { return call.key == key; });
    if (made == 0) item.abandoned.push_back(key);
  }
  for (auto& call : decision.calls) item.calls.push_back(std::move(call));
  if (!decision.write) return;
  if (!item.write) item.write.emplace();
  for (const auto& move : decision.step_moves) {
    if (SagaMetrics::counts(move)) item.moves.push_back(move);
  }
  for (auto& entry_of : decision.history) item.write->history.push_back(std::move(entry_of));
  for (const auto& emission : decision.emissions) {
    if (auto emitted = emit(entry, emission, item); !emitted.ok()) {
      roll_back(item, false);
      return park(entry, emitted.error().code, emitted.error().message);
    }
  }
}

Status Orchestrator::emit(const Entry& entry, const Emission& emission, BatchItem& item) {
  auto message = build_emission({.instance = *entry.instance,
                                 .step = entry.plan->step(emission.call.key.step).given,
                                 .epoch = shards_[entry.shard.value].epoch,
                                 .secret = parts_.reply_secret,
                                 .reply_ttl = parts_.reply_ttl,
                                 .remember_until = remember_until(*entry.instance, emission.call)},
                                emission, parts_.ids, parts_.clock);
  if (!message.ok()) return message.error();
  item.bytes += message->message->bytes();
  item.messages.push_back(std::move(message).value());
  return {};
}

void Orchestrator::finish_item(const Entry& entry, WallTime now, BatchItem& item) const {
  const auto& instance = *entry.instance;
  item.write->record = to_record(instance);
  item.write->record.person = person_wait(*entry.plan, instance);
  item.write->record.overdue_from = overdue_from(*entry.plan, instance);
  item.write->history_removed_to = history_removed_to(instance.history_number);
  item.ends = has_ended(instance.state) && instance.ended_at == now;
  item.steps_done.clear();
  item.undone.clear();
  for (std::size_t step = 0; step < instance.steps.size(); ++step) {
    const auto& of = instance.steps[step];
    if (of.ended_at == now && of.started_at)
      item.steps_done.emplace_back(step, now - *of.started_at);
    if (of.state == SagaStepState::undone && of.undone_at == now && of.undo_started_at)
      item.undone.push_back(now - *of.undo_started_at);
  }
  item.bytes += item_bytes_min + item.write->record.body.size();
}

}  // namespace sagabox::saga
