#include "transports/courier.hpp"

#include "support/collected_results.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <future>

namespace sagabox::transports {
namespace {

using Kind = spi::SendResult::Kind;
using testing::CollectedResults;
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

/// A server, as the links to it see it: tests say what it answers.
struct Server {
  enum class Mood { answers, silent, full, refuses, breaks };

  std::mutex mutex;
  Mood mood = Mood::answers;
  std::vector<std::uint64_t> posted;  ///< tickets, over all links
  std::vector<std::uint64_t> numbers;
  int connections = 0;
  Wake wake;

  void turn_to(Mood next) {
    {
      const std::lock_guard lock(mutex);
      mood = next;
    }
    wake.ring();
  }
  std::vector<std::uint64_t> seen() {
    const std::lock_guard lock(mutex);
    return posted;
  }
};

class ScriptedLink final : public Link {
 public:
  explicit ScriptedLink(std::shared_ptr<Server> server) : server_(std::move(server)) {
    const std::lock_guard lock(server_->mutex);
    ++server_->connections;
  }

  std::optional<spi::SendResult> post(const spi::Parcel& parcel, std::uint64_t number) override {
    const std::lock_guard lock(server_->mutex);
    if (server_->mood == Server::Mood::refuses) return spi::SendResult{Kind::rejected, "no", {}};
    server_->posted.push_back(parcel.ticket.value);
    server_->numbers.push_back(number);
    open_.push_back(number);
    return std::nullopt;
  }
  [[nodiscard]] bool takes_more() const override {
    const std::lock_guard lock(server_->mutex);
    return server_->mood != Server::Mood::full;
  }
  Status turn(BootTime, Answers& answers) override {
    server_->wake.silence();
    std::deque<std::uint64_t> answered;
    {
      const std::lock_guard lock(server_->mutex);
      if (server_->mood == Server::Mood::breaks) {
        server_->mood = Server::Mood::answers;
        return Error{Code::provider_unavailable, "it broke"};
      }
      if (server_->mood == Server::Mood::answers) answered.swap(open_);
    }
    for (const auto number : answered) {
      answers.answered(number, {});
      answers.answered(number, {Kind::failed, "a second answer", {}});
      answers.answered(number + 1000, {Kind::failed, "to nothing", {}});
    }
    return {};
  }
  [[nodiscard]] int fd() const override { return server_->wake.descriptor(); }
  [[nodiscard]] bool wants_write() const override { return false; }

 private:
  std::shared_ptr<Server> server_;
  std::deque<std::uint64_t> open_;
};

class CourierTest : public ::testing::Test {
 protected:
  Courier::Connect connects() {
    return [server = server_](BootTime) -> Courier::Connected {
      return std::unique_ptr<Link>(std::make_unique<ScriptedLink>(server));
    };
  }
  static Courier::Options options() { return {.server = "Post office", .backoff_min = 1ms}; }
  static BootTime in(Duration time) { return system_clock().boot_now() + time; }
  std::vector<spi::Parcel> parcels(std::size_t count, Duration time = 20s) {
    std::vector<spi::Parcel> all(count);
    for (auto& parcel : all) parcel = {.ticket = spi::Ticket{++last_}, .deadline = in(time)};
    return all;
  }
  void send(Courier& courier, std::vector<spi::Parcel> all) { courier.send(all, results_); }

  std::shared_ptr<Server> server_ = std::make_shared<Server>();
  CollectedResults results_;
  std::uint64_t last_ = 0;
};

TEST_F(CourierTest, ManyGoOverOneConnectionInOrderAndHaveOneResultEach) {
  Courier courier(options(), connects());
  for (int i = 0; i < 10; ++i) send(courier, parcels(20));
  ASSERT_TRUE(results_.wait_for(200));
  courier.close(in(10s));
  EXPECT_EQ(results_.count(), 200U);
  const auto seen = server_->seen();
  ASSERT_EQ(seen.size(), 200U);
  for (std::uint64_t i = 0; i < 200; ++i) {
    EXPECT_EQ(seen[i], i + 1);
    EXPECT_EQ(server_->numbers[i], i + 1);
    EXPECT_EQ(results_.only(i + 1).kind, Kind::delivered);
  }
  EXPECT_EQ(server_->connections, 1);
}

TEST_F(CourierTest, UnusedItDoesNotConnect) {
  Courier courier(options(), connects());
  courier.close(in(10s));
  EXPECT_EQ(server_->connections, 0);
}

TEST_F(CourierTest, ServerThatRefusesIsUnreachableAtOnceAndSaysWhy) {
  Courier courier(options(), [](BootTime) -> Courier::Connected {
    return Error{Code::provider_unavailable, "connection refused"};
  });
  send(courier, parcels(3));
  ASSERT_TRUE(results_.wait_for(3));
  EXPECT_EQ(results_.only(3).kind, Kind::unreachable);
  EXPECT_EQ(results_.only(3).error, "Post office: connection refused");
}

TEST_F(CourierTest, DeadlineComesThoughConnectingHangs) {
  std::promise<void> go_on;
  Courier courier(options(), [hang = go_on.get_future().share()](BootTime) -> Courier::Connected {
    hang.wait();
    return Error{Code::provider_unavailable, "too late"};
  });
  send(courier, parcels(2, 30ms));
  EXPECT_EQ(results_.only(1).kind, Kind::unreachable);
  EXPECT_EQ(results_.only(2).kind, Kind::unreachable);
  send(courier, parcels(1, 1h));
  courier.close(in(30ms));
  EXPECT_EQ(results_.only(3).kind, Kind::unreachable) << "closing does not wait for it either";
  go_on.set_value();
}

TEST_F(CourierTest, ConnectingThatNeverEndsIsGivenUp) {
  std::promise<void> go_on;
  auto impatient = options();
  impatient.connect_max = 20ms;
  Courier courier(impatient, [hang = go_on.get_future().share()](BootTime) -> Courier::Connected {
    hang.wait();
    return Error{Code::provider_unavailable, "too late"};
  });
  send(courier, parcels(1, 1h));
  EXPECT_EQ(results_.only(1).kind, Kind::unreachable);
  go_on.set_value();
}

TEST_F(CourierTest, NoAnswerByTheDeadlineCutsTheConnection) {
  Courier courier(options(), connects());
  server_->turn_to(Server::Mood::silent);
  send(courier, parcels(1, 30ms));
  send(courier, parcels(1, 1h));
  EXPECT_EQ(results_.only(1).kind, Kind::timed_out);
  const auto behind = results_.only(2);
  EXPECT_EQ(behind.kind, Kind::unreachable);
  EXPECT_NE(behind.error.find("may have arrived"), std::string::npos) << behind.error;
  server_->turn_to(Server::Mood::answers);
  send(courier, parcels(1));
  EXPECT_EQ(results_.only(3).kind, Kind::delivered);
  courier.close(in(10s));
  EXPECT_EQ(server_->connections, 2);
}

TEST_F(CourierTest, LostConnectionTakesOnlyWhatWasPosted) {
  Courier courier(options(), connects());
  server_->turn_to(Server::Mood::silent);
  send(courier, parcels(2));
  while (server_->seen().size() < 2) std::this_thread::yield();
  server_->turn_to(Server::Mood::full);
  send(courier, parcels(2));
  server_->turn_to(Server::Mood::breaks);
  EXPECT_EQ(results_.only(1).kind, Kind::unreachable);
  EXPECT_EQ(results_.only(2).kind, Kind::unreachable);
  ASSERT_TRUE(results_.wait_for(4));
  courier.close(in(10s));
  EXPECT_EQ(results_.count(), 4U);
}

TEST_F(CourierTest, WhatCouldNotBePostedByItsDeadlineIsForLaterAndHarmsNobody) {
  Courier courier(options(), connects());
  send(courier, parcels(1));
  EXPECT_EQ(results_.only(1).kind, Kind::delivered);
  server_->turn_to(Server::Mood::full);
  send(courier, parcels(1, 20ms));
  EXPECT_EQ(results_.only(2).kind, Kind::later);
  send(courier, parcels(1));
  server_->turn_to(Server::Mood::answers);
  EXPECT_EQ(results_.only(3).kind, Kind::delivered);
  EXPECT_EQ(server_->seen(), (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(server_->connections, 1);
}

TEST_F(CourierTest, PastItsDeadlineAParcelIsNotPosted) {
  Courier courier(options(), connects());
  send(courier, parcels(1));
  EXPECT_EQ(results_.only(1).kind, Kind::delivered);
  send(courier, parcels(1, -1s));
  EXPECT_EQ(results_.only(2).kind, Kind::later);
  EXPECT_EQ(server_->seen(), std::vector<std::uint64_t>{1});
}

TEST_F(CourierTest, RefusedByTheLinkHasNoNumber) {
  Courier courier(options(), connects());
  server_->turn_to(Server::Mood::refuses);
  send(courier, parcels(1));
  EXPECT_EQ(results_.only(1).kind, Kind::rejected);
  server_->turn_to(Server::Mood::answers);
  send(courier, parcels(1));
  EXPECT_EQ(results_.only(2).kind, Kind::delivered);
  EXPECT_EQ(server_->numbers, std::vector<std::uint64_t>{1});
}

TEST_F(CourierTest, AsManyAsAllowedAreTakenAlsoWhenSentFromAResult) {
  constexpr std::size_t bound = 8;
  constexpr std::size_t total = 2000;
  auto narrow = options();
  narrow.in_flight_max = bound;
  Courier courier(narrow, connects());
  std::atomic<std::uint64_t> last{bound};
  results_.then = [&](const spi::SendResult&) {
    const auto ticket = ++last;
    if (ticket > total) return;
    std::vector<spi::Parcel> next{{.ticket = spi::Ticket{ticket}, .deadline = in(20s)}};
    courier.send(next, results_);
  };
  send(courier, parcels(bound));
  ASSERT_TRUE(results_.wait_for(total));
  courier.close(in(10s));
  for (std::uint64_t ticket = 1; ticket <= total; ++ticket) {
    ASSERT_EQ(results_.only(ticket).kind, Kind::delivered) << ticket;
  }
}

TEST_F(CourierTest, MoreThanAllowedAreForLaterAndSoon) {
  auto narrow = options();
  narrow.in_flight_max = 3;
  Courier courier(narrow, connects());
  server_->turn_to(Server::Mood::silent);
  send(courier, parcels(5));
  EXPECT_EQ(results_.only(4).kind, Kind::later);
  EXPECT_EQ(results_.only(5).kind, Kind::later);
  EXPECT_LE(results_.only(5).retry_after.value_or(1h), 1s);
  EXPECT_EQ(results_.count(), 2U);
}

TEST_F(CourierTest, ClosedItTakesNothingAndTellsTheRest) {
  Courier courier(options(), connects());
  server_->turn_to(Server::Mood::silent);
  send(courier, parcels(3, 1h));
  courier.close(in(20ms));
  EXPECT_EQ(results_.count(), 3U);
  EXPECT_EQ(results_.only(2).kind, Kind::unreachable);
  send(courier, parcels(1));
  EXPECT_EQ(results_.only(4).kind, Kind::unreachable);
}

}  // namespace
}  // namespace sagabox::transports
