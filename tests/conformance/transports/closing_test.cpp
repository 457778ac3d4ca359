#include "conformance/transports/transport_conformance.hpp"

#include <thread>
#include <vector>

namespace sagabox::testing {
namespace {

TEST_P(TransportConformance, CloseWaitsForWhatIsUnderWay) {
  const auto to = fresh_target();
  const auto sent = parcels(std::min<std::size_t>(in_flight_max(), 100), to, 10);
  send(sent);
  transport().close(in(ample));
  tray().shut();
  expect_only({Kind::delivered});
  expect_arrived_once(sent, to);
}

TEST_P(TransportConformance, CloseUnderLoadLeavesNothingWithoutItsResult) {
  constexpr std::size_t threads = 3;
  const auto to = fresh_target();
  warm_up(to);
  std::vector<std::jthread> senders;
  for (std::size_t t = 0; t < threads; ++t) {
    senders.emplace_back([&](const std::stop_token& stop) {
      while (!stop.stop_requested() && tray().failures() < 100) {
        if (!tray().wait_for_room(in_flight_max() / 2)) return;
        send(parcels(std::clamp<std::size_t>(in_flight_max() / 8, 1, 16), to));
      }
    });
  }
  ASSERT_TRUE(tray().wait_for(Kind::delivered, 200)) << tray().summary();
  transport().close(in(ample));
  // They end because what is sent now is not taken.
  for (auto& sender : senders) sender.join();
  tray().shut();
  expect_only({Kind::delivered, Kind::unreachable});
  EXPECT_GE(tray().count(Kind::unreachable), 100U) << tray().summary();
  const auto delivered = tray().parcels(Kind::delivered);
  EXPECT_EQ(lost(delivered, arrivals(delivered, to)), "") << tray().summary();
}

TEST_P(TransportConformance, CloseOnAStalledServerEndsAtItsDeadline) {
  const auto to = fresh_target();
  warm_up(to);
  if (!far_side().stall()) GTEST_SKIP() << name() << ": its far side cannot be stalled";
  send(parcels(20, to, 5, std::chrono::minutes(2)));
  const auto deadline = in(brief);
  transport().close(deadline);
  EXPECT_LE(system_clock().boot_now(), deadline + OutTray::slack);
  tray().shut();
  far_side().go_on();
  EXPECT_EQ(tray().count(Kind::unreachable) + tray().count(Kind::timed_out), 20U)
      << tray().summary();
}

TEST_P(TransportConformance, AfterCloseNothingIsTakenAndASecondCloseIsNothing) {
  const auto to = fresh_target();
  warm_up(to);
  transport().close(in(ample));
  const auto sent = parcels(5, to, 2);
  send(sent);
  tray().shut();
  transport().close(in(ample));
  for (const auto& one : sent) {
    const auto result = tray().result(one.ticket);
    EXPECT_EQ(result.kind, Kind::unreachable) << kind_name(result.kind);
  }
}

TEST_P(TransportConformance, UnusedTransportClosesAtOnce) {
  const auto deadline = in(2 * OutTray::slack);
  transport().close(deadline);
  EXPECT_LT(system_clock().boot_now(), deadline - OutTray::slack);
}

}  // namespace
}  // namespace sagabox::testing
