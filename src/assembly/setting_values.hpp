#pragma once

#include "assembly/setting.hpp"

#include <sagabox/json_schema.hpp>
#include <sagabox/time.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

/// The formats of values in a configuration. `read_value` returns what is wrong with a text and
/// what would be right; empty if nothing is.
namespace sagabox::assembly {

std::string read_value(const std::string& text, std::string& value);
std::string read_value(const std::string& text, bool& value);
std::string read_value(const std::string& text, double& value);
/// "500ms", "1.5s", "5m", "7d"; 0 needs no unit.
std::string read_value(const std::string& text, Duration& value);
std::string read_value(const std::string& text, std::chrono::seconds& value);
/// A whole number up to `most`.
std::string read_count(const std::string& text, std::uint64_t most, std::uint64_t& value);
/// The same with a unit, as in "64MiB".
std::string read_bytes(const std::string& text, std::uint64_t& value);

template <std::unsigned_integral Count>
  requires(!std::same_as<Count, bool>)
std::string read_value(const std::string& text, Count& value) {
  std::uint64_t wide = 0;
  auto problem = read_count(text, std::uint64_t{std::numeric_limits<Count>::max()}, wide);
  if (problem.empty()) value = static_cast<Count>(wide);
  return problem;
}

std::string show_value(const std::string& value);
std::string show_value(bool value);
std::string show_value(double value);
std::string show_value(Duration value);
std::string show_bytes(std::uint64_t value);
template <std::unsigned_integral Count>
  requires(!std::same_as<Count, bool>)
std::string show_value(Count value) {
  return std::to_string(value);
}

/// The value of an optional setting that is not set.
inline constexpr std::string_view unset_word = "none";

/// Empty if it is a JSON Schema, otherwise what is wrong with the file.
std::string read_schema_file(const std::string& path, std::optional<JsonSchema>& schema);

}  // namespace sagabox::assembly
