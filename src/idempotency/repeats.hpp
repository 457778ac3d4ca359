#pragma once

#include <sagabox/error.hpp>
#include <sagabox/time.hpp>

#include <chrono>

namespace sagabox::idempotency {

/// Every call of an `IdempotencyStore` may be repeated with the same ticket, also one of which it
/// is not known whether it happened. One that failed is repeated at once and no more than this
/// often.
inline constexpr int tries_max = 3;
/// None begins later than this after the first call: a call that took all the time that its store
/// gives it is not made again, and holds its caller once.
inline constexpr Duration repeats_for = std::chrono::seconds(1);

inline bool may_repeat(const Error& error) {
  return is_retry_safe(error.code) || error.code == Code::storage_in_doubt;
}

template <class Call>
auto with_repeats(const Clock& clock, Call&& call) -> decltype(call()) {
  const auto until = clock.boot_now() + repeats_for;
  auto result = call();
  for (int tries = 1; tries < tries_max && !result.ok() && may_repeat(result.error()); ++tries) {
    if (clock.boot_now() >= until) break;
    result = call();
  }
  return result;
}

}  // namespace sagabox::idempotency
