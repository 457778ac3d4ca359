#include "idempotency/request_purge.hpp"

#include <sagabox/random.hpp>
#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <string>

namespace sagabox::idempotency {
namespace {

using namespace std::chrono_literals;

class RequestPurgeTest : public ::testing::Test {
 protected:
  void take(const std::string& key) {
    store_
        .transaction([&](OwnedTransaction& tx) {
          return tx.inbox().first_time({.consumer = "billing", .key = key});
        })
        .value();
  }
  bool is_taken(const std::string& key) {
    const IdempotencyKey named{.consumer = "billing", .key = key};
    return store_.inbox()->taken(std::span(&named, 1)).value().front();
  }
  void request(const std::string& key) {
    const spi::IdempotencyCheck check{.key = {.consumer = "mail", .key = key},
                                      .ticket = IdempotencyTicket{1},
                                      .lease = 1s,
                                      .ttl = 1h};
    EXPECT_TRUE(store_.idempotency()->check(std::span(&check, 1)).value()[0].taken);
  }
  std::size_t requests() { return store_.idempotency()->list({}).value().size(); }
  double purged(const std::string& kind) const {
    return metrics_.counter_value("idempotency_purged_total", {{"kind", kind}});
  }
  void all_steps() {
    while (purge_.step()) {
    }
  }

  testing::FakeClock clock_;
  testing::RecordingMetrics metrics_;
  testing::RecordingLogger log_;
  memory::MemoryStore store_{{.clock = &clock_}};
  RequestPurge purge_{
      store_,
      {.interval = 1min, .rows_max = 2, .metrics = &metrics_, .log = &log_, .clock = &clock_}};
};

TEST_F(RequestPurgeTest, RemovesInBatchesWhatIsOlderThanTheWindow) {
  for (int i = 0; i < 5; ++i) take("old" + std::to_string(i));
  for (int i = 0; i < 3; ++i) request("r" + std::to_string(i));
  clock_.advance(7 * 24h);
  take("young");
  clock_.advance(25h);
  EXPECT_TRUE(purge_.step()) << "a full batch: there is more";
  EXPECT_EQ(purged("inbox"), 2);
  all_steps();
  EXPECT_EQ(purged("inbox"), 5);
  EXPECT_EQ(purged("request"), 3);
  EXPECT_EQ(requests(), 0U);
  EXPECT_FALSE(is_taken("old0"));
  EXPECT_TRUE(is_taken("young"));
}

TEST_F(RequestPurgeTest, LooksAgainAfterTheIntervalOnly) {
  all_steps();
  take("k");
  clock_.advance(9 * 24h);
  EXPECT_EQ(purge_.next(clock_.boot_now()), clock_.boot_now());
  all_steps();
  EXPECT_FALSE(is_taken("k"));
  EXPECT_EQ(purge_.next(clock_.boot_now()), clock_.boot_now() + 1min);
  EXPECT_FALSE(purge_.step());
}

TEST_F(RequestPurgeTest, ErrorIsLoggedAndTriedAgainInTheNextRound) {
  take("k");
  clock_.advance(9 * 24h);
  store_.set_faults([](memory::Operation asked) {
    return asked == memory::Operation::inbox ? memory::Fault::refused : memory::Fault::none;
  });
  EXPECT_FALSE(purge_.step());
  store_.set_faults({});
  EXPECT_TRUE(is_taken("k"));
  clock_.advance(1min);
  all_steps();
  EXPECT_FALSE(is_taken("k"));
}

}  // namespace
}  // namespace sagabox::idempotency
