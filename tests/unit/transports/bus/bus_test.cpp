#include <sagabox/random.hpp>
#include <sagabox/stores/memory.hpp>
#include <sagabox/transports/bus.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>

namespace sagabox {
namespace {

using Kind = spi::SendResult::Kind;
using namespace std::chrono_literals;

class BusTest : public ::testing::Test, public spi::SendResults {
 protected:
  void sent(spi::Ticket ticket, spi::SendResult result) noexcept override {
    const std::lock_guard lock(mutex_);
    results_[ticket.value] = std::move(result);
    changed_.notify_all();
  }

  std::uint64_t send(const std::string& topic, std::string key = {}, Duration time = 30s,
                     std::string tenant = std::string(tenant_default)) {
    return send(topic, same_message(std::move(key), std::move(tenant)), time);
  }
  std::shared_ptr<const Message> same_message(std::string key = {},
                                              std::string tenant = std::string(tenant_default)) {
    auto message = Message::build({.topic = "t",
                                   .key = std::move(key),
                                   .payload = json("\"card 4111-1111\""),
                                   .tenant = std::move(tenant)},
                                  {}, ids_, system_clock());
    return std::make_shared<const Message>(std::move(message).value());
  }
  std::uint64_t send(const std::string& topic, std::shared_ptr<const Message> message,
                     Duration time = 30s) {
    std::vector<spi::Parcel> parcels{{.ticket = spi::Ticket{++last_},
                                      .message = std::move(message),
                                      .address = bus_->address("bus:" + topic, {}).value(),
                                      .table = &table_,
                                      .deadline = system_clock().boot_now() + time}};
    bus_->send(parcels, *this);
    return last_;
  }
  spi::SendResult result(std::uint64_t ticket) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 30s, [&] { return results_.contains(ticket); }));
    return results_[ticket];
  }
  spi::SendResult publish(const std::string& topic) { return result(send(topic)); }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, spi::SendResult> results_;
  std::uint64_t last_ = 0;
  TableName table_ = TableName::parse("orders").value();
  UlidSource ids_{system_clock(), system_random()};
  std::unique_ptr<Bus> bus_ = std::make_unique<Bus>();
};

TEST_F(BusTest, AllSubscribersOfTheTopicAreTold) {
  std::string told;
  bus_->subscribe("orders", [&](const Delivery& d) { told += "first " + d.topic() + ", "; })
      .value();
  bus_->subscribe("orders", [&](const Delivery&) { told += "second"; }).value();
  bus_->subscribe("invoices", [&](const Delivery&) { told += "a stranger"; }).value();
  EXPECT_EQ(publish("orders").kind, Kind::delivered);
  EXPECT_EQ(told, "first t, second");
}

TEST_F(BusTest, NobodyThereIsAnErrorThatIsTriedAgain) {
  const auto result = publish("orders");
  EXPECT_EQ(result.kind, Kind::failed);
  EXPECT_EQ(result.error,
            "nobody has subscribed to \"orders\"; call Bus::subscribe before "
            "the outbox starts");
}

TEST_F(BusTest, SubscriberWhoThrowsIsAnErrorAndTheOthersAreTold) {
  bool told = false;
  bus_->subscribe("orders", [](const Delivery&) { throw std::runtime_error("no stock"); }).value();
  bus_->subscribe("orders", [&](const Delivery&) { told = true; }).value();
  const auto result = publish("orders");
  EXPECT_EQ(result.kind, Kind::failed);
  EXPECT_EQ(result.error, "no stock");
  EXPECT_TRUE(told);
}

TEST_F(BusTest, SeveralErrorsAreJoined) {
  bus_->subscribe("orders", [](const Delivery&) { throw std::runtime_error("no stock"); }).value();
  bus_->subscribe("orders", [](const Delivery&) { throw 17; }).value();  // NOLINT
  bus_->subscribe("orders", [](const Delivery&) { throw std::runtime_error(""); }).value();
  EXPECT_EQ(publish("orders").error,
            "no stock; a subscriber threw something that is not a std::exception; a subscriber "
            "threw an exception without a text");
}

TEST_F(BusTest, SubscriberThatAnswersIsHeard) {
  bus_->subscribe("orders", [](const Delivery&) { return retry("no stock"); }).value();
  EXPECT_EQ(publish("orders").error, "no stock");
  bus_->subscribe("payments", [](const Delivery&) { return retry_after(5s, Attempt::not_spent); })
      .value();
  const auto later = publish("payments");
  EXPECT_EQ(later.kind, Kind::later);
  EXPECT_EQ(later.retry_after, 5s);
  bus_->subscribe("payments", [](const Delivery&) { throw std::runtime_error("broken"); }).value();
  EXPECT_EQ(publish("payments").kind, Kind::failed) << "one of them spent it";
}

TEST_F(BusTest, SubscriberWithAStoreHandlesAMessageOnceWhileAnotherFails) {
  memory::MemoryStore store;
  int handled = 0;
  int failed = 0;
  const auto handle = [&](const Delivery&, OwnedTransaction&) {
    ++handled;
    return done();
  };
  bus_->subscribe("orders", {.store = store, .handle = handle}).value();
  bus_->subscribe("orders",
                  [&](const Delivery&) {
                    if (++failed < 3) throw std::runtime_error("no stock");
                  })
      .value();
  const auto message = same_message();
  EXPECT_EQ(result(send("orders", message)).kind, Kind::failed);
  EXPECT_EQ(result(send("orders", message)).kind, Kind::failed);
  EXPECT_EQ(result(send("orders", message)).kind, Kind::delivered);
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(failed, 3);
}

TEST_F(BusTest, SubscribersOfATopicWithAStoreHaveNamesOfTheirOwn) {
  memory::MemoryStore store;
  const auto handle = [](const Delivery&, OwnedTransaction&) { return done(); };
  bus_->subscribe("orders", {.store = store, .handle = handle}).value();
  EXPECT_EQ(bus_->subscribe("orders", {.store = store, .handle = handle}).error().code,
            Code::tx_invalid_state);
  bus_->subscribe("orders", {.store = store, .handle = handle, .consumer = "billing"}).value();
  bus_->subscribe("orders", {.store = store, .handle = handle, .once = false}).value();
  bus_->subscribe("payments", {.store = store, .handle = handle}).value();
}

TEST_F(BusTest, ErrorsShowNoPayload) {
  bus_->subscribe("orders",
                  [](const Delivery& d) {
                    throw std::runtime_error("cannot read " + std::string(d.payload().view()));
                  })
      .value();
  EXPECT_EQ(publish("orders").error, "cannot read [payload]");
}

TEST_F(BusTest, PastItsDeadlineASubscriberIsToldAndItsKeyIsNotOvertaken) {
  std::promise<void> told_to_stop;
  std::promise<void> may_return;
  std::atomic<int> calls = 0;
  bus_->subscribe("orders",
                  [&](const Delivery& d) {
                    if (++calls > 1) return;
                    const std::stop_callback stop(d.stop_token(),
                                                  [&] { told_to_stop.set_value(); });
                    may_return.get_future().wait();
                  })
      .value();
  const auto slow = send("orders", "key-1", 20ms);
  EXPECT_EQ(result(slow).kind, Kind::timed_out);
  told_to_stop.get_future().wait();

  const auto next = result(send("orders", "key-1"));
  EXPECT_EQ(next.kind, Kind::later);
  EXPECT_NE(next.error.find("past its deadline"), std::string::npos) << next.error;
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(result(send("orders", "key-2")).kind, Kind::delivered);
  EXPECT_EQ(result(send("orders", "key-1", 30s, "acme")).kind, Kind::delivered)
      << "another tenant's key";
  EXPECT_EQ(result(send("orders")).kind, Kind::delivered);

  may_return.set_value();
  auto again = result(send("orders", "key-1"));
  // It has returned, but its thread may not have said so yet.
  while (again.kind == Kind::later) again = result(send("orders", "key-1"));
  EXPECT_EQ(again.kind, Kind::delivered);
}

TEST_F(BusTest, AfterTheDeadlineNoFurtherSubscriberIsCalled) {
  bool second = false;
  bus_->subscribe("orders",
                  [](const Delivery& d) {
                    std::promise<void> stopped;
                    const std::stop_callback stop(d.stop_token(), [&] { stopped.set_value(); });
                    stopped.get_future().wait();
                  })
      .value();
  bus_->subscribe("orders", [&](const Delivery&) { second = true; }).value();
  EXPECT_EQ(result(send("orders", "", 20ms)).kind, Kind::timed_out);
  bus_.reset();  // waits for the first one
  EXPECT_FALSE(second);
}

TEST_F(BusTest, WhatCannotBeSubscribedIsSaid) {
  EXPECT_EQ(bus_->subscribe("", [](const Delivery&) {}).error().code, Code::config_invalid);
  EXPECT_EQ(bus_->subscribe("a\nb", [](const Delivery&) {}).error().code, Code::config_invalid);
  EXPECT_EQ(bus_->subscribe("orders", {}).error().code, Code::tx_invalid_handler);
}

}  // namespace
}  // namespace sagabox
