#include "conformance/transports/out_tray.hpp"

#include "conformance/transports/arrivals.hpp"

#include <sagabox/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

// The suite must be able to fail: a transport in memory with one fault at a time, and what notices.
namespace sagabox::testing {
namespace {

enum class Fault : std::uint8_t {
  none,
  loses_a_result,
  doubles_a_result,
  answers_a_stranger,
  shows_the_payload,
  says_nothing,
  loses_a_message,
  doubles_a_message,
  reorders,
  overtakes,
};

class FaultyTransport {
 public:
  explicit FaultyTransport(Fault fault) : fault_(fault) {}

  std::vector<Arrived> send(std::span<const spi::Parcel> parcels, spi::SendResults& results) const {
    std::vector<Arrived> arrived;
    for (std::size_t at = 0; at < parcels.size(); ++at) {
      const auto& parcel = parcels[at];
      const bool odd = at == parcels.size() / 2;
      auto result = odd ? faulty_result(parcel) : spi::SendResult{};
      const bool lost = odd && fault_ == Fault::loses_a_message;
      const int times = lost || result.kind != spi::SendResult::Kind::delivered ? 0 : 1;
      for (int i = 0; i < times + (odd && fault_ == Fault::doubles_a_message ? 1 : 0); ++i) {
        arrived.push_back({.payload = std::string(parcel.message->payload().view())});
      }
      if (odd && fault_ == Fault::doubles_a_result) results.sent(parcel.ticket, result);
      if (odd && fault_ == Fault::answers_a_stranger) results.sent(spi::Ticket{1000}, result);
      if (!odd || fault_ != Fault::loses_a_result) results.sent(parcel.ticket, std::move(result));
    }
    if (fault_ == Fault::reorders) std::iter_swap(arrived.begin(), arrived.begin() + 2);
    return arrived;
  }

 private:
  [[nodiscard]] spi::SendResult faulty_result(const spi::Parcel& parcel) const {
    using Kind = spi::SendResult::Kind;
    switch (fault_) {
      case Fault::shows_the_payload:
        return {.kind = Kind::rejected, .error = std::string(parcel.message->payload().view())};
      case Fault::says_nothing:
        return {.kind = Kind::failed};
      case Fault::overtakes:
        return {.kind = Kind::timed_out, .error = "no answer"};
      default:
        return {};
    }
  }

  Fault fault_;
};

class FaultFinding : public ::testing::Test {
 protected:
  void run(Fault fault) {
    UlidSource ids(system_clock(), system_random());
    for (std::uint64_t n = 1; n <= 8; ++n) {
      auto message = Message::build(
          {.topic = "t",
           .key = "key-" + std::to_string(n % 2),
           .payload = json("\"" + std::string(payload_marker) + std::to_string(n) + "\"")},
          {}, ids, system_clock());
      sent_.push_back({.ticket = spi::Ticket{n},
                       .message = std::make_shared<const Message>(std::move(message).value()),
                       .deadline = system_clock().boot_now() + std::chrono::minutes(1)});
    }
    tray_.hand_over(sent_);
    arrived_ = FaultyTransport(fault).send(sent_, tray_);
  }

  OutTray tray_;
  std::vector<spi::Parcel> sent_;
  std::vector<Arrived> arrived_;
};

TEST_F(FaultFinding, NothingIsSaidAboutOneWithoutFaults) {
  run(Fault::none);
  EXPECT_TRUE(tray_.wait_for_all(Duration{}));
  EXPECT_EQ(tray_.problems(), std::vector<std::string>());
  EXPECT_EQ(tray_.overtakings(arrived_), std::vector<std::string>());
  EXPECT_EQ(lost(sent_, arrived_) + doubled(sent_, arrived_) + out_of_order(sent_, arrived_), "");
}

TEST_F(FaultFinding, LostResult) {
  run(Fault::loses_a_result);
  EXPECT_FALSE(tray_.wait_for_all(Duration{}));
  EXPECT_EQ(tray_.problems(), std::vector<std::string>{"ticket 5: no result"});
}

TEST_F(FaultFinding, DoubledResult) {
  run(Fault::doubles_a_result);
  EXPECT_EQ(tray_.problems(), std::vector<std::string>{"ticket 5: 2 results"});
}

TEST_F(FaultFinding, ResultOfNobody) {
  run(Fault::answers_a_stranger);
  EXPECT_EQ(tray_.problems().size(), 1U);
}

TEST_F(FaultFinding, ResultAfterTheEnd) {
  run(Fault::loses_a_result);
  tray_.shut();
  tray_.sent(spi::Ticket{5}, {});
  EXPECT_EQ(tray_.problems(), std::vector<std::string>{"ticket 5: a result after the end"});
}

TEST_F(FaultFinding, LateResult) {
  run(Fault::loses_a_result);
  sent_[4].deadline = system_clock().boot_now() - 2 * OutTray::slack;
  tray_.hand_over(std::span(sent_).subspan(4, 1));
  tray_.sent(spi::Ticket{5}, {});
  ASSERT_EQ(tray_.problems().size(), 1U);
  EXPECT_NE(tray_.problems()[0].find("after its deadline"), std::string::npos);
}

TEST_F(FaultFinding, PayloadInAnError) {
  run(Fault::shows_the_payload);
  EXPECT_EQ(tray_.problems().size(), 1U);
}

TEST_F(FaultFinding, FailureWithoutAReason) {
  run(Fault::says_nothing);
  EXPECT_EQ(tray_.problems().size(), 1U);
}

TEST_F(FaultFinding, LostMessage) {
  run(Fault::loses_a_message);
  EXPECT_EQ(lost(sent_, arrived_), "1 of 8 are not there, first ticket 5");
}

TEST_F(FaultFinding, DoubledMessage) {
  run(Fault::doubles_a_message);
  EXPECT_EQ(doubled(sent_, arrived_), "ticket 5 is there 2 times");
}

TEST_F(FaultFinding, MessageOfNobody) {
  run(Fault::none);
  sent_.pop_back();
  EXPECT_EQ(doubled(sent_, arrived_), "1 are there that nobody sent");
}

TEST_F(FaultFinding, WrongOrderWithinAKey) {
  run(Fault::reorders);
  EXPECT_EQ(out_of_order(sent_, arrived_), "ticket 1 of key key-1 came after ticket 3");
}

TEST_F(FaultFinding, OvertakingWhatFailed) {
  run(Fault::overtakes);
  EXPECT_EQ(tray_.overtakings(arrived_),
            std::vector<std::string>{"ticket 7 was delivered though ticket 5 of its key was "
                                     "timed_out"});
  EXPECT_TRUE(tray_.problems().empty());

  // No answer came, and it was there all the same: nothing was overtaken.
  arrived_.push_back({.payload = std::string(sent_[4].message->payload().view())});
  EXPECT_EQ(tray_.overtakings(arrived_), std::vector<std::string>());
}

}  // namespace
}  // namespace sagabox::testing
