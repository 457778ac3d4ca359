#include "spi/barrier_rules.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace sagabox::spi {
namespace {

using Direction = BarrierDirection;

TEST(BarrierRules, TableOfEveryStateAndDirection) {
  struct Row {
    std::optional<BarrierState> known;
    Direction direction;
    BarrierAnswer answer;
    BarrierState after;
  };
  for (const auto& row : {
           Row{std::nullopt, Direction::action, BarrierAnswer::run, BarrierState::acted},
           Row{std::nullopt, Direction::compensation, BarrierAnswer::nothing_to_undo,
               BarrierState::refused},
           Row{BarrierState::acted, Direction::action, BarrierAnswer::repeated,
               BarrierState::acted},
           Row{BarrierState::acted, Direction::compensation, BarrierAnswer::run,
               BarrierState::undone},
           Row{BarrierState::undone, Direction::action, BarrierAnswer::too_late,
               BarrierState::undone},
           Row{BarrierState::undone, Direction::compensation, BarrierAnswer::repeated,
               BarrierState::undone},
           Row{BarrierState::refused, Direction::action, BarrierAnswer::too_late,
               BarrierState::refused},
           Row{BarrierState::refused, Direction::compensation, BarrierAnswer::nothing_to_undo,
               BarrierState::refused},
       }) {
    const auto step = decide_barrier(row.known, row.direction);
    EXPECT_EQ(step.answer, row.answer);
    EXPECT_EQ(step.after, row.after);
  }
}

// All orders of up to ten calls: what ran is nothing, the action, or the action and then its
// compensation; and once a compensation was answered, nothing of the action is left.
TEST(BarrierRules, NoOrderOfCallsDoesHarm) {
  constexpr unsigned calls_max = 10;
  for (unsigned calls = 1; calls <= calls_max; ++calls) {
    for (unsigned order = 0; order < (1U << calls); ++order) {
      std::optional<BarrierState> state;
      std::string ran;
      bool compensated = false;
      for (unsigned call = 0; call < calls; ++call) {
        const bool action = (order >> call & 1U) == 0;
        const auto step =
            decide_barrier(state, action ? Direction::action : Direction::compensation);
        if (runs(step.answer)) ran += action ? 'a' : 'c';
        compensated = compensated || !action;
        state = step.after;
      }
      EXPECT_TRUE(ran.empty() || ran == "a" || ran == "ac") << ran;
      EXPECT_TRUE(!compensated || ran != "a") << "a compensation came and the action stands";
      EXPECT_TRUE(compensated || ran == "a");
    }
  }
}

TEST(BarrierRules, CallsThatCannotBeKeptAreRefused) {
  const BarrierCall good{.saga = "s1", .step = "pay", .deadline = WallTime(std::chrono::hours(1))};
  EXPECT_TRUE(check_barrier(good).ok());
  const auto refused = [&](auto&& change, std::string_view names) {
    auto call = good;
    change(call);
    const auto checked = check_barrier(call);
    ASSERT_FALSE(checked.ok());
    EXPECT_EQ(checked.error().code, Code::schema_validation_failed);
    EXPECT_TRUE(checked.error().message.starts_with(names)) << checked.error().message;
  };
  refused([](BarrierCall& call) { call.tenant.clear(); }, "tenant: empty");
  refused([](BarrierCall& call) { call.saga = std::string(129, 'x'); }, "saga: 129 characters");
  refused([](BarrierCall& call) { call.step = "a\nb"; }, "step: not printable at byte 1");
  refused([](BarrierCall& call) { call.deadline = {}; }, "deadline: missing");
  refused([](BarrierCall& call) { call.retention = Duration(-1); }, "retention: below zero");
  // Together they would wrap around, and the note would be gone with the next purge.
  refused([](BarrierCall& call) { call.deadline = WallTime::max(); }, "deadline and retention:");
  refused([](BarrierCall& call) { call.retention = Duration::max(); }, "deadline and retention:");
}

}  // namespace
}  // namespace sagabox::spi
