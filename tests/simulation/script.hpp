#pragma once

#include "simulation/settings.hpp"

#include <sagabox/delivery.hpp>

#include <cstdint>
#include <string>

namespace sagabox::simulation {

/// What sort of message this is: its handler behaves accordingly at every attempt.
enum class Temper : std::uint8_t {
  good,    ///< succeeds, always
  flaky,   ///< fails in many ways, succeeds now and then
  bad,     ///< never succeeds
  slow,    ///< succeeds late, now and then past its deadline
  killer,  ///< takes its process down, always
  unroutable,
};

/// What a handler does in one call.
struct Act {
  enum class Kind : std::uint8_t { done, raise, retry, later, later_unspent, reject, kill };
  Kind kind = Kind::done;
  Duration takes{};
};

/// What the store refuses to store of a message, always.
enum class Refusal : std::uint8_t {
  none,
  result,     ///< it can be quarantined instead
  every_one,  ///< that too
};

/// How handlers behave, by the seed alone: the same message does the same at the same call.
class Script {
 public:
  explicit Script(const Settings& settings) : settings_(settings) {}

  [[nodiscard]] Temper temper(std::uint64_t message) const;
  /// Never `every_one` with a key: those behind it would wait for it for ever.
  [[nodiscard]] Refusal refusal(std::uint64_t message, bool has_key) const;
  /// `call` counts from 0 over all processes.
  [[nodiscard]] Act act(std::uint64_t message, std::uint32_t call) const;
  /// What the handler answers; throws for `raise`.
  [[nodiscard]] static Outcome answer(const Act& act);

 private:
  const Settings& settings_;
};

}  // namespace sagabox::simulation
