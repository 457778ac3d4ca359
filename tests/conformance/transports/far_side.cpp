#include "conformance/transports/far_side.hpp"

#include <algorithm>
#include <ostream>

namespace sagabox::testing {

std::string Arrived::attribute(std::string_view name) const {
  const auto found =
      std::ranges::find_if(attributes, [&](const auto& pair) { return pair.first == name; });
  return found == attributes.end() ? std::string() : found->second;
}

void PrintTo(const FarSideCase& which, std::ostream* out) { *out << which.name; }

}  // namespace sagabox::testing
