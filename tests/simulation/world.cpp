#include "simulation/world.hpp"

#include "outbox/relay.hpp"
#include "simulation/process.hpp"
#include "simulation/producer.hpp"
#include "simulation/variants.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration rest_interval = milliseconds(50);
constexpr std::uint64_t events_between_bounds = 4;
constexpr std::uint64_t events_max = 5'000'000;

}  // namespace

World::World(const Settings& settings)
    : settings_(settings),
      random_(seeded_random(settings.seed)),
      table_(TableName::parse(settings.options.table).value()),
      database_clock_(*this),
      script_(settings_),
      ledger_(
          settings_, statistics_, [this](std::string text) { violate(std::move(text)); },
          [this] { return database_now(); }),
      now_(std::chrono::hours(1)),
      read_to_(settings.shards),
      timeline_{} {
  store_ = std::make_unique<memory::MemoryStore>(
      memory::Options{.late_commits = settings_.late_commits,
                      .late_window = settings_.late_window,
                      .shards = settings_.shards,
                      .clock = &database_clock_,
                      .faults = [this](memory::Operation operation) { return fault(operation); }});
  (void)store_->outbox().prepare(table_);
  timeline_ = truth().timeline;
  admin_ = admin_of(settings_.variant, store_->outbox_admin());
  control_ = control_of(settings_.variant, *store_);
  operators_ = std::make_unique<Operators>(*this);
  processes_.resize(settings_.processes);
  for (std::size_t slot = 0; slot < settings_.processes; ++slot) start_process(slot);
  for (std::size_t number = 0; number < settings_.producers; ++number) {
    const auto kind = static_cast<Producer::Kind>(below(3));
    producers_.push_back(
        std::make_unique<Producer>(*this, number, kind, below(settings_.processes)));
    producers_.back()->begin();
  }
  schedule_faults();
  after(settings_.fault_phase, 0, [this] { begin_quiet(); });
}

World::~World() {
  // Open transactions tell the relays how they ended.
  producers_.clear();
}

WallTime World::database_now() const {
  return WallTime(std::chrono::duration_cast<WallTime::duration>(
      std::chrono::hours(24 * 365 * 56) + now_.time_since_epoch() + database_ahead_));
}

void World::after(Duration delay, std::uint64_t process, std::function<void()> task) {
  std::uint32_t place = 0;
  if (free_tasks_.empty()) {
    place = static_cast<std::uint32_t>(tasks_.size());
    tasks_.emplace_back();
  } else {
    place = free_tasks_.back();
    free_tasks_.pop_back();
  }
  tasks_[place] = {process, std::move(task)};
  queue_.push({now_ + delay, random_->next(), ++order_, place});
}

Duration World::up_to(Duration longest) {
  return Duration(
      static_cast<Duration::rep>(below(static_cast<std::uint64_t>(longest.count()) + 1)));
}

bool World::chance(std::uint32_t in_ten_thousand) { return below(10'000) < in_ten_thousand; }

Duration World::call_time() {
  if (quiet_) return up_to(std::chrono::microseconds(500));
  if (chance(100)) return up_to(settings_.call_time_max * 20);
  return up_to(settings_.call_time_max);
}

void World::violate(std::string text) {
  if (!violation_) violation_ = std::move(text);
  over_ = true;
}

Process* World::find(std::uint64_t process) {
  for (auto& candidate : processes_) {
    if (candidate && candidate->id() == process) return candidate.get();
  }
  return nullptr;
}

bool World::happen() {
  if (queue_.empty()) return false;
  const auto due = queue_.top();
  queue_.pop();
  auto task = std::exchange(tasks_[due.task], {});
  free_tasks_.push_back(due.task);
  now_ = std::max(now_, due.at);
  Process* process = nullptr;
  if (task.process != 0) {
    process = find(task.process);
    if (process == nullptr) return true;
    if (process->paused_until > now_) {
      after(process->paused_until - now_, task.process, std::move(task.work));
      return true;
    }
  }
  task.work();
  if (process != nullptr && events_ % events_between_bounds == 0) process->check_bounds();
  for (const auto& doomed : std::exchange(doomed_, {})) end(doomed.process, doomed.killer);
  return true;
}

Report World::run() {
  while (!over_ && happen()) {
    if (++events_ > events_max) violate("the run does not come to an end");
  }
  if (!violation_) check_end();
  return {.seed = settings_.seed,
          .violation = violation_,
          .statistics = statistics_,
          .trace_tail = violation_ ? trace_.tail() : std::string(),
          .trace_hash = trace_.hash(),
          .events = events_};
}

std::unordered_map<std::uint64_t, World::Where> World::rows() {
  std::unordered_map<std::uint64_t, Where> rows;
  for (const auto& row : store_->inspect(table_)) {
    if (const auto number = Ledger::number_of(row.row.id)) {
      rows[*number] = {row.row.sequence, row.row.shard, row.state};
    }
  }
  return rows;
}

spi::Census World::truth() {
  auto census = muted([&] { return store_->ownership().census(outbox::Relay::scope_of(table_)); });
  // A fail-over may go back to before anybody joined.
  auto& shards = census->shards;
  for (auto shard = shards.size(); shard < settings_.shards; ++shard) {
    shards.push_back({.shard = Shard{static_cast<std::uint16_t>(shard)}, .owner = {}});
  }
  return std::move(census).value();
}

void World::start_process(std::size_t slot) {
  processes_[slot] = std::make_unique<Process>(*this, slot, ++last_process_);
  trace(What::process_started, last_process_, slot);
  processes_[slot]->begin();
}

void World::crash(std::uint64_t process, std::optional<std::uint64_t> killer) {
  doomed_.push_back({process, killer});
}

void World::retire(std::uint64_t process) {
  statistics_.count(Event::graceful_stop);
  trace(What::process_retired, process);
  retired_ = process;
  doomed_.push_back({process, std::nullopt});
}

void World::end(std::uint64_t id, std::optional<std::uint64_t> killer) {
  auto* process = find(id);
  if (process == nullptr) return;
  const auto slot = process->slot();
  if (retired_ != id) {
    trace(killer ? What::process_killed : What::process_crashed, id, killer.value_or(0));
    statistics_.count(killer ? Event::killed_by_message : Event::crash);
    statistics_.count(Event::crash_during_handler, process->handler_runs() ? 1 : 0);
    statistics_.count(Event::crash_during_settle, process->settle_runs() ? 1 : 0);
  }
  const auto kills = killer ? ledger_.at(*killer).kills : 0;
  for (auto& producer : producers_) producer->home_died(slot);
  ledger_.process_gone(id, killer);
  if (killer && ledger_.at(*killer).kills > kills) {
    statistics_.count(Event::killed_by_message_cautious);
  }
  processes_[slot].reset();
  after(quiet_ ? milliseconds(20) : up_to(milliseconds(500)), 0, [this, slot] {
    if (!processes_[slot]) start_process(slot);
  });
}

bool World::wants_more_messages() const {
  const auto written = ledger_.records().size();
  return quiet_ ? stays_closed_ && written < messages_beside_max_
                : written < settings_.messages_max;
}

void World::read_up_to(Shard shard, Sequence sequence) {
  read_to_[shard.value] = std::max(read_to_[shard.value], sequence);
}

void World::begin_quiet() {
  trace(What::quiet, 0);
  quiet_ = true;
  outage_until_ = {};
  gate_.open_all();
  operators_->leave();
  stays_closed_ = settings_.stays_closed;
  if (stays_closed_) {
    statistics_.count(Event::class_stays_closed);
    trace(What::class_closed, 0, *stays_closed_);
    gate_.close("t" + std::to_string(*stays_closed_), now_);
    messages_beside_max_ = ledger_.records().size() + settings_.messages_beside;
    for (auto& producer : producers_) producer->write_more();
  }
  reopen_all();
  quiet_until_ = now_ + settings_.quiet_phase;
  after(rest_interval, 0, [this] { look_for_rest(); });
}

void World::reopen_all() {
  for (auto& process : processes_) {
    if (process) after(Duration{}, process->id(), [p = process.get()] { p->reopen(); });
  }
}

void World::look_for_rest() {
  std::string why;
  if (stays_closed_) {
    if (others_settled(why)) open_last_class();
  } else if (at_rest(why)) {
    over_ = true;
    return;
  }
  if (now_ >= quiet_until_) {
    const auto rule =
        stays_closed_ ? Event::closed_class_delays_no_other : Event::everything_settled;
    return violate(std::string(name_of(rule)) + ": " + why);
  }
  after(rest_interval, 0, [this] { look_for_rest(); });
}

bool World::others_settled(std::string& why) {
  if (wants_more_messages()) why = "messages are still written";
  if (wants_more_messages() || !producers_rest(why)) return false;
  const auto pending = ledger_.pending_beside(*stays_closed_);
  why = "while topic " + std::to_string(*stays_closed_) + " is closed, these are still pending:";
  for (const auto* record : pending) why += "\n  " + describe(*record);
  return pending.empty();
}

void World::open_last_class() {
  statistics_.count(Event::closed_class_delays_no_other);
  trace(What::class_opened, 0, *stays_closed_);
  stays_closed_.reset();
  gate_.open_all();
  reopen_all();
  quiet_until_ = now_ + settings_.quiet_phase;
}

bool World::producers_rest(std::string& why) const {
  for (const auto& producer : producers_) {
    if (producer->resting()) continue;
    why = "a producer has not ended";
    return false;
  }
  return true;
}

bool World::at_rest(std::string& why) {
  if (!producers_rest(why)) return false;
  if (const auto stats = store_->outbox_admin().stats(table_).value(); stats.pending > 0) {
    std::uint64_t refused = 0;
    why = std::to_string(stats.pending) + " messages are still pending:";
    for (const auto& record : ledger_.records()) {
      if (record.state != Record::State::pending) continue;
      why += "\n  " + describe(record);
      refused += record.refusal == Refusal::every_one ? 1 : 0;
    }
    // The store lets those never end. All others must.
    if (stats.pending > refused) return false;
  }
  if (!operators_->jobs_rest(why)) return false;
  for (const auto& process : processes_) {
    if (!process) {
      why = "a process is not there";
      return false;
    }
    if (auto left = process->leftovers(); !left.empty()) {
      why = std::string(name_of(Event::nothing_left_in_memory)) + ": " + left;
      return false;
    }
  }
  return true;
}

void World::check_end() {
  statistics_.count(Event::everything_settled);
  statistics_.count(Event::nothing_left_in_memory, processes_.size());
  ledger_.check_end(store_->inspect(table_));
  operators_->check_audit();
  check_counts();
  statistics_.count(Event::business_rows_match);
  if (store_->count("orders") != business_.size()) {
    violate(std::string(name_of(Event::business_rows_match)) + ": " +
            std::to_string(store_->count("orders")) + " in the store, " +
            std::to_string(business_.size()) + " were committed");
  }
}

void World::check_counts() {
  statistics_.count(Event::counts_add_up);
  const auto stats = store_->outbox_admin().stats(table_).value();
  std::uint64_t there = 0;
  const bool retained = settings_.options.retention > Duration{};
  for (const auto& record : ledger_.records()) {
    there += record.state == Record::State::dead || record.state == Record::State::quarantined ||
             record.state == Record::State::pending ||
             (retained && record.state == Record::State::done);
  }
  if (stats.done + stats.pending + stats.dead + stats.quarantined == there) return;
  violate(std::string(name_of(Event::counts_add_up)) + ": " + std::to_string(there) +
          " messages are there, the store counts " + std::to_string(stats.done) + " done, " +
          std::to_string(stats.pending) + " pending, " + std::to_string(stats.dead) + " dead, " +
          std::to_string(stats.quarantined) + " quarantined");
}

Report simulate(std::uint64_t seed, Variant variant) {
  return World(draw_settings(seed, variant)).run();
}

}  // namespace sagabox::simulation
