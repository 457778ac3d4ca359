#include "unit/outbox/relay_world.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace sagabox::outbox {
namespace {

/// A backlog of which half of the shards have three times the rows of the others, spread over the
/// whole table: every second message has no key, and those are spread by sequence.
class LevellingTest : public RelayWorld {
 protected:
  static constexpr std::uint16_t shards = 8;
  static constexpr std::size_t pairs = 40'000;

  explicit LevellingTest(std::uint32_t capacity = 1000)
      : RelayWorld({.shards = shards, .options = {.cold_capacity = capacity, .read_ahead = 0}}) {}

  void write_backlog() {
    std::vector<NewMessage> messages;
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      messages.push_back(
          {.topic = "orders", .key = "key-" + std::to_string(pair % 1000), .payload = json("{}")});
      messages.push_back({.topic = "orders", .payload = json("{}")});
    }
    write(std::move(messages));
  }
  /// One read, and all that it brought is settled. How far the places where shards read on were
  /// apart; nothing at the end of the backlog.
  std::optional<std::uint64_t> one_read() {
    relay.wake();
    while (const auto plan = relay.intake().plan(now())) {
      const auto* fresh = std::get_if<FreshRead>(&plan->what);
      relay.intake().apply(*plan, relay.intake().perform(*plan), now());
      if (fresh == nullptr) continue;
      handle();
      settle();
      return apart(*fresh);
    }
    return std::nullopt;
  }
  static std::optional<std::uint64_t> apart(const FreshRead& read) {
    std::vector<Sequence> places;
    for (const auto& page : read.pages) {
      if (!page.probe && page.range.lane.value == 1) places.push_back(page.range.after);
    }
    if (places.empty()) return std::nullopt;
    const auto [first, last] = std::ranges::minmax(places);
    return last.value - first.value;
  }
};

/// So little room that a page has a dozen rows.
class LevellingInSmallPagesTest : public LevellingTest {
 protected:
  LevellingInSmallPagesTest() : LevellingTest(100) {}
};

TEST_F(LevellingTest, ShardsWithMoreRowsAreReadAsFarAsTheOthers) {
  write_backlog();
  std::uint64_t furthest = 0;
  int reads = 0;
  for (auto seen = one_read(); seen; seen = one_read(), ++reads) {
    furthest = std::max(furthest, *seen);
  }
  EXPECT_LE(reads, 100) << "pages of 1,000";
  // Equal shares come to 53,000.
  EXPECT_LE(furthest, 2000U);
  EXPECT_EQ(store.outbox_admin().stats(table).value().pending, 0U);
}

TEST_F(LevellingInSmallPagesTest, AreLevelAlso) {
  write_backlog();
  std::uint64_t furthest = 0;
  for (auto seen = one_read(); seen; seen = one_read()) furthest = std::max(furthest, *seen);
  EXPECT_LE(furthest, 500U);
  EXPECT_EQ(store.outbox_admin().stats(table).value().pending, 0U);
}

}  // namespace
}  // namespace sagabox::outbox
