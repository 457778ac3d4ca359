#pragma once

#include <sagabox/id.hpp>
#include <sagabox/spi/ownership_store.hpp>

#include <span>
#include <string>
#include <string_view>

/// Shared by the answers of every `explain`. Pure.
namespace sagabox::admin {

/// Null if the shard has no owner.
const spi::ShardOwner* owner_of(std::span<const spi::ShardOwner> owners, Shard shard);
/// "relay-b, lease 11s left, epoch 42", or "nobody".
std::string owner_text(const spi::ShardOwner* owner);

/// Adds a line, with its text in a column of its own.
void add_answer_line(std::string& text, std::string_view label, std::string_view line);

/// Prints the answer for a terminal, one line each, without a newline after the last. Reasons up to
/// `last_fact` describe the current state; those behind it say what is waited for, the first one
/// first, with `another` before the rest.
template <class Answer, class Why>
std::string answer_text(const Answer& answer, Why last_fact, std::string_view another) {
  std::string text = answer.state;
  bool first = true;
  for (const auto& reason : answer.reasons) {
    const bool waits = reason.why > last_fact;
    add_answer_line(text, !waits ? "because:" : first ? "waits for:" : another, reason.text);
    if (waits) first = false;
  }
  if (!answer.owner.empty()) add_answer_line(text, "owner:", answer.owner);
  if (!answer.next.empty()) add_answer_line(text, "next:", answer.next);
  return text;
}

}  // namespace sagabox::admin
