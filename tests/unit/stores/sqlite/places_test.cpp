#include "stores/sqlite/places.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace sagabox::sqlite {
namespace {

RC_GTEST_PROP(SqlitePlaces, SequenceComesBackFromEveryLane, ()) {
  const Sequence sequence{*rc::gen::inRange<std::uint64_t>(1, sequence_max + 1)};
  for (const auto from : every_lane) {
    RC_ASSERT(sequence_of(place_of(from, sequence)) == sequence);
    RC_ASSERT(place_of(from, sequence) <= last_of(from));
    RC_ASSERT(waits(place_of(from, sequence)) == (from == waiting_from));
  }
}

TEST(SqlitePlaces, LanesDoNotTouch) {
  EXPECT_LT(last_of(waiting_from), high_from);
  EXPECT_LT(last_of(high_from), low_from);
  EXPECT_LT(last_of(low_from), normal_from);
  EXPECT_EQ(place_of(normal_from, Sequence{std::numeric_limits<std::uint64_t>::max()}),
            last_of(normal_from));
}

}  // namespace
}  // namespace sagabox::sqlite
