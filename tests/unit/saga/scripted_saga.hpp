#pragma once

#include "saga/decide.hpp"

#include <sagabox/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::saga::testing {

using namespace std::chrono_literals;

inline SagaStep step_of(std::string name) {
  SagaStep step;
  step.action = "fn:" + name;
  step.compensation = "fn:undo-" + name;
  step.name = std::move(name);
  step.retry = {
      .attempts_max = 3, .backoff_min = 1s, .backoff_max = 1s, .jitter_min = 1, .jitter_max = 1};
  return step;
}

inline SagaStep wait_of(std::string name, SagaWait wait) {
  SagaStep step;
  step.name = std::move(name);
  step.wait = wait;
  if (wait == SagaWait::timer) step.delay = 10min;
  return step;
}

inline SagaStep tagged(SagaStep step, std::string tag) {
  step.tag = std::move(tag);
  return step;
}

inline SagaStep pivot_of(std::string name) {
  auto step = step_of(std::move(name));
  step.pivot = true;
  step.compensation.reset();
  return step;
}

inline SagaStep once(SagaStep step, SagaInDoubt in_doubt = SagaInDoubt::compensate) {
  step.idempotent = false;
  step.in_doubt = in_doubt;
  return step;
}

inline SagaStep last(std::string name) {
  auto step = step_of(std::move(name));
  step.compensation = "none";
  return step;
}

inline CallResult ok(std::string output = "null") {
  return {.kind = CallResult::Kind::ok, .output = std::move(output)};
}
inline CallResult failing(CallResult::Kind kind) {
  return {.kind = kind, .error = "no rooms", .code = Code::provider_rejected};
}
inline CallResult fail() { return failing(CallResult::Kind::fail); }
inline CallResult retry() { return failing(CallResult::Kind::retry); }
inline CallResult in_doubt() { return failing(CallResult::Kind::in_doubt); }
inline CallResult accepted() { return failing(CallResult::Kind::wait); }
inline CallResult unreachable() { return failing(CallResult::Kind::unreachable); }

/// A saga whose owner is the test: it gives events, and sees what is to be done. What must hold
/// after every decision is checked with each.
class ScriptedSaga {
 public:
  explicit ScriptedSaga(std::vector<SagaStep> steps)
      : ScriptedSaga(SagaDefinition{.name = "travel", .steps = std::move(steps)}) {}
  explicit ScriptedSaga(SagaDefinition definition, std::uint64_t seed = 1)
      : plan(Plan::make(std::move(definition)).value()), random_(seeded_random(seed)) {}

  ScriptedSaga& start(StartRequest request = {.input = "{\"customer\":\"ann\"}",
                                              .key = "trip-77"}) {
    const auto command = made(SagaCommandKind::start, start_body(request));
    apply(decide_start(plan, command, now, *random_));
    return *this;
  }

  Decision& event(const Event& event) { return apply(decide(plan, saga, event, now, *random_)); }

  /// Ends the last call that was made of this step.
  Decision& ends(const std::string& step, const CallResult& result) {
    const auto* const call = call_of(step);
    EXPECT_NE(call, nullptr) << "no call of " << step;
    if (call == nullptr) return last_;
    return event(CallEnded{call->key, result});
  }

  Decision& tell(SagaCommandKind kind, std::string body = {}) {
    return event(CommandArrived{made(kind, std::move(body))});
  }
  Decision& reply(const std::string& step, const CallResult& result,
                  BarrierDirection direction = BarrierDirection::action,
                  std::optional<std::uint32_t> round = {}) {
    return tell(
        SagaCommandKind::reply,
        reply_body({.step = step, .direction = direction, .round = round, .result = result}));
  }
  Decision& act(SagaCommandKind kind, const ActRequest& request = {}) {
    return tell(kind, act_body(kind, request));
  }
  Decision& pass(Duration time) {
    now += std::chrono::duration_cast<WallTime::duration>(time);
    return event(TimePassed{});
  }

  [[nodiscard]] SagaCommand made(SagaCommandKind kind, std::string body) {
    const auto id = CommandId::parse("c" + std::to_string(++commands_)).value();
    return {.id = id,
            .saga = saga_id_of("acme", "travel", "trip-77"),
            .definition = "travel",
            .tenant = "acme",
            .kind = kind,
            .body = std::move(body)};
  }

  [[nodiscard]] const Call* call_of(const std::string& step) const {
    const auto index = plan.index_of(step);
    const auto found = std::find_if(calls.rbegin(), calls.rend(),
                                    [&](const Call& call) { return call.key.step == *index; });
    return found == calls.rend() ? nullptr : &*found;
  }
  [[nodiscard]] const InstanceStep& step(const std::string& name) const {
    return saga.steps.at(*plan.index_of(name));
  }
  [[nodiscard]] SagaStepState state(const std::string& name) const { return step(name).state; }
  /// Of the last decision, "flight action 1" or "hotel compensation 1", a line each.
  [[nodiscard]] std::vector<std::string> called() const {
    std::vector<std::string> names;
    for (const auto& call : last_.calls) {
      names.push_back(plan.step(call.key.step).given.name + " " +
                      std::string(barrier_direction_name(call.key.direction)) + " " +
                      std::to_string(call.attempt));
    }
    return names;
  }
  [[nodiscard]] bool told(std::string_view event) const {
    return std::ranges::any_of(history, [&](const auto& entry) { return entry.event == event; });
  }
  [[nodiscard]] const Decision& last() const { return last_; }

  Plan plan;
  Instance saga;
  WallTime now{std::chrono::sys_days(std::chrono::year(2026) / 3 / 1)};
  std::vector<Call> calls;
  std::vector<Emission> emissions;
  std::vector<SagaHistoryEntry> history;
  std::vector<StepMove> moves;
  std::vector<SagaTransition> saga_moves;

 private:
  Decision& apply(Decision decision) {
    last_ = std::move(decision);
    if (last_.write) last_.instance.version += 1;
    saga = last_.instance;
    calls.insert(calls.end(), last_.calls.begin(), last_.calls.end());
    emissions.insert(emissions.end(), last_.emissions.begin(), last_.emissions.end());
    history.insert(history.end(), last_.history.begin(), last_.history.end());
    moves.insert(moves.end(), last_.step_moves.begin(), last_.step_moves.end());
    saga_moves.insert(saga_moves.end(), last_.saga_moves.begin(), last_.saga_moves.end());
    check();
    return last_;
  }

  void check() const {
    if (saga.version == 0) return;  // a start that was refused
    EXPECT_EQ(verify_history(history, saga), "");
    EXPECT_FALSE(is_stray(saga));
    auto stored = saga;
    --stored.version;
    const auto read = from_record(to_record(stored));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(to_record(*read).body, to_record(saga).body);
    EXPECT_TRUE(read->steps == saga.steps);
    for (const auto& move : last_.step_moves) {
      const auto allowed = step_transitions();
      EXPECT_TRUE(move.by_hand || std::ranges::find(allowed, move.transition) != allowed.end())
          << saga_step_state_name(move.transition.from) << " to "
          << saga_step_state_name(move.transition.to);
    }
    for (const auto& move : last_.saga_moves) {
      const auto allowed = saga_transitions();
      EXPECT_TRUE(std::ranges::find(allowed, move) != allowed.end())
          << saga_state_name(move.from) << " to " << saga_state_name(move.to);
    }
    // Nothing that was decided without a write differs but for calls that the stored state allows.
    if (!last_.write) {
      EXPECT_TRUE(last_.history.empty());
      EXPECT_TRUE(last_.emissions.empty());
      for (const auto& call : last_.calls) {
        EXPECT_TRUE(call.key.direction == BarrierDirection::compensation ||
                    plan.step(call.key.step).given.idempotent);
      }
    }
  }

  std::unique_ptr<Random> random_;
  Decision last_;
  int commands_ = 0;
};

}  // namespace sagabox::saga::testing
