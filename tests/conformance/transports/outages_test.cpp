#include "conformance/transports/transport_conformance.hpp"

#include <algorithm>
#include <stop_token>
#include <thread>

namespace sagabox::testing {
namespace {

constexpr std::size_t keys = 6;

TEST_P(TransportConformance, RefusedIsRejectedAndHarmsNobodyElse) {
  const auto address = far_side().refusing_address();
  if (!address) GTEST_SKIP() << name() << ": its far side never refuses";
  const auto refusing = target(*address);
  const auto to = fresh_target();
  std::vector<spi::Parcel> refused;
  std::vector<spi::Parcel> taken;
  std::vector<spi::Parcel> mixed;
  for (std::size_t i = 0; i < 10; ++i) {
    mixed.push_back(refused.emplace_back(parcel(numbered(), refusing)));
    mixed.push_back(taken.emplace_back(parcel(numbered(), to)));
  }
  send_in_turn(mixed);
  for (const auto& one : refused) {
    const auto result = tray().result(one.ticket);
    EXPECT_EQ(result.kind, Kind::rejected) << kind_name(result.kind) << ": " << result.error;
  }
  EXPECT_EQ(tray().count(Kind::delivered), taken.size()) << tray().summary();
  expect_arrived_once(taken, to);
}

TEST_P(TransportConformance, StoppedServerIsUnreachableAndNoMessageIsBlamed) {
  const auto to = fresh_target();
  warm_up(to);
  if (!far_side().stop()) GTEST_SKIP() << name() << ": its far side cannot be stopped";
  send(parcels(20, to, keys, brief));
  EXPECT_TRUE(tray().wait_for_all()) << tray().summary();
  EXPECT_EQ(tray().count(Kind::unreachable) + tray().count(Kind::timed_out), 20U)
      << tray().summary();
  far_side().start();
  deliver_at_last(to);
}

TEST_P(TransportConformance, ServerThatWasNeverThereIsUnreachable) {
  const auto to = fresh_target();
  if (!far_side().stop()) GTEST_SKIP() << name() << ": its far side cannot be stopped";
  send(parcels(20, to, keys, brief));
  EXPECT_TRUE(tray().wait_for_all()) << tray().summary();
  EXPECT_EQ(tray().count(Kind::unreachable) + tray().count(Kind::timed_out), 20U)
      << tray().summary();
  far_side().start();
  deliver_at_last(to);
}

TEST_P(TransportConformance, StalledServerTimesOutAtTheDeadline) {
  const auto to = fresh_target();
  warm_up(to);
  if (!far_side().stall()) GTEST_SKIP() << name() << ": its far side cannot be stalled";
  send(parcels(20, to, keys, brief));
  EXPECT_TRUE(tray().wait_for_all(brief + OutTray::slack)) << tray().summary();
  far_side().go_on();
  expect_only({Kind::delivered, Kind::unreachable, Kind::timed_out, Kind::later});
  EXPECT_EQ(tray().failures(), 20U) << tray().summary();
  // Only what waits in a line may not come to an attempt.
  EXPECT_GE(tray().count(Kind::unreachable) + tray().count(Kind::timed_out), 1U)
      << tray().summary();
  deliver_at_last(to);
}

TEST_P(TransportConformance, ServerThatNeverAnswersAtAllTimesOutAtTheDeadline) {
  const auto to = fresh_target();
  if (!far_side().stall()) GTEST_SKIP() << name() << ": its far side cannot be stalled";
  send(parcels(20, to, keys, brief));
  EXPECT_TRUE(tray().wait_for_all(brief + OutTray::slack)) << tray().summary();
  far_side().go_on();
  expect_only({Kind::delivered, Kind::unreachable, Kind::timed_out, Kind::later});
  EXPECT_EQ(tray().failures(), 20U) << tray().summary();
  // Only what waits in a line may not come to an attempt.
  EXPECT_GE(tray().count(Kind::unreachable) + tray().count(Kind::timed_out), 1U)
      << tray().summary();
  deliver_at_last(to);
}

TEST_P(TransportConformance, ParcelsHaveDeadlinesOfTheirOwn) {
  const auto to = fresh_target();
  warm_up(to);
  if (!far_side().stall()) GTEST_SKIP() << name() << ": its far side cannot be stalled";
  auto soon = parcels(5, to, 0, brief);
  const auto late = parcels(5, to, 0, ample);
  soon.insert(soon.end(), late.begin(), late.end());
  send(soon);
  EXPECT_TRUE(tray().wait_for_results(6, brief + OutTray::slack)) << tray().summary();
  far_side().go_on();
  EXPECT_TRUE(tray().wait_for_all()) << tray().summary();
  EXPECT_GE(tray().failures(), 5U) << tray().summary();
  expect_only({Kind::delivered, Kind::timed_out, Kind::unreachable, Kind::later});
}

TEST_P(TransportConformance, NoParcelOvertakesOneOfItsKeyThatTimedOut) {
  if (!transport().traits().keeps_order) GTEST_SKIP() << name() << " does not promise order";
  const auto to = fresh_target();
  warm_up(to);
  if (!far_side().stall()) GTEST_SKIP() << name() << ": its far side cannot be stalled";
  auto mixed = parcels(keys, to, keys, brief);
  const auto late = parcels(2 * keys, to, keys, ample);
  mixed.insert(mixed.end(), late.begin(), late.end());
  send(mixed);
  EXPECT_TRUE(tray().wait_for_results(1 + keys, brief + OutTray::slack)) << tray().summary();
  far_side().go_on();
  EXPECT_TRUE(tray().wait_for_all()) << tray().summary();
  EXPECT_GE(tray().failures(), keys) << tray().summary();
  deliver_at_last(to);
  const auto arrived = arrivals(tray().parcels(Kind::delivered), to);
  EXPECT_EQ(tray().overtakings(arrived), std::vector<std::string>());
  EXPECT_EQ(out_of_order(mixed, arrived), "");
}

TEST_P(TransportConformance, PastItsDeadlineAParcelHasItsResultAtOnce) {
  const auto to = fresh_target();
  warm_up(to);
  auto late = parcels(5, to, 0, -std::chrono::seconds(1));
  send(late);
  ASSERT_TRUE(tray().wait_for_all(OutTray::slack)) << tray().summary();
  expect_only({Kind::delivered, Kind::timed_out, Kind::later});
  EXPECT_EQ(tray().failures(), late.size()) << tray().summary();
  EXPECT_EQ(deliver(numbered(), to).kind, Kind::delivered);
}

TEST_P(TransportConformance, ServerRestartsInTheMiddleAndWhatWasDeliveredIsThere) {
  const auto to = fresh_target();
  warm_up(to);
  std::jthread sender([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && tray().failures() == 0) {
      if (!tray().wait_for_room(in_flight_max() / 2)) return;
      send(parcels(std::min<std::size_t>(in_flight_max() / 2, 16), to, keys, ample));
    }
  });
  ASSERT_TRUE(tray().wait_for(Kind::delivered, 200)) << tray().summary();
  if (!far_side().stop()) GTEST_SKIP() << name() << ": its far side cannot be stopped";
  sender.join();
  EXPECT_TRUE(tray().wait_for_all()) << tray().summary();
  expect_only({Kind::delivered, Kind::unreachable, Kind::timed_out, Kind::later});
  const auto delivered = tray().parcels(Kind::delivered);

  far_side().start();
  deliver_at_last(to);
  if (!far_side().keeps_after_stop()) return;
  const auto arrived = arrivals(tray().parcels(Kind::delivered), to);
  EXPECT_EQ(lost(tray().parcels(Kind::delivered), arrived), "") << tray().summary();
  if (transport().traits().keeps_order) {
    EXPECT_EQ(tray().overtakings(arrived), std::vector<std::string>());
    EXPECT_EQ(out_of_order(delivered, arrived), "");
  }
}

}  // namespace
}  // namespace sagabox::testing
