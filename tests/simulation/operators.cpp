#include "simulation/operators.hpp"

#include "simulation/world.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace sagabox::simulation {
namespace {

using memory::Fault;
using spi::Move;
using std::chrono::milliseconds;
using State = Record::State;

std::optional<MessageState> state_of(const Record& record, bool retained) {
  switch (record.state) {
    case State::pending:
      return MessageState::pending;
    case State::done:
      return retained ? std::optional(MessageState::done) : std::nullopt;
    case State::dead:
      return MessageState::dead;
    case State::quarantined:
      return MessageState::quarantined;
    case State::unwritten:
    case State::lost:
    case State::purged:
      return std::nullopt;
  }
  return std::nullopt;
}

bool allows(Move move, std::optional<MessageState> state) {
  if (!state) return false;
  switch (move) {
    case Move::replay:
      return *state != MessageState::pending;
    case Move::quarantine:
      return *state == MessageState::pending || *state == MessageState::dead;
    case Move::release:
      return *state == MessageState::quarantined;
  }
  return false;
}

/// What a row looks like after the act.
bool shows(const World::Where& row, Move move) {
  using Is = memory::Inspected::State;
  switch (move) {
    case Move::replay:
      return row.state == Is::pending;
    case Move::quarantine:
      return row.state == Is::quarantined;
    case Move::release:
      return row.state == Is::waiting;
  }
  return false;
}

bool retained(const World& world) { return world.settings().options.retention > Duration{}; }

}  // namespace

void Operators::rule(Event event, bool kept, const std::string& text) {
  world_.statistics().count(event);
  if (!kept) world_.violate(std::string(name_of(event)) + ": " + text);
}

bool Operators::happened() const {
  const auto fault = world_.last_fault();
  return fault == Fault::none || fault == Fault::lost_after;
}

void Operators::act() {
  switch (world_.below(8)) {
    case 0:
    case 1:
      return move(Move::replay);
    case 2:
      return move(Move::quarantine);
    case 3:
      return move(Move::release);
    case 4:
      return turn_pause();
    case 5:
      return purge();
    case 6:
      return start_job();
    default:
      return turn_job();
  }
}

std::vector<std::uint64_t> Operators::choose(Move move) {
  std::vector<std::uint64_t> numbers;
  const auto& records = world_.ledger().records();
  if (records.empty()) return numbers;
  for (int tries = 0; tries < 30 && numbers.size() < 3; ++tries) {
    const auto number = world_.below(records.size());
    const bool fits = allows(move, state_of(records[number], retained(world_)));
    // Now and then something that cannot be moved.
    if (!fits && !world_.chance(300)) continue;
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

void Operators::move(Move move) {
  const auto numbers = choose(move);
  if (numbers.empty()) return;
  std::vector<MessageId> ids;
  for (const auto number : numbers) ids.push_back(MessageId::parse(Ledger::id_of(number)).value());
  const auto reply = world_.admin().move(
      {.table = world_.table(), .move = move, .ids = ids, .actor = "operator", .note = "because"});
  for (const auto number : numbers) {
    world_.trace(What::operator_moved, 0, static_cast<std::uint64_t>(move), number);
  }
  if (happened() && (reply.ok() || world_.last_fault() == Fault::lost_after)) {
    moved(move, numbers, reply);
  }
}

void Operators::moved(Move move, const std::vector<std::uint64_t>& numbers,
                      const Result<spi::MoveReply>& reply) {
  const auto rows = world_.rows();
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    auto& record = world_.ledger().at(numbers[at]);
    const auto was = state_of(record, retained(world_));
    const bool expected = allows(move, was);
    if (reply.ok()) {
      rule(Event::move_as_expected,
           reply->items[at].moved == expected && reply->items[at].was == was,
           "an operator's act on " + describe(record));
    }
    if (!expected) continue;
    const auto row = rows.find(record.number);
    rule(Event::move_as_expected, row != rows.end(), "gone after an act: " + describe(record));
    // A call that was lost may have been refused as well.
    if (row == rows.end() || (!reply.ok() && !shows(row->second, move))) continue;
    rule(Event::move_as_expected, shows(row->second, move), "not moved: " + describe(record));
    switch (move) {
      case Move::replay:
        world_.statistics().count(Event::replayed);
        world_.ledger().replayed(record.number, row->second.sequence, row->second.shard);
        break;
      case Move::quarantine:
        world_.statistics().count(Event::quarantined);
        world_.ledger().quarantined(record.number);
        break;
      case Move::release:
        world_.statistics().count(Event::released);
        world_.ledger().released(record.number);
        break;
    }
  }
}

void Operators::turn_pause() {
  const auto which = world_.below(topic_count + 1);
  const auto topic = which == topic_count ? std::string() : "t" + std::to_string(which);
  const bool pause = !paused_.contains(topic);
  const auto reply = world_.control().set_pause(
      {.table = world_.table(), .topic = topic, .paused = pause, .actor = "operator"});
  world_.trace(What::operator_paused, 0, which, pause ? 1 : 0);
  if (!happened()) return;
  if (reply.ok()) rule(Event::pause_as_expected, *reply, "a pause that was there already");
  if (pause) {
    world_.statistics().count(topic.empty() ? Event::table_paused : Event::topic_paused);
    paused_.insert(topic);
  } else {
    paused_.erase(topic);
  }
}

void Operators::purge() {
  const auto state = world_.chance(7'000) ? MessageState::done : MessageState::dead;
  const auto older_than = world_.up_to(milliseconds(3'000));
  const auto reply =
      world_.admin().purge({.table = world_.table(),
                            .state = state,
                            .older_than = older_than,
                            .rows_max = static_cast<std::uint32_t>(1 + world_.below(20)),
                            .actor = "operator"});
  world_.trace(What::operator_purged, 0, static_cast<std::uint64_t>(state),
               reply.ok() ? reply->rows : 0);
  purged(state, older_than);
}

void Operators::purged(MessageState state, Duration older_than) {
  if (!happened()) return;
  const auto rows = world_.rows();
  const auto now = world_.database_now();
  for (const auto& record : world_.ledger().records()) {
    const auto was = state_of(record, retained(world_));
    if (!was || rows.contains(record.number)) continue;
    rule(Event::purge_took_what_was_asked, *was == state && record.ended_at + older_than <= now,
         "purge of " + std::string(state_name(state)) + " took " + describe(record));
    world_.statistics().count(Event::purged);
    world_.ledger().purged(record.number);
  }
}

std::vector<ReplayJob> Operators::jobs() {
  return world_.muted([&] { return world_.control().jobs(world_.table()).value(); });
}

void Operators::start_job() {
  const auto from = world_.chance(5'000)   ? MessageState::dead
                    : world_.chance(5'000) ? MessageState::quarantined
                                           : MessageState::done;
  MessageFilter filter;
  if (world_.chance(5'000)) filter.topic = "t" + std::to_string(world_.below(topic_count));
  const auto topic = filter.topic.value_or(std::string());
  (void)world_.control().create_job({.table = world_.table(),
                                     .from = from,
                                     .filter = filter,
                                     .rate_max = world_.chance(5'000) ? 0U : 50U,
                                     .actor = "operator"});
  world_.trace(What::operator_job, 0, static_cast<std::uint64_t>(from));
  if (happened()) watch_new_jobs(from, topic);
}

void Operators::watch_new_jobs(MessageState from, const std::string& topic) {
  for (const auto& job : jobs()) {
    if (tracked_.contains(job.id.value) || job.state != ReplayJob::State::running) continue;
    world_.statistics().count(Event::job_started);
    auto& tracked = tracked_[job.id.value];
    for (const auto& record : world_.ledger().records()) {
      if (state_of(record, retained(world_)) != from) continue;
      // What cannot be decoded shows no topic, and what nobody listens to has another.
      const bool named = !record.corrupted && record.temper != Temper::unroutable;
      if (!topic.empty() && !(named && topic == "t" + std::to_string(record.topic))) continue;
      tracked.expected.emplace(record.number, record.changes);
    }
    rule(Event::job_counts, job.matched == tracked.expected.size(),
         "job " + std::to_string(job.id.value) + " matched " + std::to_string(job.matched) +
             ", there are " + std::to_string(tracked.expected.size()));
  }
}

void Operators::turn_job() {
  const auto all = jobs();
  if (all.empty()) return;
  const auto& job = all[world_.below(all.size())];
  const bool runs = job.state == ReplayJob::State::running;
  (void)world_.control().change_job(
      {.table = world_.table(),
       .job = job.id,
       .to = runs ? ReplayJob::State::stopped : ReplayJob::State::running,
       .actor = "operator"});
  if (!happened()) return;
  if (runs) world_.statistics().count(Event::job_stopped);
  if (job.state == ReplayJob::State::stopped || job.state == ReplayJob::State::failed) {
    world_.statistics().count(Event::job_resumed);
  }
}

void Operators::advanced(ReplayJobId id) {
  const auto all = jobs();
  const auto job = std::find_if(all.begin(), all.end(), [&](const auto& j) { return j.id == id; });
  if (job == all.end()) return;
  auto& tracked = tracked_[id.value];
  const auto rows = world_.rows();
  for (const auto& record : world_.ledger().records()) {
    const auto row = rows.find(record.number);
    if (state_of(record, retained(world_)) != job->from || row == rows.end() ||
        row->second.sequence == record.sequence) {
      continue;
    }
    ++tracked.replayed;
    world_.statistics().count(Event::replayed_by_job);
    world_.ledger().replayed(record.number, row->second.sequence, row->second.shard);
  }
  std::erase_if(tracked.expected, [&](const auto& expected) {
    return world_.ledger().at(expected.first).changes != expected.second;
  });
  if (!tracked.followed) return;
  const auto text = "job " + std::to_string(id.value);
  rule(Event::job_counts, job->replayed == tracked.replayed,
       text + " says " + std::to_string(job->replayed) + " replayed, it was " +
           std::to_string(tracked.replayed));
  if (job->state != ReplayJob::State::finished) return;
  rule(Event::job_replays_all, tracked.expected.empty(),
       text + " is finished and left " + std::to_string(tracked.expected.size()));
  tracked.followed = false;
}

bool Operators::jobs_rest(std::string& why) {
  for (const auto& job : jobs()) {
    if (job.state != ReplayJob::State::running) continue;
    why = "replay job " + std::to_string(job.id.value) + " still runs";
    return false;
  }
  return true;
}

void Operators::leave() {
  for (const auto& topic : std::set(paused_)) {
    rule(
        Event::pause_as_expected,
        world_.control().set_pause({.table = world_.table(), .topic = topic, .paused = false}).ok(),
        "could not be resumed");
  }
  paused_.clear();
}

void Operators::fail_over() {
  paused_.clear();
  const auto controls =
      world_.muted([&] { return world_.control().controls(world_.table()).value(); });
  for (const auto& pause : controls.pauses) paused_.insert(pause.topic);
  // Jobs that came back in an older state are not followed any more.
  tracked_.clear();
  for (const auto& job : jobs()) tracked_[job.id.value].followed = false;
}

void Operators::check_audit() {
  auto& audit = world_.store().audit();
  AuditVerifier verifier;
  std::unordered_map<std::string, std::uint64_t> deaths;
  for (;;) {
    const auto page = audit.read(verifier.head().number, 500).value();
    if (page.empty()) break;
    for (const auto& entry : page) {
      const auto problem = verifier.next(entry);
      rule(Event::audit_holds, problem.empty(), problem);
      if (!problem.empty()) return;
      if (entry.event.kind == AuditKind::dead_letter) ++deaths[entry.event.message_id];
    }
  }
  const auto problem = verifier.end(audit.head().value());
  rule(Event::audit_holds, problem.empty(), problem);
  for (const auto& record : world_.ledger().records()) {
    if (record.state != State::dead) continue;
    rule(Event::death_is_audited, deaths[Ledger::id_of(record.number)] > 0, describe(record));
  }
}

}  // namespace sagabox::simulation
