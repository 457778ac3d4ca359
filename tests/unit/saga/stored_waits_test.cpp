#include "saga/stored_waits.hpp"

#include "support/noon.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace sagabox::saga {
namespace {

using namespace std::chrono_literals;
using sagabox::testing::noon;
using State = SagaStepState;

/// A step that is called and one that is approved.
class StoredWaits : public ::testing::Test {
 protected:
  StoredWaits() { instance.steps.resize(2); }

  const Plan plan = Plan::make({.name = "travel",
                                .steps = {{.name = "book",
                                           .action = "https://flights/book",
                                           .compensation = "none",
                                           .attempt_timeout = 10min},
                                          {.name = "approve", .wait = SagaWait::approval}}})
                        .value();
  Instance instance;
};

TEST_F(StoredWaits, OnlyHeldStepsAndApprovalsWaitForAPerson) {
  EXPECT_EQ(person_wait(plan, instance), SagaPersonWait::none);
  instance.steps[0].state = State::waiting;
  EXPECT_EQ(person_wait(plan, instance), SagaPersonWait::none) << "for a reply";
  instance.steps[1].state = State::waiting;
  EXPECT_EQ(person_wait(plan, instance), SagaPersonWait::approval);
  for (const auto held : {State::held, State::undo_held}) {
    instance.steps[0].state = held;
    EXPECT_EQ(person_wait(plan, instance), SagaPersonWait::decision);
  }
  instance.state = SagaState::paused;
  EXPECT_EQ(person_wait(plan, instance), SagaPersonWait::decision);
  instance.state = SagaState::failed;
  EXPECT_EQ(person_wait(plan, instance), SagaPersonWait::none) << "it is dead";
}

TEST_F(StoredWaits, ACallIsLateAfterItsDeadlineNotFromItsStart) {
  auto& book = instance.steps[0];
  instance.changed_at = noon;
  book.state = State::running;
  book.in_flight = InFlight{.call = 1, .deadline = noon + 10min};
  EXPECT_EQ(stored_due(instance), noon) << "so that a take-over finds it";
  EXPECT_EQ(overdue_from(plan, instance), noon + 10min);
  instance.deadline = noon + 1min;
  EXPECT_EQ(overdue_from(plan, instance), noon + 1min) << "the saga's own";
  instance.state = SagaState::paused;
  EXPECT_EQ(overdue_from(plan, instance), noon + 10min);
}

TEST_F(StoredWaits, ARetryMayRunWithoutBeingStored) {
  auto& book = instance.steps[0];
  book.state = State::retrying;
  book.due = noon;
  EXPECT_EQ(overdue_from(plan, instance), noon + 10min);
  book.state = State::waiting;
  EXPECT_EQ(overdue_from(plan, instance), noon);
}

TEST_F(StoredWaits, WhatIsNotDueIsNeverLate) {
  instance.steps[1].state = State::waiting;
  EXPECT_EQ(overdue_from(plan, instance), std::nullopt);
  instance.state = SagaState::completed;
  instance.deadline = noon;
  EXPECT_EQ(overdue_from(plan, instance), std::nullopt);
}

}  // namespace
}  // namespace sagabox::saga
