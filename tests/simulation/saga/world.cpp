#include "simulation/saga/world.hpp"

#include "ownership/worker.hpp"
#include "saga/commands.hpp"
#include "saga/orchestrator/orchestrator.hpp"
#include "simulation/saga/variants.hpp"

#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace sagabox::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view definition_name = "travel";
constexpr std::uint16_t shards = 4;
constexpr std::size_t processes_max = 3;
constexpr std::size_t sagas_max = 40;
constexpr std::uint64_t steps_busy = 8'000;
constexpr std::uint64_t steps_quiet = 150'000;
constexpr std::size_t trace_lines = 60;

const std::vector<Participants::StepRule>& rules() {
  static const std::vector<Participants::StepRule> all{
      {.name = "flight", .group = 0},
      {.name = "hotel", .group = 1},
      {.name = "car", .group = 1},
      {.name = "pay", .group = 2, .idempotent = false},
      {.name = "confirm", .group = 3, .waits = true},
      {.name = "insure", .group = 4, .waits = true},
      {.name = "notify", .group = 5, .undoable = false},
  };
  return all;
}

/// Version 2 has a pivot at its end.
SagaDefinition definition(std::uint32_t version) {
  const RetryPolicy retry{
      .attempts_max = 3, .backoff_min = milliseconds(10), .backoff_max = milliseconds(100)};
  SagaDefinition made{.name = std::string(definition_name), .version = version};
  made.timeout = version == 1 ? Duration(seconds(20)) : Duration{};
  for (const auto& rule : rules()) {
    SagaStep step{.name = rule.name, .action = "fn:" + rule.name};
    if (rule.undoable) step.compensation = "fn:undo_" + rule.name;
    step.idempotent = rule.idempotent;
    step.attempt_timeout = milliseconds(300);
    step.retry = retry;
    if (rule.group == 1) step.tag = "room";
    if (rule.waits) {
      step.timeout = seconds(2);
    }
    if (!rule.undoable) {
      if (version == 2) {
        step.pivot = true;
      } else {
        step.compensation = "none";
      }
    }
    made.steps.push_back(std::move(step));
  }
  return made;
}

class SagaWorld;

/// One process: a worker, an orchestrator, and where their steps are.
class SagaProcess final : public saga::Caller {
 public:
  SagaProcess(SagaWorld& world, std::uint64_t id);

  /// A part of a step.
  void move(std::uint64_t which);
  void call(std::vector<saga::CallOrder> orders, saga::CallResults& results) override;
  void abandon(saga::CallTicket) override {}

  const std::uint64_t id;
  BootTime paused_until{};

 private:
  void move_worker();
  void move_reader();
  void move_writer();

  SagaWorld& world_;
  UlidSource ids_;
  WatchedSagaStore store_;
  std::atomic<std::uint64_t> tickets_;
  saga::Orchestrator orchestrator_;
  ownership::Worker worker_;
  std::optional<ownership::Request> asked_;
  std::optional<ownership::Reply> answered_;
  std::optional<saga::ReadStep> reading_;
  std::optional<saga::ReadAnswer> read_;
  std::optional<saga::WriteStep> writing_;
  std::optional<Result<spi::SagaBatchReply>> written_;
};

class SagaWorld {
 public:
  SagaWorld(std::uint64_t seed, SagaVariant variant);
  SagaReport run();

  void note(const std::string& text);
  void violated(const std::string& text) {
    if (!report_.violation) report_.violation = text;
    note("VIOLATION " + text);
  }
  void count(const std::string& what) { ++report_.counts[what]; }

  const SagaVariant variant;
  testing::FakeClock clock;
  std::unique_ptr<Random> random;
  memory::MemoryStore store;
  saga::PlanBook plans;
  Participants participants;
  std::uint64_t last_ticket = 0;

 private:
  struct Pending {
    std::unique_ptr<OwnedTransaction> tx;
    SagaCommand command;
    WallTime commit_at{};
  };
  memory::Fault fault();
  void start_saga();
  void disturb_saga();
  void resume(const SagaId& saga);
  void send(SagaCommand command);
  void work_on_transactions();
  void pass(Duration time) { clock.advance(time); }
  void step(std::uint64_t dice);
  [[nodiscard]] bool all_settled();
  [[nodiscard]] std::vector<SagaRecord> stored() {
    return store.saga_admin()->list({.rows_max = 1000}).value();
  }
  void check_end();
  void check_saga(const SagaRecord& record);

  SagaReport report_;
  std::deque<std::string> trace_;
  UlidSource ids_;
  std::vector<std::unique_ptr<SagaProcess>> processes_;
  std::uint64_t next_process_ = 1;
  std::vector<Pending> pending_;
  std::vector<SagaId> sagas_;
  bool quiet_ = false;
  bool setting_up_ = true;
};

SagaProcess::SagaProcess(SagaWorld& world, std::uint64_t number)
    : id(number),
      world_(world),
      ids_(world.clock, *world.random),
      store_(*world.store.sagas(), world.store.ownership(),
             world.variant != SagaVariant::batch_not_fenced,
             [&world](const std::string& text) { world.violated(text); }),
      tickets_(number * 1'000'000),
      orchestrator_({.store = store_,
                     .definition = std::string(definition_name),
                     .plans = world.plans,
                     .caller = *this,
                     .tickets = tickets_,
                     .ids = ids_,
                     .clock = world.clock,
                     .random = *world.random,
                     .metrics = no_metrics(),
                     .log = no_log(),
                     .reply_secret = {},
                     .told = [](const SagaCommandResult&) {},
                     .wrote_messages = [](const TableName&) {},
                     .wake_writer = [] {},
                     .wake_reader = [] {},
                     .decide = decider_of(world.variant)},
                    {.instances_max = 24,
                     .read_rows_max = 8,
                     .batch_sagas_max = 6,
                     .keep = milliseconds(50),
                     .absent_wait = seconds(3),
                     .drain = milliseconds(200),
                     .due_interval = milliseconds(100),
                     .full_pass_interval = seconds(2),
                     .parked_interval = seconds(1)}),
      worker_({.store = world.store.ownership(), .ids = ids_, .clock = world.clock},
              {{.scope = saga::Orchestrator::scope_of(definition_name),
                .shards = shards,
                .holder = &orchestrator_}},
              ownership::WorkerOptions::for_lease(seconds(1))) {
  orchestrator_.attach(worker_);
}

void SagaProcess::call(std::vector<saga::CallOrder> orders, saga::CallResults& results) {
  for (auto& order : orders) {
    world_.note("process " + std::to_string(id) + " calls " + order.saga.str() + " " + order.step +
                " " + std::string(barrier_direction_name(order.call.key.direction)) + " attempt " +
                std::to_string(order.call.attempt) + " epoch " + std::to_string(order.epoch.value));
    world_.participants.called(id, std::move(order), results);
  }
}

void SagaProcess::move(std::uint64_t which) {
  if (which % 6 == 0) return move_worker();
  if (which % 6 < 3) return move_reader();
  move_writer();
}

void SagaProcess::move_worker() {
  const auto now = world_.clock.boot_now();
  if (answered_) {
    worker_.apply(*asked_, *std::move(answered_), now);
    answered_.reset();
    asked_.reset();
  } else if (asked_) {
    answered_ = worker_.perform(*asked_);
  } else {
    asked_ = worker_.plan(now);
  }
}

void SagaProcess::move_reader() {
  const auto now = world_.clock.boot_now();
  if (read_) {
    orchestrator_.apply(*reading_, *std::move(read_), now);
    read_.reset();
    reading_.reset();
  } else if (reading_) {
    read_ = orchestrator_.perform(*reading_);
    world_.count("reads");
  } else {
    reading_ = orchestrator_.plan_read(now);
    if (!reading_) orchestrator_.committed_somewhere();
  }
}

void SagaProcess::move_writer() {
  const auto now = world_.clock.boot_now();
  if (written_) {
    if (!written_->ok()) world_.count("write " + std::string(code_name(written_->error().code)));
    if (written_->ok() && !(*written_)->written())
      world_.count("write refused by fence or version");
    orchestrator_.apply(*std::move(writing_), *std::move(written_), now);
    written_.reset();
    writing_.reset();
    orchestrator_.make_calls(now);
  } else if (writing_) {
    written_ = orchestrator_.perform(*writing_);
    if (written_->ok() && !(*written_)->written()) {
      for (const auto& reason : (*written_)->reasons) world_.note("not written: " + reason);
    }
  } else {
    writing_ = orchestrator_.plan_write(now);
    orchestrator_.make_calls(now);
    if (writing_) world_.count("batches");
  }
}

SagaWorld::SagaWorld(std::uint64_t seed, SagaVariant of)
    : variant(of),
      random(seeded_random(seed)),
      store({.late_commits = spi::LateCommits::visible,
             .notifies = false,
             .shards = shards,
             .clock = &clock,
             .faults = [this](memory::Operation) { return fault(); }}),
      participants({.random = *random,
                    .now = [this] { return clock.wall_now(); },
                    .reply =
                        [this](const saga::CallOrder& order, bool ok) {
                          SagaCommand command;
                          command.id = ids_.next<CommandId>();
                          command.saga = order.saga;
                          command.kind = SagaCommandKind::reply;
                          command.body = saga::reply_body(
                              {.step = order.step,
                               .direction = order.call.key.direction,
                               .round = order.call.round,
                               .result = {.kind = ok ? saga::CallResult::Kind::ok
                                                     : saga::CallResult::Kind::fail}});
                          send(command);
                          // The same again, and another one that says the same.
                          if (random->below(3) == 0) send(command);
                          if (random->below(3) == 0) {
                            command.id = ids_.next<CommandId>();
                            send(command);
                          }
                        },
                    .violated = [this](const std::string& text) { violated(text); }},
                   rules()),
      ids_(clock, *random) {
  report_.seed = seed;
  for (const std::uint32_t version : {1U, 2U}) {
    auto plan = saga::Plan::make(definition(version));
    if (!plan.ok()) {
      violated(plan.error().text());
      return;
    }
    (void)store.sagas()->define(definition(version).record(clock.wall_now()));
    plans.add(std::move(plan).value());
  }
  setting_up_ = false;
}

void SagaWorld::note(const std::string& text) {
  trace_.push_back(std::to_string(clock.wall_now().time_since_epoch().count() % 1'000'000'000) +
                   " " + text);
  if (trace_.size() > trace_lines) trace_.pop_front();
}

memory::Fault SagaWorld::fault() {
  if (quiet_ || setting_up_ || random->below(100) >= 4) return memory::Fault::none;
  return static_cast<memory::Fault>(1 + random->below(3));
}

void SagaWorld::send(SagaCommand command) {
  command.definition = definition_name;
  command.tenant = "default";
  auto tx = store.begin();
  if (!tx.ok() || !(*tx)->sagas().append(std::span(&command, 1)).ok()) {
    if (tx.ok()) (void)(*tx)->rollback();
    // Whoever writes tries again: the same id is applied once.
    pending_.push_back(
        {.command = std::move(command), .commit_at = clock.wall_now() + milliseconds(10)});
    return;
  }
  const auto wait = milliseconds(random->below(4) == 0 ? random->below(300) : 0);
  pending_.push_back({.tx = std::move(tx).value(),
                      .command = std::move(command),
                      .commit_at = clock.wall_now() + wait});
}

void SagaWorld::work_on_transactions() {
  const auto now = clock.wall_now();
  std::vector<Pending> due;
  for (auto at = pending_.begin(); at != pending_.end();) {
    if (at->commit_at > now) {
      ++at;
      continue;
    }
    due.push_back(std::move(*at));
    at = pending_.erase(at);
  }
  for (auto& one : due) {
    if (one.tx && one.tx->commit().ok()) {
      // It may have committed after the last resume.
      if (quiet_ && one.command.kind == SagaCommandKind::pause) resume(one.command.saga);
      continue;
    }
    if (one.tx) count("commands written again");
    one.tx.reset();
    send(std::move(one.command));
  }
}

void SagaWorld::start_saga() {
  if (sagas_.size() >= sagas_max) return;
  SagaCommand command;
  command.id = ids_.next<CommandId>();
  command.kind = SagaCommandKind::start;
  saga::StartRequest request{.input = "{\"n\":1}"};
  if (random->below(2) == 0) {
    request.key = "trip-" + std::to_string(random->below(12));
    command.saga = saga_id_of("default", definition_name, request.key);
  } else {
    command.saga = ids_.next<SagaId>();
  }
  if (random->below(3) == 0) request.isolate = "guest-" + std::to_string(random->below(3));
  if (random->below(2) == 0) request.version = 1;
  command.body = saga::start_body(request);
  sagas_.push_back(command.saga);
  count("starts");
  send(std::move(command));
}

void SagaWorld::disturb_saga() {
  if (sagas_.empty()) return;
  SagaCommand command;
  command.id = ids_.next<CommandId>();
  command.saga = sagas_[random->below(sagas_.size())];
  const auto dice = random->below(10);
  command.kind = dice < 3   ? SagaCommandKind::cancel
                 : dice < 6 ? SagaCommandKind::pause
                            : SagaCommandKind::resume;
  if (dice == 9) command.saga = ids_.next<SagaId>();  // there is none
  command.body = saga::act_body(command.kind, {.actor = "ada"});
  send(std::move(command));
}

void SagaWorld::resume(const SagaId& saga) {
  SagaCommand command;
  command.id = ids_.next<CommandId>();
  command.saga = saga;
  command.kind = SagaCommandKind::resume;
  command.body = saga::act_body(command.kind, {.actor = "ada"});
  send(std::move(command));
}

void SagaWorld::step(std::uint64_t dice) {
  if (dice < 500 && !processes_.empty()) {
    auto& process = *processes_[random->below(processes_.size())];
    if (process.paused_until <= clock.boot_now()) process.move(random->below(60));
  } else if (dice < 600) {
    (void)participants.work();
  } else if (dice < 680) {
    work_on_transactions();
  } else if (dice < 985) {
    pass(std::chrono::microseconds(random->below(quiet_ ? 5'000 : 4'000)));
  } else if (quiet_) {
    if (processes_.empty()) {
      processes_.push_back(std::make_unique<SagaProcess>(*this, next_process_++));
    }
  } else if (dice < 991) {
    start_saga();
  } else if (dice < 992) {
    disturb_saga();
  } else if (dice < 996) {
    if (processes_.size() < processes_max) {
      processes_.push_back(std::make_unique<SagaProcess>(*this, next_process_++));
    }
  } else if (dice < 998 && !processes_.empty()) {
    const auto which = random->below(processes_.size());
    participants.process_gone(processes_[which]->id);
    note("process " + std::to_string(processes_[which]->id) + " crashes");
    processes_.erase(processes_.begin() + static_cast<std::ptrdiff_t>(which));
    count("crashes");
  } else if (!processes_.empty()) {
    auto& process = *processes_[random->below(processes_.size())];
    process.paused_until = clock.boot_now() + milliseconds(random->below(2'500));
    note("process " + std::to_string(process.id) + " stands still");
    count("pauses");
  }
}

bool SagaWorld::all_settled() {
  if (!pending_.empty() || participants.next()) return false;
  for (const auto& record : stored()) {
    const auto instance = saga::from_record(record);
    if (!instance.ok()) return true;
    if (!has_ended(record.state) && !saga::waits_for_person(*instance)) return false;
    if (!has_ended(record.state) && saga::has_calls(*instance)) return false;
  }
  for (const auto& id : sagas_) {
    if (!store.saga_admin()->pending(id, 1)->empty()) return false;
  }
  return true;
}

SagaReport SagaWorld::run() {
  for (; report_.events < steps_busy && !report_.violation; ++report_.events) {
    step(random->below(1'000));
  }
  quiet_ = true;
  participants.be_good();
  for (const auto& id : sagas_) resume(id);
  for (std::uint64_t quiet = 0; quiet < steps_quiet && !report_.violation; ++quiet) {
    step(random->below(1'000));
    ++report_.events;
    if (quiet % 500 == 499 && all_settled()) break;
  }
  if (!report_.violation) check_end();
  report_.counts["effects"] = participants.effects();
  report_.counts["compensations"] = participants.compensations();
  for (const auto& line : trace_) report_.trace += line + "\n";
  return std::move(report_);
}

void SagaWorld::check_end() {
  if (!all_settled()) {
    for (const auto& record : stored()) {
      const auto instance = saga::from_record(record);
      if (has_ended(record.state) || saga::waits_for_person(*instance)) continue;
      std::string where;
      for (std::size_t step = 0; step < instance->steps.size(); ++step) {
        where += " " + rules()[step].name + "=" +
                 std::string(saga_step_state_name(instance->steps[step].state));
      }
      return violated("saga " + record.id.str() + " neither ends nor waits: " +
                      std::string(saga_state_name(record.state)) + where);
    }
    return violated("commands are not taken, or calls do not end");
  }
  for (const auto& record : stored()) check_saga(record);
}

void SagaWorld::check_saga(const SagaRecord& record) {
  const auto instance = saga::from_record(record);
  if (!instance.ok()) return violated(instance.error().text());
  count(std::string(saga_state_name(record.state)));
  if (!has_ended(record.state)) count("waits for a person");
  const auto history = store.saga_admin()->history(record.id, 0, 2000);
  if (auto problem = saga::verify_history(*history, *instance); !problem.empty()) {
    return violated("history of " + record.id.str() + ": " + problem);
  }
  for (std::size_t step = 0; step < rules().size(); ++step) {
    const auto& book = participants.entry(record.id, step);
    const auto state = instance->steps[step].state;
    const auto where = "saga " + record.id.str() + " is " +
                       std::string(saga_state_name(record.state)) + ", step " + rules()[step].name +
                       " " + std::string(saga_step_state_name(state));
    const bool stands = book.done > 0 && !book.undone;
    if (state == SagaStepState::succeeded && !stands) violated(where + ", and was not done");
    if (record.state == SagaState::completed && !stands) violated(where + ", and was not done");
    if (record.state == SagaState::cancelled && stands && rules()[step].undoable) {
      violated(where + ", and was not undone");
    }
  }
}

}  // namespace

SagaReport simulate_sagas(std::uint64_t seed, SagaVariant variant) {
  return SagaWorld(seed, variant).run();
}

}  // namespace sagabox::simulation
