#include "stores/postgres/outbox/settle_parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <vector>

namespace sagabox::postgres {
namespace {

constexpr Walk along_all{.shards = 16, .shards_all = 16};
constexpr Walk along_half{.shards = 8, .shards_all = 16};

/// Rows that are done; `in_parts` gets them in the order of their sequences.
class DoneRows {
 public:
  /// So many of a lane, each `apart` after the one before.
  DoneRows& add(std::size_t count, std::uint64_t apart,
                std::optional<spi::Lane> lane = spi::Lane{1}) {
    for (std::size_t i = 0; i < count; ++i) {
      items_.push_back({.sequence = Sequence{last_ += apart}, .lane = lane});
    }
    return *this;
  }
  DoneRows& from(std::uint64_t sequence) {
    last_ = sequence;
    return *this;
  }
  /// They point to these rows.
  [[nodiscard]] std::vector<DonePart> parts(const Walk& walk) const {
    SettledRows rows;
    for (const auto& item : items_) rows.push_back(&item);
    std::ranges::sort(rows, {}, [](const auto* item) { return item->sequence; });
    return in_parts(rows, walk);
  }

 private:
  std::vector<spi::Settlement> items_;
  std::uint64_t last_ = 0;
};

struct Shape {
  std::size_t rows;
  bool dense;
  bool operator==(const Shape&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << shape.rows << (shape.dense ? " dense" : " by key");
}
std::vector<Shape> shapes(const std::vector<DonePart>& parts) {
  std::vector<Shape> shapes;
  for (const auto& part : parts) shapes.push_back({part.rows.size(), part.dense});
  return shapes;
}
using Shapes = std::vector<Shape>;

TEST(SettleParts, AreWalkedAlongWhereRowsLieClose) {
  EXPECT_EQ(shapes(DoneRows().add(256, 1).parts(along_all)), (Shapes{{256, true}}));
  EXPECT_EQ(shapes(DoneRows().add(256, 9).parts(along_all)), (Shapes{{256, true}}));
  EXPECT_EQ(shapes(DoneRows().add(256, 10).parts(along_all)), (Shapes{{256, false}}));
}

TEST(SettleParts, DoNotCountRowsOfOtherShards) {
  EXPECT_EQ(shapes(DoneRows().add(256, 18).parts(along_half)), (Shapes{{256, true}}));
  EXPECT_EQ(shapes(DoneRows().add(256, 20).parts(along_half)), (Shapes{{256, false}}));
}

TEST(SettleParts, AreLookedForByKeyWhereThereAreFew) {
  EXPECT_EQ(shapes(DoneRows().add(255, 1).parts(along_all)), (Shapes{{255, false}}));
  EXPECT_EQ(shapes(DoneRows().parts(along_all)), Shapes{});
}

TEST(SettleParts, EndWhereNothingIsForAWhile) {
  const auto rows = DoneRows().add(300, 1).from(1'000).add(10, 50).from(2'000).add(400, 2);
  const auto parts = rows.parts(along_all);
  EXPECT_EQ(shapes(parts), (Shapes{{300, true}, {10, false}, {400, true}}));
  EXPECT_EQ(parts[2].rows.front()->sequence, Sequence{2'002});
  EXPECT_EQ(shapes(DoneRows().add(300, 1).from(398).add(300, 1).parts(along_all)),
            (Shapes{{600, true}}));
  EXPECT_EQ(shapes(DoneRows().add(300, 1).from(399).add(300, 1).parts(along_all)),
            (Shapes{{300, true}, {300, true}}));
}

TEST(SettleParts, PutTogetherWhatIsLookedForByKey) {
  EXPECT_EQ(shapes(DoneRows().add(100, 1).from(1'000).add(100, 1).parts(along_all)),
            (Shapes{{200, false}}));
}

TEST(SettleParts, WalkAlongOneLaneEach) {
  const auto rows = DoneRows().add(300, 2, spi::Lane{1}).from(1).add(300, 2, spi::Lane{0});
  const auto parts = rows.parts(along_all);
  EXPECT_EQ(shapes(parts), (Shapes{{300, true}, {300, true}}));
  for (const auto& part : parts) {
    EXPECT_TRUE(std::ranges::all_of(
        part.rows, [&](const auto* row) { return row->lane == part.rows.front()->lane; }));
    EXPECT_TRUE(
        std::ranges::is_sorted(part.rows, {}, [](const auto* row) { return row->sequence; }));
  }
  EXPECT_NE(parts[0].rows.front()->lane, parts[1].rows.front()->lane);
}

TEST(SettleParts, DoNotWalkWithoutALane) {
  EXPECT_EQ(shapes(DoneRows().add(300, 1, std::nullopt).parts(along_all)), (Shapes{{300, false}}));
}

/// A settle of items that name their shards in this order, so many of each.
class Settle {
 public:
  struct Run {
    std::uint16_t shard;
    std::size_t items;
  };
  explicit Settle(std::initializer_list<Run> runs) {
    for (const auto& run : runs) {
      for (std::size_t i = 0; i < run.items; ++i) items_.push_back({.shard = Shard{run.shard}});
      const auto named = [&](const spi::Fence& fence) { return fence.shard.value == run.shard; };
      if (std::ranges::none_of(fences_, named)) fences_.push_back({Shard{run.shard}, Epoch{7}});
    }
  }
  [[nodiscard]] std::optional<std::array<Half, 2>> halves(bool retains = true) const {
    return in_halves({table_, {"outbox:orders", {}, fences_}, items_, retains});
  }
  Settle& verdict_of_last(spi::Verdict verdict) {
    items_.back().verdict = verdict;
    return *this;
  }

 private:
  const TableName table_ = TableName::parse("orders").value();
  std::vector<spi::Settlement> items_;
  std::vector<spi::Fence> fences_;
};

std::vector<std::uint16_t> shards(const Half& half) {
  std::vector<std::uint16_t> shards;
  for (const auto& fence : half.fences) shards.push_back(fence.shard.value);
  return shards;
}
using Shards = std::vector<std::uint16_t>;

TEST(SettleHalves, AreCutWhereAShardEndsNearTheMiddle) {
  const auto halves = Settle({{3, 100}, {1, 200}, {2, 150}, {5, 250}}).halves();
  ASSERT_TRUE(halves);
  EXPECT_EQ((*halves)[0].items.size(), 300U);
  EXPECT_EQ((*halves)[1].items.size(), 400U);
  EXPECT_EQ(shards((*halves)[0]), (Shards{3, 1}));
  EXPECT_EQ(shards((*halves)[1]), (Shards{2, 5}));
}

TEST(SettleHalves, AreNotMadeOfFewRowsOrOneShard) {
  EXPECT_TRUE(Settle({{1, 256}, {2, 256}}).halves());
  EXPECT_FALSE(Settle({{1, 256}, {2, 255}}).halves());
  EXPECT_FALSE(Settle({{1, 255}, {2, 500}}).halves()) << "one would be small";
  EXPECT_FALSE(Settle({{1, 1'000}}).halves());
}

TEST(SettleHalves, DoNotNameAShardTwice) {
  EXPECT_FALSE(Settle({{1, 300}, {2, 300}, {1, 300}}).halves());
}

TEST(SettleHalves, AreForWhatIsArchivedOnly) {
  EXPECT_FALSE(Settle({{1, 300}, {2, 300}}).halves(false));
  EXPECT_FALSE(Settle({{1, 300}, {2, 300}}).verdict_of_last(spi::Verdict::retry).halves());
}

}  // namespace
}  // namespace sagabox::postgres
