#pragma once

#include <string_view>

namespace sagabox {

/// In the note of every message that was quarantined because the store refused its result; what
/// happened to the message stands before it, the refusal after it.
inline constexpr std::string_view result_refused_mark = "could not be stored: ";

/// Whether a quarantined message with this note was set aside for that.
inline bool tells_of_refused_result(std::string_view note) noexcept {
  return note.find(result_refused_mark) != std::string_view::npos;
}

/// … and had been delivered before.
inline bool tells_of_delivery(std::string_view note) noexcept {
  return tells_of_refused_result(note) && note.starts_with("it WAS delivered");
}

}  // namespace sagabox
