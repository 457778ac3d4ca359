#include "stores/postgres/own_settles.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sagabox::postgres {
namespace {

using Ids = std::vector<std::uint64_t>;

constexpr std::uint64_t connection = 3;

class OwnSettlesTest : public ::testing::Test {
 protected:
  /// What is left of these when the own ones are taken out.
  Ids left_of(const Ids& in_progress, std::uint64_t seen_by = connection) {
    spi::Horizon horizon;
    for (const auto id : in_progress) horizon.in_progress.push_back({id});
    settles.remove_from(horizon, seen_by);
    Ids left;
    for (const auto id : horizon.in_progress) left.push_back(id.value);
    return left;
  }

  OwnSettles settles;
};

TEST_F(OwnSettlesTest, TakesOutItsOwnAndNothingElse) {
  settles.add({8}, connection);
  settles.add({10}, connection);
  EXPECT_EQ(left_of({7, 8, 9, 10, 11}), (Ids{7, 9, 11}));
  EXPECT_EQ(left_of({}), Ids{});
}

TEST_F(OwnSettlesTest, NothingIsKnownAtFirst) { EXPECT_EQ(left_of({1, 2}), (Ids{1, 2})); }

TEST_F(OwnSettlesTest, ConnectionMadeAfterTheSettleProvesNothing) {
  settles.add({8}, connection);
  EXPECT_EQ(left_of({8}, connection + 1), Ids{8}) << "the server may have crashed between";
  EXPECT_EQ(left_of({8}, connection - 1), Ids{});
}

TEST_F(OwnSettlesTest, RemembersTheLatestSixtyFour) {
  for (std::uint64_t id = 100; id < 165; ++id) settles.add({id}, connection);
  EXPECT_EQ(left_of({100, 101, 164}), Ids{100});
}

}  // namespace
}  // namespace sagabox::postgres
