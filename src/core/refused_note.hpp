#pragma once

#include <string_view>

namespace sagabox {

/// Contained in the note of every message that was quarantined because the store refused its
/// result; the text before it says what happened to the message, the text after it why the store
/// refused.
inline constexpr std::string_view result_refused_mark = "could not be stored: ";

/// Whether a message with this note was quarantined for that reason.
inline bool tells_of_refused_result(std::string_view note) noexcept {
  return note.find(result_refused_mark) != std::string_view::npos;
}

/// Whether it was quarantined for that reason after it had been delivered.
inline bool tells_of_delivery(std::string_view note) noexcept {
  return tells_of_refused_result(note) && note.starts_with("it WAS delivered");
}

}  // namespace sagabox
