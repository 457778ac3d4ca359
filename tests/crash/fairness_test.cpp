#include "integration/postgres/world.hpp"
#include "support/scripted_transport.hpp"

#include <sagabox/router.hpp>

namespace sagabox::integration {
namespace {

using testing::ScriptedTransport;
using Kind = spi::SendResult::Kind;

/// A tenant with a million pending messages, each with a key of its own, and one who writes a
/// single one.
class PostgresFairness : public PostgresWorld {
 protected:
  void SetUp() override {
    PostgresWorld::SetUp();
    if (IsSkipped()) return;
    store->outbox().prepare(table).value();
    database->sql("INSERT INTO " + database->schema() +
                  ".orders_outbox (topic, payload, tenant, key, written_at, occurred_at) "
                  "SELECT 'large', '{}', 'large', 'key ' || number, at, at "
                  "FROM (SELECT clock_timestamp() AS at) AS now, "
                  "generate_series(1, 1000000) AS number");
  }

  Outbox sending(bool fair) {
    auto options = defaults();
    options.sink =
        Router::open({.routes = {{.topic = "large", .to = {{"test:large"}}},
                                 {.topic = "small", .to = {{fair ? "test:large" : "test:small"}}}},
                      .transports = {{"test", transport}},
                      .fair_tenants = fair,
                      .waiting_max = 64})
            .value();
    auto outbox = Outbox::single_process(*store, std::move(options)).value();
    outbox.start().value();
    return outbox;
  }
  void write_small(Outbox& outbox) {
    store
        ->transaction([&](OwnedTransaction& tx) {
          return outbox.write(
              tx, {.topic = "small", .key = "small", .payload = json("1"), .tenant = "small"});
        })
        .value();
  }
  [[nodiscard]] std::size_t small_sent(const std::string& address) const {
    const auto sent = transport->sent(address);
    return static_cast<std::size_t>(std::ranges::count_if(
        sent, [](const auto& parcel) { return parcel.message->tenant() == "small"; }));
  }
  /// Sent after the first small one and before the second.
  [[nodiscard]] std::size_t large_before_the_second_small() const {
    std::size_t small = 0;
    std::size_t large = 0;
    for (const auto& parcel : transport->sent("large")) {
      if (parcel.message->tenant() == "small") {
        ++small;
      } else if (small == 1) {
        ++large;
      }
    }
    return large;
  }
  /// A million rows are passed before the first goes, on a machine that may be busy.
  static constexpr Duration patience = std::chrono::minutes(4);
  /// Both of them go, and the second at once: the first has to wait until a relay that has just
  /// begun has passed the backlog.
  void two_go(Outbox& outbox, const std::string& address, const std::function<void()>& meanwhile) {
    for (std::size_t count = 1; count <= 2; ++count) {
      const auto begun = std::chrono::steady_clock::now();
      write_small(outbox);
      const auto went = [&] {
        meanwhile();
        return small_sent(address) >= count;
      };
      ASSERT_TRUE(eventually(went, patience)) << "number " << count;
      const auto took = std::chrono::steady_clock::now() - begun;
      RecordProperty("number_" + std::to_string(count) + "_ms",
                     std::to_string(took / std::chrono::milliseconds(1)));
    }
  }

  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
};

// One after the other on the same million: to write it takes longest.
TEST_F(PostgresFairness, OneMessageDoesNotWaitForAMillionOfAnotherTenantWhetherSlowOrDown) {
  {
    SCOPED_TRACE("its destination is down");
    transport->always("large", Kind::unreachable, "connection refused");
    auto outbox = sending(false);
    ASSERT_TRUE(eventually([&] { return !transport->sent("large").empty(); }));
    two_go(outbox, "small", [] {});
    ASSERT_TRUE(eventually([&] { return stats().done == 2; }));
    EXPECT_EQ(stats().dead, 0U);
    EXPECT_EQ(database->sql("SELECT count(*) FROM " + outbox_table() + " WHERE attempts = 0")[0],
              "1000000")
        << "no attempt was spent";
    EXPECT_TRUE(outbox.stop().ok());
  }
  SCOPED_TRACE("its destination is slow");
  transport->in_flight_max = 4;
  transport->hold("large");
  auto outbox = sending(true);
  ASSERT_TRUE(eventually([&] { return transport->held() == 4; }));
  // One is answered only when all places are taken, so each makes room for one.
  two_go(outbox, "large", [&] {
    if (transport->held() == 4) transport->answer();
  });
  EXPECT_LT(large_before_the_second_small(), 1'000U) << "of the million";
  transport->let_go();
  EXPECT_TRUE(outbox.stop().ok());
}

}  // namespace
}  // namespace sagabox::integration
