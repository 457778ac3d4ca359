#include "server/api/readiness.hpp"

#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

namespace sagabox::server {
namespace {

using namespace std::chrono_literals;

TEST(Readiness, NotReadyWhileTheStoreTakesNoResults) {
  testing::FakeClock clock;
  Readiness readiness({}, clock);
  const spi::TableStats stats{.now = clock.wall_now()};
  OutboxSnapshot snapshot;
  EXPECT_TRUE(readiness.judge("orders", stats, snapshot).ready);
  snapshot.settle_failure = Code::storage_unavailable;
  snapshot.settle_failing_since = clock.boot_now();
  clock.advance(4s);
  EXPECT_TRUE(readiness.judge("orders", stats, snapshot).ready) << "a short fail-over";
  clock.advance(8s);
  const auto full = readiness.judge("orders", stats, snapshot);
  EXPECT_FALSE(full.ready);
  EXPECT_EQ(full.text, "its store takes no results: STORAGE.UNAVAILABLE for 12s");
  snapshot.settle_failure.reset();
  const auto again = readiness.judge("orders", stats, snapshot);
  EXPECT_TRUE(again.ready);
  EXPECT_EQ(again.text, "");
}

}  // namespace
}  // namespace sagabox::server
