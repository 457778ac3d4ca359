#include "runtime/runtime.hpp"

#include "core/process_name.hpp"
#include "ownership/worker_id.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::runtime {
namespace {

using std::chrono::milliseconds;

constexpr Duration lease_wait_min = milliseconds(1);
constexpr Duration lease_wait_max = milliseconds(100);
/// How often an engine that is being removed checks the progress of the worker.
constexpr Duration removal_interval = milliseconds(5);
/// The minimum interval of checks of the stages while the worker is busy.
constexpr Duration stages_interval = milliseconds(20);

}  // namespace

Runtime::Runtime(const RuntimeParts& parts, Duration lease)
    : parts_(parts),
      ids_(*parts.clock, *parts.random),
      worker_({.store = *parts.ownership,
               .ids = ids_,
               .clock = *parts.clock,
               .metrics = *parts.metrics,
               .log = *parts.log,
               .name = own_process_name(ownership::worker_name_max)},
              {}, ownership::WorkerOptions::for_lease(lease)),
      periodic_(*parts.clock) {}

Runtime::~Runtime() {
  ending_.store(true);
  wake();
  if (lease_thread_.joinable()) lease_thread_.join();
}

std::optional<Runtime::EngineId> Runtime::add(const Engine& engine) {
  const std::scoped_lock lock(mutex_);
  const bool taken = std::ranges::any_of(engine.scopes, [&](const EngineScope& scope) {
    return worker_.has(scope.options.scope) || is_taken(scope.options.scope);
  });
  if (closed_ || taken) return std::nullopt;
  if (engine.attach) engine.attach(worker_);
  for (const auto& scope : engine.scopes) worker_.add(scope.options);
  const auto id = next_++;
  engines_.emplace(id, Member{.engine = engine, .hanging = {}});
  worker_.set_lease(shortest_lease());
  if (engine.work != nullptr) periodic_.add(*engine.work);
  if (!lease_thread_.joinable()) lease_thread_ = std::thread([this] { keep_lease(); });
  wake();
  return id;
}

bool Runtime::is_taken(const spi::Scope& name) const {
  return std::ranges::any_of(engines_, [&](const auto& entry) {
    const Member& member = entry.second;
    return !member.handed_over &&
           std::ranges::any_of(member.engine.scopes, [&](const EngineScope& scope) {
             return scope.options.scope == name;
           });
  });
}

void Runtime::begin_removal(EngineId id) {
  const std::scoped_lock lock(mutex_);
  auto& member = engines_.at(id);
  if (std::exchange(member.leaving, true)) return;
  for (const auto& scope : member.engine.scopes) worker_.remove(scope.options.scope);
  wake();
}

void Runtime::abandon(EngineId id) {
  const std::scoped_lock lock(mutex_);
  const auto& member = engines_.at(id);
  if (closed_) worker_.abandon_remaining();
  // After the hand-over, another engine may use the same scope names.
  if (!member.handed_over) {
    for (const auto& scope : member.engine.scopes) worker_.abandon(scope.options.scope);
  }
  wake();
}

bool Runtime::handed_over(EngineId id) {
  const std::scoped_lock lock(mutex_);
  auto& member = engines_.at(id);
  if (!member.handed_over) {
    const bool any = std::ranges::any_of(member.engine.scopes, [&](const EngineScope& scope) {
      return worker_.has(scope.options.scope);
    });
    if (any) return false;
    member.handed_over = true;
  }
  const bool last =
      std::ranges::all_of(engines_, [](const auto& entry) { return entry.second.handed_over; });
  if (!last) return true;
  if (!std::exchange(closed_, true)) {
    worker_.begin_stop();
    wake();
  }
  return worker_.stopped();
}

void Runtime::end(EngineId id) {
  begin_removal(id);
  PeriodicWork* work = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    work = engines_.at(id).engine.work;
  }
  if (work != nullptr) periodic_.remove(*work);
  if (!handed_over(id)) abandon(id);
  while (!quiet(id)) await_worker();
  {
    const std::scoped_lock lock(mutex_);
    engines_.erase(id);
    if (!engines_.empty()) return worker_.set_lease(shortest_lease());
    closed_ = true;
  }
  ending_.store(true);
  wake();
  lease_thread_.join();
  periodic_.end();
}

bool Runtime::quiet(EngineId id) const {
  const std::scoped_lock lock(mutex_);
  const auto& member = engines_.at(id);
  return member.handed_over ||
         std::ranges::all_of(member.engine.scopes, [&](const EngineScope& scope) {
           return worker_.quiet(scope.options.scope);
         });
}

void Runtime::pause(EngineId id) {
  const std::scoped_lock lock(mutex_);
  const auto& member = engines_.at(id);
  if (member.leaving) return;
  for (const auto& scope : member.engine.scopes) worker_.pause(scope.options.scope);
  wake();
}

void Runtime::resume(EngineId id) {
  const std::scoped_lock lock(mutex_);
  const auto& member = engines_.at(id);
  if (member.leaving) return;
  for (const auto& scope : member.engine.scopes) worker_.resume(scope.options.scope);
  wake();
}

bool Runtime::paused(EngineId id) const {
  const std::scoped_lock lock(mutex_);
  const auto at = engines_.find(id);
  if (at == engines_.end() || at->second.leaving) return false;
  return worker_.paused(at->second.engine.scopes.front().options.scope);
}

void Runtime::await_worker() {
  progress_.wait_for(removal_interval, [this] { return worker_.stopped(); });
}

Duration Runtime::shortest_lease() const {
  auto shortest = Duration::max();
  for (const auto& [id, member] : engines_) shortest = std::min(shortest, member.engine.lease);
  return shortest;
}

void Runtime::keep_lease() {
  auto watch_at = BootTime::min();
  while (!ending_.load()) {
    const auto now = parts_.clock->boot_now();
    if (now >= watch_at) {
      watch_stages(now);
      periodic_.relieve(now);
      watch_at = now + stages_interval;
    }
    if (worker_.step()) continue;
    if (worker_.stopped()) progress_.notify_all();
    const auto wait = worker_.next_due() - parts_.clock->boot_now();
    wakeup_.wait_for(std::clamp(wait, lease_wait_min, lease_wait_max),
                     [this] { return ending_.load(); });
  }
}

void Runtime::watch_stages(BootTime now) {
  const std::scoped_lock lock(mutex_);
  for (auto& [id, member] : engines_) {
    // An engine that is being removed hands its shards over even if a stage hangs.
    if (member.leaving) continue;
    for (const auto& scope : member.engine.scopes) {
      const bool hangs = std::ranges::any_of(scope.stages, [&](const StageWatch* stage) {
        return stage->longer_than(member.engine.lease, now);
      });
      const auto& name = scope.options.scope;
      if (hangs == member.hanging.contains(name)) continue;
      worker_.set_hanging(name, hangs);
      hangs ? (void)member.hanging.insert(name) : (void)member.hanging.erase(name);
    }
  }
}

}  // namespace sagabox::runtime
