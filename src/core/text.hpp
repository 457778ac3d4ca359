#pragma once

#include <sagabox/time.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace sagabox {

/// One character at the start of a text.
struct Utf8Character {
  std::size_t bytes = 0;  ///< 0: not well-formed UTF-8 here
  char32_t code_point = 0;
};
Utf8Character utf8_front(std::string_view text) noexcept;

/// C0, DEL and C1.
constexpr bool is_control(char32_t c) noexcept { return c < 0x20 || (c >= 0x7f && c <= 0x9f); }

/// Properties of a text, computed in one pass.
struct TextFacts {
  std::size_t characters = 0;
  /// The position of the first control character or malformed byte; npos if there is none.
  std::size_t unprintable_at = std::string_view::npos;
};
TextFacts text_facts(std::string_view text) noexcept;

/// What is wrong with a name and what would be right; empty if it has 1 to `length_max` characters,
/// all printable.
std::string name_problem(std::string_view text, std::size_t length_max);

/// `text` in quotes for an error message: truncated, with ? for characters that are not printable.
std::string quoted(std::string_view text);
// Without these overloads, std::quoted would be a better match for a std::string.
inline std::string quoted(const std::string& text) { return quoted(std::string_view(text)); }
inline std::string quoted(const char* text) { return quoted(std::string_view(text)); }

/// Returns `text` with every `what` replaced by `by`.
std::string replaced(std::string_view text, std::string_view what, std::string_view by);

/// "200ms", "1.5s", "250us": the format of configuration files.
std::string duration_text(Duration duration);

/// "300ms", "11s", "4m08s", "1h40m", "3d04h": an age for display; "0s" below zero.
std::string age_text(Duration age);

/// "2026-01-01T00:00:00.000Z"
std::string utc_text(WallTime time);

}  // namespace sagabox
