#include "simulation/process.hpp"
#include "simulation/world.hpp"

#include <utility>

namespace sagabox::simulation {
namespace {

using memory::Fault;
using std::chrono::duration_cast;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;

std::uint64_t micros(Duration duration) {
  return static_cast<std::uint64_t>(duration_cast<microseconds>(duration).count());
}

}  // namespace

Fault World::fault(memory::Operation) {
  if (muted_) return Fault::none;
  last_fault_ = Fault::none;
  if (quiet_) return last_fault_;
  if (now_ < outage_until_) {
    last_fault_ = Fault::refused;
  } else if (chance(settings_.call_faults)) {
    last_fault_ = static_cast<Fault>(1 + below(3));
  }
  switch (last_fault_) {
    case Fault::refused:
      statistics_.count(Event::refused);
      break;
    case Fault::lost_before:
      statistics_.count(Event::lost_before);
      break;
    case Fault::lost_after:
      statistics_.count(Event::lost_after);
      break;
    case Fault::none:
      break;
  }
  return last_fault_;
}

void World::again(Duration every, std::function<void()> what) {
  if (every == Duration{}) return;
  after(up_to(2 * every), 0, [this, every, what = std::move(what)] {
    if (quiet_) return;
    what();
    again(every, what);
  });
}

void World::schedule_faults() {
  again(settings_.crash_every, [this] { crash_one(); });
  again(settings_.pause_every, [this] { pause_one(); });
  again(settings_.stop_every, [this] { stop_one(); });
  again(settings_.jump_every, [this] { jump_one(); });
  again(settings_.outage_every, [this] { outage(); });
  again(settings_.fail_over_every / 3, [this] { checkpoint(); });
  again(settings_.fail_over_every, [this] { fail_over(); });
  again(settings_.gate_every, [this] { turn_gate(); });
  again(settings_.operator_every, [this] { operators_->act(); });
  if (settings_.corruptions > 0) again(milliseconds(500), [this] { corrupt_one(); });
}

Process* World::any_process() { return processes_[below(processes_.size())].get(); }

void World::crash_one() {
  if (auto* process = any_process()) crash(process->id());
}

void World::pause_one() {
  auto* process = any_process();
  if (process == nullptr || process->paused_until > now_) return;
  const auto lease = settings_.options.lease;
  const auto pause = chance(5'000) ? up_to(lease / 2) : lease / 2 + up_to(2 * lease);
  process->paused_until = now_ + pause;
  statistics_.count(Event::pause);
  if (pause > lease) statistics_.count(Event::pause_past_lease);
  trace(What::paused, process->id(), micros(pause));
}

void World::stop_one() {
  auto* process = any_process();
  if (process != nullptr && !process->stopping()) process->begin_stop();
}

void World::jump_one() {
  if (settings_.database_jumps && chance(5'000)) {
    // Forwards, leases end early; backwards, they last longer.
    database_ahead_ += chance(5'000) ? up_to(milliseconds(3'000)) : -up_to(milliseconds(1'000));
    statistics_.count(Event::database_clock_jump);
    return trace(What::clock_jumped, 0);
  }
  auto* process = any_process();
  if (process == nullptr) return;
  const auto by = chance(5'000) ? up_to(hours(2)) : up_to(milliseconds(500));
  process->clock().jump(chance(5'000) ? by : -by);
  statistics_.count(Event::wall_clock_jump);
  trace(What::clock_jumped, process->id());
}

void World::outage() {
  const auto lasts = up_to(milliseconds(1'500));
  outage_until_ = now_ + lasts;
  statistics_.count(Event::database_outage);
  trace(What::outage, 0, micros(lasts));
}

void World::checkpoint() {
  store_->checkpoint();
  ledger_.checkpoint();
  business_saved_ = business_;
  checkpointed_ = true;
  trace(What::checkpoint, 0);
}

void World::fail_over() {
  if (!checkpointed_ || !store_->fail_over()) return;
  ledger_.failed_over();
  business_ = business_saved_;
  timeline_ = truth().timeline;
  operators_->fail_over();
  statistics_.count(Event::fail_over);
  trace(What::failed_over, 0, timeline_.value);
}

void World::turn_gate() {
  const std::uint64_t number = below(2) * 2;
  const auto topic = "t" + std::to_string(number);
  if (!gate_.closed_since(topic)) {
    gate_.close(topic, now_);
    statistics_.count(Event::class_closed);
    return trace(What::class_closed, 0, number);
  }
  gate_.open(topic);
  trace(What::class_opened, 0, number);
  for (auto& process : processes_) {
    if (!process) continue;
    after(up_to(milliseconds(20)), process->id(), [p = process.get()] { p->reopen(); });
  }
}

void World::corrupt_one() {
  for (const auto& record : ledger_.records()) {
    if (record.state != Record::State::pending || record.corrupted ||
        record.inserted < now_ - milliseconds(300) || !chance(settings_.corruptions * 10)) {
      continue;
    }
    if (!store_->corrupt(table_, record.sequence).ok()) continue;
    ledger_.corrupted(record.number);
    statistics_.count(Event::corrupted_row);
    return trace(What::corrupted, 0, record.number);
  }
}

}  // namespace sagabox::simulation
