#include "saga/plan.hpp"

#include <sagabox/saga_definition.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::saga {
namespace {

using namespace std::chrono_literals;

/// Two steps together, one that waits, the pivot, and one behind it: nothing is wrong with it.
SagaDefinition right_trip() {
  SagaDefinition trip{.name = "trip", .timeout = 2h, .isolate = "${input.who}"};
  trip.labels = {{.name = "order", .value = "${input.order}"}};
  trip.steps = {
      {.name = "flight", .action = "fn:book", .compensation = "fn:cancel", .tag = "bookings"},
      {.name = "hotel", .action = "fn:book", .compensation = "fn:cancel", .tag = "bookings"},
      {.name = "approve", .wait = SagaWait::approval, .timeout = 1h},
      {.name = "pay", .action = "https://pay/charge", .pivot = true},
      {.name = "ticket", .action = "outbox:trip.ticket.issue.v1", .compensation = "none"}};
  return trip;
}

struct Mistake {
  std::string field;  ///< that is named
  std::string says;   ///< a part of the message
  std::function<void(SagaDefinition&)> make;
};

SagaStep timer(std::string name, Duration delay) {
  return {.name = std::move(name), .wait = SagaWait::timer, .delay = delay};
}

const std::vector<Mistake> mistakes_of_the_whole{
    {"saga", "letters", [](auto& trip) { trip.name = ""; }},
    {"saga", "letters", [](auto& trip) { trip.name = "a trip"; }},
    {"saga", "1 to 48", [](auto& trip) { trip.name = std::string(49, 'x'); }},
    {"version", "from 1", [](auto& trip) { trip.version = 0; }},
    {"timeout", "between", [](auto& trip) { trip.timeout = 24h * 366; }},
    {"steps", "none", [](auto& trip) { trip.steps.clear(); }},
    {"isolate", "no step has an output",
     [](auto& trip) { trip.isolate = "${steps.flight.output.id}"; }},
    {"isolate", "", [](auto& trip) { trip.isolate = "${nonsense}"; }},
    {"labels", "twice", [](auto& trip) { trip.labels.push_back(trip.labels[0]); }},
    {"labels", "empty", [](auto& trip) { trip.labels[0].value = ""; }},
    {"labels", "name", [](auto& trip) { trip.labels[0].name = ""; }},
    {"labels", "at most 16",
     [](auto& trip) {
       for (int more = 0; more < 16; ++more) {
         trip.labels.push_back({.name = "l" + std::to_string(more), .value = "v"});
       }
     }},
    {"steps", "at most 200",
     [](auto& trip) {
       trip.steps.clear();
       for (int more = 0; more <= 200; ++more) {
         trip.steps.push_back(
             {.name = "s" + std::to_string(more), .action = "fn:f", .compensation = "none"});
       }
     }},
};

// Steps by their place in `right_trip`.
const std::vector<Mistake> mistakes_of_steps{
    {"name", "letters", [](auto& trip) { trip.steps[0].name = "a flight"; }},
    {"name", "earlier step", [](auto& trip) { trip.steps[1].name = "flight"; }},
    {"timeout", "between", [](auto& trip) { trip.steps[0].timeout = -1s; }},
    {"attempt_timeout", "between", [](auto& trip) { trip.steps[0].attempt_timeout = -1s; }},
    {"retry", "attempts_max", [](auto& trip) { trip.steps[0].retry.attempts_max = 0; }},
    {"retry", "at most 1000", [](auto& trip) { trip.steps[0].retry.attempts_max = 1001; }},
    {"compensation_retry", "attempts_max",
     [](auto& trip) { trip.steps[0].compensation_retry = RetryPolicy{.attempts_max = 0}; }},
    {"compensation_retry", "no compensation",
     [](auto& trip) { trip.steps[4].compensation_retry = RetryPolicy{}; }},
    {"action", "", [](auto& trip) { trip.steps[0].action = "book"; }},
    {"compensation", "", [](auto& trip) { trip.steps[0].compensation = "cancel"; }},
    {"compensation", "is missing", [](auto& trip) { trip.steps[0].compensation.reset(); }},
    {"compensation", "a pivot has none", [](auto& trip) { trip.steps[3].compensation = "none"; }},
    {"compensation", "nothing to undo",
     [](auto& trip) { trip.steps[2].compensation = "fn:cancel"; }},
    {"compensation", "would never run",
     [](auto& trip) { trip.steps[4].compensation = "fn:cancel"; }},
    {"pivot", "only one",
     [](auto& trip) {
       trip.steps[4].pivot = true;
       trip.steps[4].compensation.reset();
     }},
    {"tag", "stands alone", [](auto& trip) { trip.steps[3].tag = "alone"; }},
    {"tag", "next to each other", [](auto& trip) { trip.steps[4].tag = "bookings"; }},
    {"tag", "letters", [](auto& trip) { trip.steps[4].tag = "a tag"; }},
    {"", "does nothing", [](auto& trip) { trip.steps[2].wait = SagaWait::none; }},
    {"wait", "says in its answer", [](auto& trip) { trip.steps[0].wait = SagaWait::callback; }},
    {"wait", "cannot also wait", [](auto& trip) { trip.steps[0].wait = SagaWait::approval; }},
    {"signal", "only a step with wait: signal", [](auto& trip) { trip.steps[2].signal = "paid"; }},
    {"signal", "letters",
     [](auto& trip) {
       trip.steps[2].wait = SagaWait::signal;
       trip.steps[2].signal = "a signal";
     }},
    {"delay", "only a step with wait: timer", [](auto& trip) { trip.steps[2].delay = 1s; }},
    {"delay", "is missing", [](auto& trip) { trip.steps[2] = timer("wait", 0s); }},
    {"timeout", "always time out",
     [](auto& trip) {
       trip.steps[2] = timer("wait", 10min);
       trip.steps[2].timeout = 10min;
     }},
    {"", "is unreachable", [](auto& trip) { trip.steps[2] = timer("wait", 3h); }},
    {"table", "only an outbox:", [](auto& trip) { trip.steps[0].table = "orders"; }},
    {"table", "", [](auto& trip) { trip.steps[4].table = "no table"; }},
    {"in_doubt", "idempotent: false",
     [](auto& trip) { trip.steps[0].in_doubt = SagaInDoubt::wait; }},
    {"idempotent", "calls nothing", [](auto& trip) { trip.steps[2].idempotent = false; }},
    {"no_compensation", "compensation: none",
     [](auto& trip) { trip.steps[0].no_compensation = SagaNoCompensation::wait; }},
    {"input", "takes none", [](auto& trip) { trip.steps[2].input = "{}"; }},
    {"input", "", [](auto& trip) { trip.steps[0].input = "{"; }},
    {"input", "there is no step",
     [](auto& trip) { trip.steps[3].input = R"("${steps.train.output}")"; }},
    {"input", "only earlier",
     [](auto& trip) { trip.steps[3].input = R"("${steps.ticket.output}")"; }},
    {"input", "only earlier", [](auto& trip) { trip.steps[3].input = R"("${steps.pay.output}")"; }},
    {"input", "at the same time",
     [](auto& trip) { trip.steps[1].input = R"("${steps.flight.output}")"; }},
    {"compensation_input", "no compensation",
     [](auto& trip) { trip.steps[4].compensation_input = "{}"; }},
};

void expect_one(const Mistake& mistake, bool of_a_step) {
  auto trip = right_trip();
  mistake.make(trip);
  const auto problems = problems_of(trip);
  ASSERT_EQ(problems.size(), 1U) << mistake.field << ": " << mistake.says;
  EXPECT_EQ(problems[0].field, mistake.field);
  EXPECT_NE(problems[0].message.find(mistake.says), std::string::npos)
      << mistake.field << ": " << problems[0].message;
  EXPECT_FALSE(problems[0].message.empty());
  EXPECT_EQ(problems[0].step.has_value(), of_a_step) << mistake.field << ": " << mistake.says;
  EXPECT_EQ(trip.check().error().code, Code::config_invalid);
}

TEST(SagaDefinitionCheck, FindsNothingWrongWithARightOne) {
  EXPECT_TRUE(problems_of(right_trip()).empty());
  EXPECT_TRUE(right_trip().check().ok());
  // An own output is known when the step is undone, and that of a step before.
  auto trip = right_trip();
  trip.steps[1].compensation_input = R"({"room": "${steps.hotel.output.room}"})";
  trip.steps[3].input = R"({"seat": "${steps.flight.output.seat}"})";
  EXPECT_TRUE(problems_of(trip).empty());
}

TEST(SagaDefinitionCheck, EachMistakeOfTheWholeIsNamedOnce) {
  for (const auto& mistake : mistakes_of_the_whole) expect_one(mistake, false);
}

TEST(SagaDefinitionCheck, EachMistakeOfAStepIsNamedOnceWithItsStep) {
  for (const auto& mistake : mistakes_of_steps) expect_one(mistake, true);
}

TEST(SagaDefinitionCheck, AllMistakesAreToldAtOnce) {
  auto trip = right_trip();
  trip.version = 0;
  trip.steps[0].compensation.reset();
  trip.steps[2].idempotent = false;
  const auto checked = trip.check();
  for (const auto* part : {"version", "step flight", "step approve"}) {
    EXPECT_NE(checked.error().message.find(part), std::string::npos) << checked.error().message;
  }
}

}  // namespace
}  // namespace sagabox::saga
