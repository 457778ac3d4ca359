#pragma once

#include "simulation/saga/participants.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace sagabox::simulation {

/// A mistake that the simulation must find.
enum class SagaVariant : std::uint8_t {
  real,
  no_unknown_after_take_over,
  compensation_before_call_ended,
  reply_counted_twice,
  batch_not_fenced,
};

struct SagaReport {
  std::uint64_t seed = 0;
  std::optional<std::string> violation{};
  std::uint64_t events = 0;
  std::map<std::string, std::uint64_t> counts{};  ///< what happened, to see that it did
  std::string trace{};                            ///< the last lines
};

/// Several processes run sagas on one memory store, in virtual time, with scripted participants:
/// crashes between any two calls of the store, leases that run out, commits whose answer is lost.
SagaReport simulate_sagas(std::uint64_t seed, SagaVariant variant = SagaVariant::real);

}  // namespace sagabox::simulation
