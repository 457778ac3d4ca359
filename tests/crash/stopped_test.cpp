#include "crash/world.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <optional>

namespace sagabox::crash {
namespace {

using Kind = Delivered::Kind;

/// A relay is stopped with a message in its hands, another takes over, and the first goes on.
class PostgresStopped : public CrashTest {
 protected:
  struct Row {
    std::string version;  ///< changes with every write
    std::string attempts;
    friend bool operator==(const Row&, const Row&) = default;
  };

  /// One message, in the hands of a relay that is then stopped.
  void stop_with_a_message(Words settings) {
    stale = std::make_unique<Process>(ground->relay(std::move(settings)));
    ASSERT_TRUE(eventually([&] { return ground->shards_held() == 16; }));
    ground->write(1, "key-1", R"({"hold":")" + gate() + R"("})");
    ASSERT_TRUE(eventually([&] { return in_hands_of(*stale); }));
    stale->signal(SIGSTOP);
  }
  void take_over() {
    next = std::make_unique<Process>(ground->relay());
    ASSERT_TRUE(eventually([&] { return in_hands_of(*next); }));
    held = row();
  }
  /// The stopped one goes on, and comes to the end of its handler.
  void go_on() {
    let_go(*stale);
    stale->signal(SIGCONT);
    ASSERT_TRUE(eventually([&] { return noted(*stale, Kind::done); }));
  }
  void end_well() {
    let_go(*next);
    EXPECT_TRUE(ground->drained());
    EXPECT_EQ(next->stop(), 0);
    EXPECT_EQ(stale->stop(), 0);
    EXPECT_EQ(ground->problems(), "");
  }

  [[nodiscard]] std::string gate() const { return ground->file("gate").string(); }
  void let_go(const Process& process) const {
    std::ofstream(gate() + "." + std::to_string(process.id())).close();
  }
  [[nodiscard]] bool noted(const Process& process, Kind kind) const {
    const auto all = ground->notes().delivered;
    return std::ranges::any_of(
        all, [&](const Delivered& one) { return one.process == process.id() && one.kind == kind; });
  }
  [[nodiscard]] bool in_hands_of(const Process& process) const {
    return noted(process, Kind::held);
  }
  std::optional<Row> row() {
    const auto values =
        ground->sql("SELECT xmin, attempts FROM " + ground->in_schema("orders_outbox"));
    if (values.empty()) return std::nullopt;
    return Row{values.at(0), values.at(1)};
  }
  std::uint64_t live_workers() {
    return std::stoull(ground
                           ->sql("SELECT count(*) FROM " + ground->in_schema("worker") +
                                 " WHERE lease_until > clock_timestamp()")
                           .at(0));
  }
  /// As if it had been stopped for that long.
  void let_leases_run_out() {
    ground->sql("UPDATE " + ground->in_schema("worker") +
                " SET lease_until = clock_timestamp() - interval '1 second'");
  }
  [[nodiscard]] bool refused() const {
    const auto all = ground->notes().refused;
    return std::ranges::any_of(all, [&](const Refused& one) { return one.process == stale->id(); });
  }

  std::unique_ptr<Process> stale;
  std::unique_ptr<Process> next;
  std::optional<Row> held;
};

TEST_F(PostgresStopped, RelayStoppedLongerThanItsLeaseSettlesNothingAndComesBackAsNew) {
  stop_with_a_message({{"lease_ms", "1000"}});
  take_over();
  ASSERT_TRUE(held.has_value());
  go_on();
  EXPECT_TRUE(eventually([&] { return live_workers() == 2; })) << "it has joined again";
  EXPECT_TRUE(eventually([&] { return ground->owners() == 2; })) << "and got its share";
  EXPECT_EQ(row(), held) << "the message is its next owner's";
  end_well();
  EXPECT_EQ(ground->history().archived.size(), 1U);
}

TEST_F(PostgresStopped, SettleOfAnOwnerThatStillBelievesInItsLeaseIsRefused) {
  stop_with_a_message({});
  let_leases_run_out();
  take_over();
  ASSERT_TRUE(held.has_value());
  go_on();
  EXPECT_TRUE(eventually([&] { return refused(); })) << "by the fence alone";
  EXPECT_EQ(row(), held) << "the message is its next owner's";
  end_well();
}

TEST_F(PostgresStopped, WithoutTheFenceItsSettleGoesThrough) {
  stop_with_a_message({{"broken", "without_fence"}});
  let_leases_run_out();
  take_over();
  ASSERT_TRUE(held.has_value());
  go_on();
  EXPECT_TRUE(eventually([&] { return row() != held; })) << "so the tests above can fail";
  let_go(*next);
}

}  // namespace
}  // namespace sagabox::crash
