#include "conformance/transports/transport_conformance.hpp"

#include <thread>

namespace sagabox::testing {
namespace {

TEST_P(TransportConformance, EveryParcelArrivesOnceAndHasOneResult) {
  const auto to = fresh_target();
  const auto sent = parcels(300, to, 20);
  send_in_turn(sent);
  expect_only({Kind::delivered});
  expect_arrived_once(sent, to);
}

TEST_P(TransportConformance, ParcelsWithoutAKeyArriveOnceToo) {
  const auto to = fresh_target();
  const auto sent = parcels(100, to);
  send_in_turn(sent);
  expect_only({Kind::delivered});
  expect_arrived_once(sent, to);
}

TEST_P(TransportConformance, AddressesDoNotGetEachOthersParcels) {
  const auto first = fresh_target();
  const auto second = fresh_target();
  const auto sent_first = parcels(40, first, 4);
  const auto sent_second = parcels(40, second, 4);
  auto mixed = sent_first;
  for (std::size_t i = 0; i < sent_second.size(); ++i) {
    mixed.insert(mixed.begin() + static_cast<std::ptrdiff_t>(2 * i), sent_second[i]);
  }
  send_in_turn(mixed);
  expect_only({Kind::delivered});
  expect_arrived_once(sent_first, first);
  expect_arrived_once(sent_second, second);
}

TEST_P(TransportConformance, OrderWithinAKeyIsKeptWhereItIsPromised) {
  if (!transport().traits().keeps_order) GTEST_SKIP() << name() << " does not promise order";
  const auto to = fresh_target();
  const auto sent = parcels(400, to, 8);
  send_in_turn(sent);
  expect_only({Kind::delivered});
  EXPECT_EQ(out_of_order(sent, arrivals(sent, to)), "");
}

TEST_P(TransportConformance, SeveralThreadsSendAtTheSameTime) {
  constexpr std::size_t threads = 4;
  const auto to = fresh_target();
  std::vector<std::vector<spi::Parcel>> each(threads);
  std::vector<spi::Parcel> all;
  for (std::size_t t = 0; t < threads; ++t) {
    for (std::size_t i = 0; i < 100; ++i) {
      const auto key = "thread-" + std::to_string(t) + "-" + std::to_string(i % 3);
      all.push_back(each[t].emplace_back(parcel(numbered(key), to)));
    }
  }
  {
    std::vector<std::jthread> senders;
    for (const auto& mine : each) senders.emplace_back([&] { send_in_turn(mine); });
  }
  expect_only({Kind::delivered});
  expect_arrived_once(all, to);
  if (transport().traits().keeps_order) {
    EXPECT_EQ(out_of_order(all, arrivals(all, to)), "");
  }
}

TEST_P(TransportConformance, BurstBeyondTheBoundIsDeliveredOrForLaterAndNothingIsLost) {
  const auto to = fresh_target();
  auto waiting = parcels(in_flight_max() + 200, to);
  send(waiting);
  ASSERT_TRUE(tray().wait_for_all()) << tray().summary();
  expect_only({Kind::delivered, Kind::busy, Kind::later});
  EXPECT_GE(tray().count(Kind::delivered), 1U);
  expect_arrived_once(tray().parcels(Kind::delivered), to);

  std::vector<spi::Parcel> again;
  for (const auto kind : {Kind::busy, Kind::later}) {
    for (const auto& refused : tray().parcels(kind)) again.push_back(parcel(refused.message, to));
  }
  send_in_turn(again);
  EXPECT_EQ(tray().count(Kind::delivered), waiting.size()) << tray().summary();
  expect_arrived_once(tray().parcels(Kind::delivered), to);
}

TEST_P(TransportConformance, MoreThanMayBeUnderWayAreForLater) {
  const auto to = fresh_target();
  warm_up(to);
  if (!far_side().stall()) GTEST_SKIP() << name() << ": its far side cannot be stalled";
  constexpr std::size_t excess = 50;
  // One for itself: where thousands are slow to make, the time of all is over before any goes.
  send(parcels(1, to, 0, brief));
  send(parcels(in_flight_max() + excess - 1, to, 0, brief));
  EXPECT_TRUE(tray().wait_for_all()) << tray().summary();
  far_side().go_on();
  EXPECT_GE(tray().count(Kind::busy) + tray().count(Kind::later), excess) << tray().summary();
  EXPECT_GE(tray().count(Kind::timed_out) + tray().count(Kind::unreachable), 1U)
      << tray().summary();
  expect_only({Kind::delivered, Kind::busy, Kind::later, Kind::timed_out, Kind::unreachable});
}

TEST_P(TransportConformance, NothingToSendIsNothing) {
  send({});
  const auto to = fresh_target();
  EXPECT_EQ(deliver(numbered(), to).kind, Kind::delivered);
}

TEST_P(TransportConformance, FindingsAreSoonThere) {
  const auto deadline = in(ample);
  const auto found = transport().findings(deadline);
  EXPECT_TRUE(found.ok()) << found.error().text();
  EXPECT_LT(system_clock().boot_now(), deadline - OutTray::slack);
}

}  // namespace
}  // namespace sagabox::testing
