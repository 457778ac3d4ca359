#include "stores/postgres/outbox/pages.hpp"

#include <gtest/gtest.h>

namespace sagabox::postgres {
namespace {

std::vector<std::size_t> parts_of(std::size_t ranges, std::uint32_t rows_max) {
  const std::vector<spi::Range> asked(ranges, spi::Range{Shard{0}, spi::Lane{1}, {}, rows_max});
  std::vector<std::size_t> sizes;
  for (const auto& part : in_parts(asked)) sizes.push_back(part.size());
  return sizes;
}

using Sizes = std::vector<std::size_t>;

TEST(ReadParts, AreEvenAndAtMostFour) {
  EXPECT_EQ(parts_of(16, 250), (Sizes{4, 4, 4, 4}));
  EXPECT_EQ(parts_of(4, 1'000), (Sizes{1, 1, 1, 1}));
  EXPECT_EQ(parts_of(8, 1'000'000'000), (Sizes{2, 2, 2, 2}));
  EXPECT_EQ(parts_of(7, 1'000), (Sizes{2, 2, 2, 1}));
  EXPECT_EQ(parts_of(1, 1'000'000), (Sizes{1}));
}

TEST(ReadParts, AreNotSmall) {
  EXPECT_EQ(parts_of(16, 31), (Sizes{16}));
  EXPECT_EQ(parts_of(16, 63), (Sizes{8, 8}));
  EXPECT_EQ(parts_of(0, 0), (Sizes{0}));
}

}  // namespace
}  // namespace sagabox::postgres
