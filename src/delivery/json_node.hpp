#pragma once

#include <sagabox/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::delivery {

/// A JSON value as it was written, to be read member by member. Filters and the settings of
/// subscriptions are read from it.
struct JsonNode {
  enum class Kind : std::uint8_t { null, boolean, number, text, list, object };
  struct Member;

  Kind kind = Kind::null;
  std::string text{};  ///< of a text, unescaped; of a number or boolean, its spelling
  /// Exact for every 64-bit integer where a long double has 64 bits of mantissa.
  long double number = 0;
  std::vector<Member> members;  ///< of a list without names
};

struct JsonNode::Member {
  std::string name{};
  JsonNode value{};
};

/// "an object", "a number" …
std::string_view kind_text(JsonNode::Kind kind) noexcept;

struct JsonBounds {
  std::size_t bytes_max = 0;
  std::size_t depth_max = 0;
};

/// SCHEMA.VALIDATION_FAILED for what is not JSON, goes over a bound, or has a name twice in one
/// object; begins with `where`.
Result<JsonNode> parse_node(std::string_view json, std::string_view where,
                            const JsonBounds& bounds);

/// "filter.and[1]", then "total" → "filter.and[1].total"; names that are not words are quoted.
std::string place_of(std::string_view where, std::string_view name);
std::string place_of(std::string_view where, std::size_t index);

/// "PLACE: PROBLEM"
Error misplaced(std::string_view place, std::string_view problem);

}  // namespace sagabox::delivery
