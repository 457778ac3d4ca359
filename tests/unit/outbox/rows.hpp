#pragma once

#include "outbox/entry.hpp"
#include "unit/feed/model_table.hpp"

#include <sagabox/message.hpp>
#include <sagabox/spi/outbox_store.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// What tests of the outbox's pure parts have in common.
namespace sagabox::outbox::testing {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

using feed::testing::at;
using feed::testing::horizon;

inline std::shared_ptr<const Message> message(NewMessage draft) {
  static const sagabox::testing::FakeClock clock;
  static const auto random = seeded_random(1);
  static UlidSource ids(clock, *random);
  if (draft.topic.empty()) draft.topic = "orders.order.placed.v1";
  if (!draft.payload.given()) draft.payload = json("{}");
  return std::make_shared<const Message>(
      Message::build(std::move(draft), MessageRules{}, ids, clock).value());
}

inline std::shared_ptr<const Message> keyed(std::string key) {
  return message({.key = std::move(key)});
}

inline Entry entry(std::uint64_t sequence, std::string key = {}) {
  return {.message = message({.key = std::move(key)}), .sequence = Sequence{sequence}};
}

inline spi::Row row(std::uint64_t sequence, std::shared_ptr<const Message> message,
                    std::uint32_t attempts = 0) {
  spi::Row made;
  made.sequence = Sequence{sequence};
  made.id = message->id();
  made.attempts = attempts;
  made.message = std::move(message);
  return made;
}

inline spi::Row row(std::uint64_t sequence, std::string key = {}, std::uint32_t attempts = 0) {
  return row(sequence, message({.key = std::move(key)}), attempts);
}

inline spi::Row undecodable_row(std::uint64_t sequence) {
  auto made = row(sequence);
  made.message.reset();
  made.decode_error = "headers: not a JSON object of strings";
  return made;
}

inline std::vector<std::uint64_t> sequences(const std::vector<Entry>& entries) {
  std::vector<std::uint64_t> numbers;
  for (const auto& entry : entries) numbers.push_back(entry.sequence.value);
  return numbers;
}

}  // namespace sagabox::outbox::testing
