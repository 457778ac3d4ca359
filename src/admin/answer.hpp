#pragma once

#include <sagabox/id.hpp>
#include <sagabox/spi/ownership_store.hpp>

#include <span>
#include <string>
#include <string_view>

/// What the answers of every `explain` have in common. Pure.
namespace sagabox::admin {

/// Null: nobody has it.
const spi::ShardOwner* owner_of(std::span<const spi::ShardOwner> owners, Shard shard);
/// "relay-b, lease 11s left, epoch 42", or "nobody".
std::string owner_text(const spi::ShardOwner* owner);

/// One more line, its text in a column of its own.
void add_answer_line(std::string& text, std::string_view label, std::string_view line);

/// For a terminal, a line each, without a line's end after the last. Reasons up to `last_fact` say
/// what is so; those behind it what is waited for, the first one first, with `another` before the
/// rest.
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
