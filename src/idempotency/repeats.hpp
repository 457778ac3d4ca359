#pragma once

#include <sagabox/error.hpp>

namespace sagabox::idempotency {

/// Every call of an `IdempotencyStore` may be repeated with the same ticket, also one of which it
/// is not known whether it happened. One that failed is repeated at once and no more than this
/// often.
inline constexpr int tries_max = 3;

inline bool may_repeat(const Error& error) {
  return is_retry_safe(error.code) || error.code == Code::storage_in_doubt;
}

template <class Call>
auto with_repeats(Call&& call) -> decltype(call()) {
  auto result = call();
  for (int tries = 1; tries < tries_max && !result.ok() && may_repeat(result.error()); ++tries) {
    result = call();
  }
  return result;
}

}  // namespace sagabox::idempotency
