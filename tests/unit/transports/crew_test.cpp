#include "transports/crew.hpp"

#include "support/collected_results.hpp"

#include <sagabox/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <future>

namespace sagabox::transports {
namespace {

using Kind = spi::SendResult::Kind;
using testing::CollectedResults;
using namespace std::chrono_literals;

class CrewTest : public ::testing::Test {
 protected:
  std::uint64_t send(Crew& crew, Duration time) {
    auto message = std::make_shared<const Message>(
        Message::build({.topic = "t", .payload = json("1")}, {}, ids_, system_clock()).value());
    messages_.push_back(message);
    std::vector<spi::Parcel> one{{.ticket = spi::Ticket{++last_},
                                  .message = std::move(message),
                                  .address = std::make_shared<const LocalName>("f", 1),
                                  .table = &table_,
                                  .deadline = system_clock().boot_now() + time}};
    crew.send(one, results_);
    return last_;
  }
  /// Messages that somebody still holds.
  [[nodiscard]] std::size_t held() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(messages_, [](const auto& message) { return !message.expired(); }));
  }

  TableName table_ = TableName::parse("orders").value();
  UlidSource ids_{system_clock(), system_random()};
  std::vector<std::weak_ptr<const Message>> messages_;
  CollectedResults results_;
  std::uint64_t last_ = 0;
};

TEST_F(CrewTest, WhileFunctionsHangWhatWaitedForThemIsPutOffAndLetGo) {
  std::promise<void> may_return;
  std::promise<void> called;
  bool first = true;
  Crew crew({.clock = system_clock(),
             .threads = 1,
             .in_flight_max = 4,
             .call = [&](const LocalName&, const Delivery&) -> spi::SendResult {
               if (std::exchange(first, false)) {
                 called.set_value();
                 may_return.get_future().wait();
               }
               return {};
             }});
  const auto stuck = send(crew, 50ms);
  called.get_future().wait();
  EXPECT_EQ(results_.only(stuck).kind, Kind::timed_out);
  for (int i = 0; i < 200; ++i) {
    const auto waiting = send(crew, 1ms);
    EXPECT_EQ(results_.only(waiting).kind, Kind::later);
  }
  // Who tells the last one may still have it in hand.
  const auto give_up = system_clock().boot_now() + 30s;
  while (held() > 1 && system_clock().boot_now() < give_up) std::this_thread::yield();
  EXPECT_EQ(held(), 1U) << "only the one that hangs";
  may_return.set_value();
  EXPECT_EQ(results_.only(send(crew, 30s)).kind, Kind::delivered);
}

}  // namespace
}  // namespace sagabox::transports
