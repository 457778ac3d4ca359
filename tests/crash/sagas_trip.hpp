#pragma once

#include <sagabox/saga_definition.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace sagabox::crash {

/// The steps of a trip; each has a participant of its own.
inline const std::vector<std::string> trip_steps{"flight", "hotel", "car", "pay"};

/// Of the tokens by which participants reply.
inline const std::string trip_secret = "a secret of this test";

/// Flight and hotel together, then a car, then the payment, which is the pivot. The car of a "tour"
/// must not be asked for twice, so a tour whose car is in doubt is cancelled.
inline SagaDefinition trip(const std::string& name, const std::vector<std::uint16_t>& ports) {
  using std::chrono::milliseconds;
  const RetryPolicy retry{
      .attempts_max = 1000, .backoff_min = milliseconds(5), .backoff_max = milliseconds(100)};
  SagaDefinition definition{.name = name};
  for (std::size_t at = 0; at < trip_steps.size(); ++at) {
    const auto participant = "http://127.0.0.1:" + std::to_string(ports.at(at));
    SagaStep step{.name = trip_steps[at],
                  .action = participant + "/do",
                  .compensation = participant + "/undo",
                  .attempt_timeout = milliseconds(400),
                  .retry = retry};
    if (at < 2) step.tag = "bookings";
    if (step.name == "car") step.idempotent = name != "tour";
    if (step.name == "pay") {
      step.pivot = true;
      step.compensation.reset();
      // Shows that outputs survive whoever had them in memory.
      step.input =
          R"({"fails_at": "${input.fails_at}", "ticket": "${steps.flight.output.ticket}"})";
    }
    definition.steps.push_back(std::move(step));
  }
  return definition;
}

}  // namespace sagabox::crash
