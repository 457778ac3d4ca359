#include "cli/views/saga_view.hpp"

#include "support/noon.hpp"
#include "unit/cli/plain_lines.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace sagabox::cli {
namespace {

using namespace std::chrono_literals;

using testing::noon;

std::string drawn(std::span<const Line> lines) {
  std::string text;
  for (const auto& line : lines) text += plain(line) + "\n";
  return text;
}

SagaView travel() {
  return {.id = SagaId::parse("s1").value(),
          .tenant = "default",
          .definition = "travel",
          .definition_version = 3,
          .state = SagaState::compensating,
          .key = "trip-77",
          .started_at = noon - 3min,
          .undo = "failure",
          .seen_at = noon};
}

TEST(SagaDetails, ShowsWhatIsDoneUndoneAndNotReached) {
  auto saga = travel();
  saga.labels = {{"order", "77"}};
  saga.steps = {
      {.name = "flight",
       .state = SagaStepState::undone,
       .started_at = noon - 10s,
       .ended_at = noon - 9600ms,
       .undo_started_at = noon - 1s,
       .undone_at = noon - 800ms},
      {.name = "hotel", .state = SagaStepState::failed, .attempts = 1, .error = "422 no rooms"},
      {.name = "approve"},
      {.name = "ticket"}};
  EXPECT_EQ(drawn(saga_details(saga)),
            "travel v3 · compensating · started 3m00s ago by key trip-77\n"
            "  s1  order=77  goes back: failure\n"
            "  ✓ flight   done  0.4s   → undone  0.2s\n"
            "  ✗ hotel    422 no rooms, attempt 1\n"
            "  · approve, ticket   not reached\n");
}

TEST(SagaDetails, SaysWhatEachStepIsAt) {
  auto saga = travel();
  const auto line = [&](const SagaStepView& step) {
    saga.steps = {step};
    const auto lines = saga_details(saga);
    return drawn(std::span(lines).last(1));
  };
  SagaStepView step{.name = "charge", .attempts_max = 8, .started_at = noon - 2s};
  step.state = SagaStepState::running;
  EXPECT_EQ(line(step), "  ▸ charge   is called, attempt 1 of 8, since 2s\n");
  step.state = SagaStepState::retrying;
  step.attempts = 2;
  step.due = noon + 4s;
  step.error = "503";
  step.pivot = true;
  EXPECT_EQ(line(step), "  ▸ charge   retry in 4s, attempt 3 of 8: 503   pivot\n");
  step.pivot = false;
  step.state = SagaStepState::held;
  EXPECT_EQ(line(step), "  ? charge   in doubt, waits for a decision: 503\n");
  step.state = SagaStepState::undo_waiting;
  step.undo_started_at = noon - 3s;
  EXPECT_EQ(line(step),
            "  ▸ charge   not answered   → waits for the reply to its compensation, since 3s\n");
  step.state = SagaStepState::waiting;
  for (const auto& [wait, text] : {std::pair{SagaWait::approval, "waits for approval"},
                                   std::pair{SagaWait::signal, "waits for signal paid"},
                                   std::pair{SagaWait::callback, "waits for a reply"},
                                   std::pair{SagaWait::timer, "timer, due in 4s"}}) {
    step.wait = wait;
    step.waits_for = "paid";
    EXPECT_EQ(line(step), "  ▸ charge   " + std::string(text) + ", since 2s\n");
  }
}

TEST(SagaDetails, PayloadsWhereTheyWereAskedFor) {
  auto saga = travel();
  saga.input = R"({"customer":1})";
  saga.steps = {{.name = "flight", .state = SagaStepState::succeeded, .output = "[1]"}};
  const auto text = drawn(saga_details(saga));
  EXPECT_NE(text.find("      [1]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  input {\"customer\":1}\n"), std::string::npos) << text;
}

TEST(SagaList, ALineEach) {
  auto saga = travel();
  saga.quarantined = true;
  const std::vector sagas{saga};
  const auto text = drawn(saga_list(sagas));
  EXPECT_NE(text.find("travel v3"), std::string::npos) << text;
  EXPECT_NE(text.find("compensating, quarantined"), std::string::npos) << text;
  EXPECT_EQ(drawn(saga_list({})), "no saga\n");
}

TEST(SagaChanges, SayEachStepOnceAndTheEndLast) {
  auto before = travel();
  before.state = SagaState::running;
  before.steps = {{.name = "flight", .state = SagaStepState::running}, {.name = "hotel"}};
  EXPECT_EQ(drawn(saga_changes(nullptr, before)),
            "12:00:00 travel v3 · running\n"
            "12:00:00 ▸ flight   is called, attempt 1\n");
  EXPECT_EQ(drawn(saga_changes(&before, before)), "");
  auto after = before;
  after.steps[0].attempts = 1;
  EXPECT_EQ(drawn(saga_changes(&before, after)), "12:00:00 ▸ flight   is called, attempt 2\n");
  after.steps[0].state = SagaStepState::succeeded;
  after.steps[0].started_at = noon - 2s;
  after.steps[0].ended_at = noon - 1600ms;
  after.state = SagaState::completed;
  after.ended_at = noon;
  EXPECT_EQ(drawn(saga_changes(&before, after)),
            "12:00:00 ✓ flight   done  0.4s\n"
            "12:00:00 travel v3 · completed, took 3m00s\n");
}

TEST(SagaActedLine, SaysWhetherItWasTaken) {
  const auto id = SagaId::parse("s1").value();
  EXPECT_EQ(plain(saga_acted_line({.saga = id, .applied = true}, SagaCommandKind::replay)),
            "s1  replayed");
  EXPECT_EQ(plain(saga_acted_line({.saga = id, .text = "pending"}, SagaCommandKind::replay)),
            "s1  not: pending");
}

}  // namespace
}  // namespace sagabox::cli
