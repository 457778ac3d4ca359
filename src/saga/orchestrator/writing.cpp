#include "saga/orchestrator/orchestrator.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::saga {
namespace {

constexpr Duration write_retry_min = std::chrono::milliseconds(10);
constexpr Duration write_retry_max = std::chrono::seconds(1);
/// A batch that conflicts so often is tried in parts: one of its sagas may be the reason.
constexpr std::uint32_t failures_max = 5;

/// The store was not reached, or says the opposite another time.
bool may_pass(Code code) {
  return code == Code::storage_unavailable || code == Code::storage_in_doubt ||
         code == Code::storage_conflict || code == Code::tx_timeout || code == Code::server_busy;
}

}  // namespace

Result<spi::SagaBatchReply> Orchestrator::perform(const WriteStep& step) const {
  return parts_.store.write({.fencing = {scope_, step.owner, step.fences},
                             .definition = parts_.definition,
                             .writes = step.writes,
                             .taken = step.taken,
                             .results = step.results,
                             .messages = step.messages,
                             .audit = step.audit});
}

WriteStep Orchestrator::still_ours(WriteStep step) {
  return step.take([&](const BatchItem& item) { return is_ours(item.shard, item.tenure); });
}

std::optional<WriteStep> Orchestrator::plan_again() {
  while (!again_.empty()) {
    auto step = still_ours(std::move(again_.front()));
    again_.pop_front();
    if (!step.items.empty()) {
      fresh_next_ = write_failures_ == 0;
      return step;
    }
  }
  return std::nullopt;
}

void Orchestrator::apply(WriteStep step, Result<spi::SagaBatchReply> reply, BootTime now) {
  const std::scoped_lock lock(mutex_);
  if (!reply.ok()) return failed(std::move(step), reply.error(), now);
  write_failures_ = 0;
  if (reply->timeline != timeline_) {
    // The worker starts over and gives up everything: what was written is read again.
    if (auto* const worker = worker_.load()) worker->timeline_changed(reply->timeline);
  }
  if (reply->written()) {
    ++totals_.batches;
    figures_.batches.increment();
    figures_.batch_sagas.observe(static_cast<double>(step.items.size()));
    std::set<TableName> tables;
    for (const auto& message : step.messages) tables.insert(message.table);
    for (auto& item : step.items) committed(item);
    for (const auto& table : tables) parts_.wrote_messages(table);
    return;
  }
  for (std::size_t fence = 0; fence < reply->held.size(); ++fence) {
    if (!reply->held[fence]) fence_broken(step.fences[fence]);
  }
  for (std::size_t at = 0; at < reply->conflicting.size(); ++at) {
    const auto& id = reply->conflicting[at];
    const auto reason = at < reply->reasons.size() ? reply->reasons[at] : std::string();
    auto part = step.take([&](const BatchItem& item) { return item.saga == id; });
    for (auto& item : part.items) conflicted(item, reason);
  }
  auto rest = still_ours(std::move(step));
  if (!rest.items.empty()) again_.push_front(std::move(rest));
}

void Orchestrator::committed(BatchItem& item) {
  if (!is_ours(item.shard, item.tenure)) return;
  for (const auto& event : item.events) {
    if (event.place) reader_.settled(*event.place);
  }
  for (auto& result : item.results) to_tell_.push_back(std::move(result));
  if (item.starts) {
    ++totals_.started;
    figures_.started.increment();
  }
  auto& entry = *find(item.saga);
  entry.in_batch = false;
  entry.conflict.clear();
  entry.reloaded = false;
  const auto wall = parts_.clock.wall_now();
  if (item.write) {
    entry.unsaved = false;
    ++entry.instance->version;
    for (const auto& [step, took] : item.steps_done) {
      figures_.step_done(entry.plan->step(step).given.name,
                         std::chrono::duration<double>(took).count());
    }
    for (const auto& move : item.moves) figures_.moved(*entry.plan, move);
    for (const auto took : item.undone) {
      figures_.undone(std::chrono::duration<double>(took).count());
    }
    if (item.replayed) figures_.replayed();
    if (item.ends) {
      const auto state = entry.instance->state;
      totals_.completed += state == SagaState::completed ? 1 : 0;
      totals_.cancelled += state == SagaState::cancelled ? 1 : 0;
      totals_.failed += state == SagaState::failed ? 1 : 0;
      figures_.ended(state,
                     std::chrono::duration<double>(wall - entry.instance->started_at).count());
    }
  }
  for (auto& call : item.calls) order_call(entry, std::move(call));
  for (const auto& key : item.abandoned) abandon_call(entry, key);
  if (entry.phase == Entry::Phase::absent) {
    return entry.events.empty() ? remove(entry) : mark_ready(entry);
  }
  settle_down(entry, wall);
}

void Orchestrator::roll_back(BatchItem& item, bool reload) {
  auto* const entry = find(item.saga);
  if (entry == nullptr || entry->tenure != item.tenure) return;
  entry->in_batch = false;
  absent_ -= waiting_of(*entry);
  // Taking over is decided anew when it is loaded.
  std::erase_if(item.events, [](const Incoming& event) {
    return std::holds_alternative<TakenOver>(event.event);
  });
  for (auto at = item.events.rbegin(); at != item.events.rend(); ++at) {
    entry->events.push_front(std::move(*at));
  }
  item.events.clear();
  absent_ += waiting_of(*entry);
  if (reload) {
    want(*entry);
    parts_.wake_reader();
  }
}

void Orchestrator::conflicted(BatchItem& item, const std::string& reason) {
  if (!is_ours(item.shard, item.tenure)) return;
  auto& entry = *find(item.saga);
  // The same after it was read again: it is not the version. In the way of a start is only the
  // isolation key, unless the saga is there by now.
  entry.reloaded = !item.starts && !entry.conflict.empty();
  entry.conflict = reason.empty() ? "another active saga has its isolation key" : reason;
  roll_back(item, true);
}

void Orchestrator::fence_broken(const spi::Fence& fence) {
  auto& owned = shards_[fence.shard.value];
  // It may have been taken again meanwhile, at another epoch.
  if (!owned.ours || owned.epoch != fence.epoch) return;
  forget_shard(fence.shard);
  lost_.push_back(fence);
}

void Orchestrator::failed(WriteStep step, const Error& error, BootTime now) {
  figures_.batches_failed.increment();
  errors_.count(error.code);
  ++step.failures;
  const bool conflicts = error.code == Code::storage_conflict && step.failures >= failures_max;
  if (may_pass(error.code) && !conflicts) {
    write_retry_at_ =
        now + std::min(write_retry_max, write_retry_min * (1 << std::min(write_failures_, 7U)));
    ++write_failures_;
    parts_.log.log(LogLevel::warning, "write of sagas failed, will be sent again",
                   {{"definition", std::string_view(parts_.definition)},
                    {"sagas", std::uint64_t{step.items.size()}},
                    {"code", code_name(error.code)},
                    {"error", std::string_view(error.message)}});
    again_.push_front(std::move(step));
    return;
  }
  write_failures_ = 0;
  if (step.items.size() == 1) return refused(std::move(step.items.front()), error);
  std::size_t number = 0;
  const auto half = step.items.size() / 2;
  auto first = step.take([&](const BatchItem&) { return number++ < half; });
  first.failures = 0;
  step.failures = 0;
  again_.push_back(std::move(first));
  again_.push_back(std::move(step));
}

void Orchestrator::refused(BatchItem item, const Error& error) {
  if (!is_ours(item.shard, item.tenure)) return;
  auto& entry = *find(item.saga);
  parts_.log.log(LogLevel::error, "the store refuses what became of a saga",
                 {{"definition", std::string_view(parts_.definition)},
                  {"saga", item.saga.view()},
                  {"code", code_name(error.code)},
                  {"error", std::string_view(error.message)}});
  if (item.starts) {
    // Tells the caller instead, if the store takes that.
    entry.conflict = error.text();
    entry.reloaded = false;
    return roll_back(item, true);
  }
  roll_back(item, false);
  park(entry, error.code, "the store refuses what became of it: " + error.message);
}

void Orchestrator::found(const Entry& entry, Code code, const std::string& text) {
  if (!findings_.add(entry.id, code, text, parts_.clock.wall_now())) return;
  found_in_.insert_or_assign(entry.id, entry.shard);
  parts_.log.log(LogLevel::warning, "a saga does not go on in this process",
                 {{"definition", std::string_view(parts_.definition)},
                  {"saga", entry.id.view()},
                  {"code", code_name(code)},
                  {"error", std::string_view(text)}});
}

void Orchestrator::park(Entry& entry, Code code, const std::string& text) {
  const auto now = parts_.clock.wall_now();
  absent_ -= waiting_of(entry);
  entry.phase = Entry::Phase::parked;
  entry.instance.reset();
  found(entry, code, text);
  set_timer(entry, now + std::chrono::floor<WallTime::duration>(options_.parked_interval));
}

BootTime Orchestrator::next_write(BootTime now) const {
  const std::scoped_lock lock(mutex_);
  {
    const std::scoped_lock ended(ended_mutex_);
    if (!ended_.empty()) return now;
  }
  if (!live(now)) return now + options_.poll_interval;
  if (!ready_.empty() || !again_.empty() || !outgoing_.empty()) {
    return std::max(now, write_retry_at_);
  }
  if (timers_.empty()) return BootTime::max();
  const auto wait = timers_.begin()->first - parts_.clock.wall_now();
  return now + std::max(Duration{}, Duration(wait));
}

}  // namespace sagabox::saga
