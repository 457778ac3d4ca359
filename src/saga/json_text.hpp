#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// JSON text that is known to be valid, looked at without making values of it: what is taken from
/// it keeps its spelling, numbers included.
namespace sagabox::saga {

/// The value at a path ("id", "rooms.0.price"), as it is written. An empty path is the whole text
/// without the space around it; nullopt: nothing is there. Of equal names the first counts.
std::optional<std::string_view> json_at(std::string_view json, std::string_view path);

/// What a JSON string says, its quotes and escapes removed.
std::string unescaped(std::string_view json_string);

/// What is wrong with JSON that is stored inside the body of a saga; empty: nothing. Its levels
/// and those around it stay below `json_depth_max`, so that the body can be read again.
std::string stored_json_problem(std::string_view json);

/// Without space between the tokens.
std::string compact(std::string_view json);

struct JsonMember {
  std::string name{};
  std::string_view value{};  ///< as it is written
};
/// Of an object, in their order; nullopt for anything else.
std::optional<std::vector<JsonMember>> members_of(std::string_view json);
/// Of an array; nullopt for anything else.
std::optional<std::vector<std::string_view>> elements_of(std::string_view json);

/// Where the value or string that begins at `at` ends. No further than the text.
std::size_t value_end(std::string_view json, std::size_t at) noexcept;
std::size_t string_end(std::string_view json, std::size_t at) noexcept;
std::size_t after_space(std::string_view json, std::size_t at) noexcept;

}  // namespace sagabox::saga
