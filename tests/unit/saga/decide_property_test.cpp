#include "unit/saga/scripted_saga.hpp"

#include <map>

namespace sagabox::saga::testing {
namespace {

using State = SagaStepState;

/// Many sagas with random definitions, each given random events; what must always hold is checked
/// after every one of them.
class RandomSaga {
 public:
  explicit RandomSaga(std::uint64_t seed)
      : random_(seeded_random(seed)), saga_(random_definition(), seed) {}

  void run() {
    saga_.start({.input = "{\"customer\":\"ann\"}"});
    look();
    for (int i = 0; i < 120 && !::testing::Test::HasFailure(); ++i) {
      const auto before = saga_.saga;
      happen();
      look();
      if (by_hand_) continue;
      EXPECT_FALSE((before.state == SagaState::completed || before.state == SagaState::cancelled) &&
                   saga_.saga.state != before.state)
          << "ended is final";
    }
    for (const auto& move : saga_.moves) {
      if (!move.by_hand) seen_moves.insert(move.transition);
    }
    seen_saga_moves.insert(saga_.saga_moves.begin(), saga_.saga_moves.end());
  }

  static std::set<StepTransition> seen_moves;
  static std::set<SagaTransition> seen_saga_moves;

 private:
  bool chance(std::uint64_t of) { return random_->below(of) == 0; }

  SagaDefinition random_definition() {
    SagaDefinition made{.name = "travel"};
    if (chance(3)) made.timeout = 5min;
    if (chance(2)) made.on_stuck = SagaOnStuck::dead;
    const auto count = 1 + random_->below(5);
    const auto pivot = chance(2) ? random_->below(count) : count;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto name = "s" + std::to_string(i);
      auto step = random_step(name, i > pivot);
      if (i == pivot) step = pivot_of(name);
      const bool first = i == 0 && count > 1;
      if (i != pivot && !first && chance(2)) step.tag = i < pivot ? "a" : "b";
      if (chance(3)) step.timeout = 2min;
      if (!step.action.empty() && chance(3)) {
        step.idempotent = false;
        if (chance(2)) step.in_doubt = SagaInDoubt::wait;
      }
      made.steps.push_back(std::move(step));
    }
    // A tag must not be interrupted.
    for (std::size_t i = 1; i < made.steps.size(); ++i) {
      if (made.steps[i].pivot || made.steps[i - 1].pivot) continue;
      if (made.steps[i].tag.empty() || made.steps[i - 1].tag.empty()) made.steps[i].tag.clear();
    }
    return made;
  }

  SagaStep random_step(const std::string& name, bool after_pivot) {
    if (chance(5)) {
      const SagaWait waits[] = {SagaWait::callback, SagaWait::signal, SagaWait::approval,
                                SagaWait::timer};
      auto step = wait_of(name, waits[random_->below(4)]);
      if (step.wait == SagaWait::timer) step.delay = 1min;
      return step;
    }
    auto step = step_of(name);
    if (chance(5)) {
      step.action = "outbox:travel." + name;
      if (chance(2)) step.wait = SagaWait::callback;
      if (step.wait == SagaWait::callback && chance(2)) step.attempt_timeout = 20s;
    }
    if (chance(5)) step.compensation = "outbox:travel.undo." + name;
    // What an earlier step did not give cannot be filled in.
    if (name == "s4" && chance(2)) step.input = R"({"id":"${steps.s0.output.id}"})";
    if (name != "s0" && !after_pivot && chance(4)) {
      step.compensation_input = R"({"id":"${steps.s0.output.id}"})";
      return step;
    }
    if (after_pivot || chance(5)) {
      step.compensation = "none";
      if (!after_pivot && chance(2)) step.no_compensation = SagaNoCompensation::wait;
    }
    return step;
  }

  CallResult random_result() {
    switch (random_->below(9)) {
      case 0:
        return fail();
      case 1:
        return retry();
      case 2:
        return in_doubt();
      case 3:
        return accepted();
      case 4:
        return unreachable();
      default:
        return ok(chance(3) ? "{}" : "{\"id\":1}");
    }
  }

  /// Something that a store, a participant, a person or time may do.
  void happen() {
    by_hand_ = false;
    const auto dice = random_->below(20);
    if (dice < 8 && !saga_.calls.empty()) {
      const auto back = random_->below(std::min<std::size_t>(saga_.calls.size(), 4));
      const auto& call = saga_.calls[saga_.calls.size() - 1 - back];
      saga_.event(CallEnded{call.key, random_result()});
    } else if (dice < 12) {
      const Duration times[] = {1s, 5s, 30s, 2min};
      saga_.pass(times[random_->below(4)]);
    } else if (dice < 13) {
      saga_.event(TakenOver{.clean = chance(2)});
    } else if (dice < 16) {
      answer();
    } else {
      act();
    }
  }

  std::string any_step() { return "s" + std::to_string(random_->below(saga_.plan.steps().size())); }

  void answer() {
    const auto step = any_step();
    if (chance(3)) {
      saga_.tell(SagaCommandKind::signal, signal_body({step, "{}"}));
      return;
    }
    const CallResult results[] = {ok("{\"id\":2}"), fail(), retry()};
    saga_.reply(step, results[random_->below(3)],
                chance(3) ? BarrierDirection::compensation : BarrierDirection::action,
                chance(4) ? std::optional<std::uint32_t>(random_->below(3)) : std::nullopt);
  }

  void act() {
    using Kind = SagaCommandKind;
    const Kind kinds[] = {Kind::pause,   Kind::resume,   Kind::resume,     Kind::resume,
                          Kind::replay,  Kind::cancel,   Kind::compensate, Kind::approve,
                          Kind::approve, Kind::set_step, Kind::quarantine, Kind::release};
    const auto kind = kinds[random_->below(std::size(kinds))];
    ActRequest request{.actor = "bo"};
    if (kind == Kind::approve) request.approved = !chance(3);
    if (kind == Kind::replay) request.into_compensation = chance(3);
    if (kind == Kind::set_step) {
      const State states[] = {State::pending, State::succeeded, State::failed, State::undone,
                              State::skipped};
      request.step = any_step();
      request.state = states[random_->below(5)];
    }
    saga_.act(kind, request);
    const auto& result = saga_.last().result;
    by_hand_ = kind == Kind::set_step && result && result->applied;
    any_by_hand_ = any_by_hand_ || by_hand_;
  }

  void look() {
    for (const auto& call : saga_.last().calls) look_at(call);
    for (const auto& emission : saga_.last().emissions) look_at(emission.call);
    const auto& now = saga_.saga;
    const auto ready = next_time(now);
    EXPECT_FALSE(stored_due(now) && !ready && !has_calls(now));
    if (now.state == SagaState::completed) {
      for (const auto& step : now.steps) {
        EXPECT_TRUE(step.state == State::succeeded || step.state == State::skipped);
      }
    }
    if (now.state == SagaState::cancelled) {
      for (const auto& step : now.steps) {
        EXPECT_TRUE(step.state == State::undone || step.state == State::skipped ||
                    step.state == State::failed || step.state == State::pending);
      }
    }
    if (const auto pivot = saga_.plan.pivot();
        pivot && now.steps[*pivot].state == State::succeeded && !any_by_hand_) {
      EXPECT_NE(now.state, SagaState::compensating) << "past the pivot the saga only goes forward";
      EXPECT_NE(now.state, SagaState::cancelled);
    }
  }

  void look_at(const Call& call) {
    const auto& now = saga_.saga;
    const auto& planned = saga_.plan.step(call.key.step);
    const auto& step = now.steps[call.key.step];
    const bool action = call.key.direction == BarrierDirection::action;
    EXPECT_TRUE(made_.insert(call.key).second) << "no call is made twice under one key";
    EXPECT_NE(now.state, SagaState::paused) << "nothing starts while it is paused";
    const auto& policy = action ? planned.given.retry : planned.compensation_retry;
    EXPECT_LE(call.attempt, policy.attempts_max);
    auto& round = rounds_[{call.key.step, call.key.direction}];
    EXPECT_GE(call.round, round) << "the round never falls";
    round = call.round;
    if (action) {
      // A message of a step that was done earlier in the same decision goes out all the same.
      EXPECT_TRUE(now.undo == UndoReason::none || call.target.kind == Target::Kind::outbox)
          << "no step runs after the saga has turned back";
      const auto key = std::pair(call.key.step, call.round);
      if (!planned.given.idempotent && planned.action.kind != Target::Kind::outbox) {
        EXPECT_FALSE(doubtful_.contains(key)) << "a step in doubt ran again";
      }
      for (std::size_t i = 0; i < now.steps.size() && !any_by_hand_; ++i) {
        if (saga_.plan.step(i).group < planned.group) {
          EXPECT_EQ(now.steps[i].state, State::succeeded) << "an earlier group is not done";
        }
      }
      if (step.doubt) doubtful_.insert(key);
      return;
    }
    for (std::size_t i = 0; i < now.steps.size() && !any_by_hand_; ++i) {
      if (saga_.plan.step(i).group <= planned.group) continue;
      const auto state = now.steps[i].state;
      EXPECT_TRUE(state == State::undone || state == State::skipped || state == State::failed ||
                  state == State::pending)
          << "a later group is not undone: " << saga_step_state_name(state);
      EXPECT_FALSE(now.steps[i].in_flight) << "a later step may still be running";
    }
    // Its own action has ended: the only call in flight is this one.
    EXPECT_TRUE(!step.in_flight || step.in_flight->call == call.key.call);
  }

  std::unique_ptr<Random> random_;
  ScriptedSaga saga_;
  std::set<CallKey> made_;
  std::map<std::pair<std::size_t, BarrierDirection>, std::uint32_t> rounds_;
  std::set<std::pair<std::size_t, std::uint32_t>> doubtful_;
  bool by_hand_ = false;
  bool any_by_hand_ = false;
};

constexpr std::uint64_t seeds = 300;

std::set<StepTransition> RandomSaga::seen_moves;
std::set<SagaTransition> RandomSaga::seen_saga_moves;

TEST(SagaProperty, HoldsWhateverHappensInWhateverOrder) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomSaga(seed).run();
    if (HasFailure()) return;
  }
  for (const auto& move : saga_transitions()) {
    EXPECT_TRUE(RandomSaga::seen_saga_moves.contains(move))
        << saga_state_name(move.from) << " to " << saga_state_name(move.to) << " never happened";
  }
  // Those beyond need compensations that are answered later, or several acts by hand.
  EXPECT_GE(RandomSaga::seen_moves.size(), step_transitions().size() * 3 / 4);
}

}  // namespace
}  // namespace sagabox::saga::testing
