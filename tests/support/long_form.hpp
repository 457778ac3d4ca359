#pragma once

#include <cstdlib>
#include <utility>

namespace sagabox::testing {

/// A test that takes minutes at its full size runs smaller in `./dev test`. `./dev torture long`
/// sets SAGABOX_LONG and runs it at full size; the list of its suites is in `dev`.
template <class Size>
[[nodiscard]] Size short_or_long(Size short_form, Size long_form) {
  return std::getenv("SAGABOX_LONG") == nullptr ? std::move(short_form) : std::move(long_form);
}

}  // namespace sagabox::testing
