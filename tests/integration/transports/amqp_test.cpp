#include "support/amqp_client.hpp"
#include "support/parcels.hpp"
#include "support/rabbitmq_server.hpp"

#include <sagabox/transports/amqp.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

namespace sagabox::amqp {
namespace {

using Kind = spi::SendResult::Kind;
using testing::AmqpClient;
using testing::Parcels;
using testing::RabbitmqServer;

class RabbitMqTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!server_.problem().empty()) GTEST_SKIP() << server_.problem();
    client_ = std::make_unique<AmqpClient>(server_.port());
  }
  void TearDown() override { parcels_.reset(); }
  void open(Options options) {
    parcels_.reset();
    transport_ = amqp::open(std::move(options)).value();
    parcels_ = std::make_unique<Parcels>(*transport_);
  }
  void open() { open({.port = server_.port()}); }
  /// The server is shared: a name that no other test has.
  static std::string fresh(const std::string& name) {
    return name + "-" + std::to_string(getpid()) + "-" +
           ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }

  const RabbitmqServer& server_ = RabbitmqServer::shared();
  std::unique_ptr<AmqpClient> client_;
  std::unique_ptr<spi::Transport> transport_;
  std::unique_ptr<Parcels> parcels_;
};

TEST_F(RabbitMqTest, AMessageCarriesWhatItIs) {
  const auto queue = fresh("q");
  client_->declare_queue(queue);
  open();
  const auto to = parcels_->address("amqp:/" + queue);
  ASSERT_EQ(parcels_
                ->send(to, {.topic = "orders.order.placed.v1",
                            .payload = json("[1]"),
                            .headers = {{"x-shop", "17"}, {"CC", "elsewhere"}},
                            .id = "m-1"})
                .kind,
            Kind::delivered);
  const auto got = client_->take_all(queue);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].payload, "[1]");
  EXPECT_EQ(got[0].content_type, "application/json");
  EXPECT_EQ(got[0].message_id, "m-1");
  EXPECT_EQ(got[0].type, "orders.order.placed.v1");
  EXPECT_EQ(got[0].delivery_mode, 2) << "persistent";
  EXPECT_EQ(got[0].headers.at("cloudEvents:id"), "m-1");
  EXPECT_EQ(got[0].headers.at("x-shop"), "17");
  EXPECT_FALSE(got[0].headers.contains("CC")) << "a header would choose where it goes";
}

TEST_F(RabbitMqTest, NotPersistentWhereTheRouteSaysSo) {
  const auto queue = fresh("q");
  client_->declare_queue(queue);
  open();
  ASSERT_EQ(parcels_->send("amqp:/" + queue, {{"persistent", "false"}}).kind, Kind::delivered);
  EXPECT_EQ(client_->take_all(queue).at(0).delivery_mode, 1);
}

TEST_F(RabbitMqTest, UnroutableIsRejectedUnlessTheRouteSaysThatItDoesNotMatter) {
  const auto exchange = fresh("x");
  client_->declare_exchange(exchange);
  open();
  const auto returned = parcels_->send("amqp:" + exchange + "/nobody");
  EXPECT_EQ(returned.kind, Kind::rejected);
  EXPECT_NE(returned.error.find("nobody"), std::string::npos) << returned.error;
  EXPECT_EQ(parcels_->send("amqp:" + exchange + "/nobody", {{"mandatory", "false"}}).kind,
            Kind::delivered);
}

TEST_F(RabbitMqTest, LargeReturnedMessagesDoNotConfuseTheRest) {
  const auto queue = fresh("q");
  client_->declare_queue(queue);
  open();
  const auto nowhere = parcels_->address("amqp:/" + fresh("nowhere"));
  const auto somewhere = parcels_->address("amqp:/" + queue);
  const std::string large(1024UL * 1024, 'x');
  std::vector<spi::Parcel> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(parcels_->parcel(nowhere, {.payload = bytes(large)}));
    all.push_back(parcels_->parcel(somewhere, {.payload = bytes("")}));
  }
  const auto results = parcels_->send(std::move(all));
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].kind, i % 2 == 0 ? Kind::rejected : Kind::delivered) << results[i].error;
  }
  EXPECT_EQ(client_->take_all(queue).size(), 20U);
}

TEST_F(RabbitMqTest, AnExchangeThatIsNotThereHarmsOnlyItsOwnMessages) {
  const auto queue = fresh("q");
  client_->declare_queue(queue);
  open();
  const auto missing = parcels_->address("amqp:" + fresh("missing") + "/key");
  const auto there = parcels_->address("amqp:/" + queue);
  std::vector<spi::Parcel> all;
  for (int i = 0; i < 50; ++i) {
    all.push_back(parcels_->parcel(i % 5 == 0 ? missing : there));
  }
  const auto results = parcels_->send(std::move(all));
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].kind, i % 5 == 0 ? Kind::rejected : Kind::delivered) << results[i].error;
  }
  EXPECT_NE(results[0].error.find("404"), std::string::npos) << results[0].error;
  EXPECT_EQ(client_->take_all(queue).size(), 40U) << "each once";
}

TEST_F(RabbitMqTest, AnExchangeThatGoesAndComesBackIsUsedAgain) {
  const auto exchange = fresh("x");
  const auto queue = fresh("q");
  client_->declare_queue(queue);
  const auto make = [&] {
    client_->declare_exchange(exchange);
    client_->bind(queue, exchange, "key");
  };
  make();
  open();
  const auto to = parcels_->address("amqp:" + exchange + "/key");
  EXPECT_EQ(parcels_->send(to).kind, Kind::delivered);
  client_->delete_exchange(exchange);
  EXPECT_EQ(parcels_->send(to).kind, Kind::rejected);
  make();
  EXPECT_EQ(parcels_->send(to).kind, Kind::delivered);
}

TEST_F(RabbitMqTest, AFullQueueThatRefusesIsBusy) {
  const auto queue = fresh("q");
  client_->declare_queue(queue, {{"x-max-length", "2"}, {"x-overflow", "reject-publish"}});
  open();
  const auto to = parcels_->address("amqp:/" + queue);
  EXPECT_EQ(parcels_->send(to).kind, Kind::delivered);
  EXPECT_EQ(parcels_->send(to).kind, Kind::delivered);
  const auto full = parcels_->send(to);
  EXPECT_EQ(full.kind, Kind::busy) << full.error;
  EXPECT_EQ(client_->take_all(queue).size(), 2U);
  EXPECT_EQ(parcels_->send(to).kind, Kind::delivered);
}

TEST_F(RabbitMqTest, ThatTakesNothingForNowIsBusyAndGoesOnLater) {
  const auto queue = fresh("q");
  client_->declare_queue(queue);
  open();
  const auto to = parcels_->address("amqp:/" + queue);
  EXPECT_EQ(parcels_->send(to).kind, Kind::delivered);
  ASSERT_TRUE(server_.control({"set_vm_memory_high_watermark", "0.0000001"}));
  // It says so when the next one comes, which then waits.
  std::vector<spi::Parcel> waits{parcels_->parcel(to, {}, std::chrono::minutes(1))};
  testing::CollectedResults late;
  transport_->send(waits, late);
  Kind next = Kind::timed_out;
  for (int i = 0; i < 100 && next != Kind::busy && late.count() == 0; ++i) {
    std::vector<spi::Parcel> one{parcels_->parcel(to, {}, std::chrono::minutes(1))};
    const auto ticket = one.front().ticket.value;
    transport_->send(one, late);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (const auto came = late.of(ticket); !came.empty()) next = came.front().kind;
  }
  EXPECT_TRUE(server_.control({"set_vm_memory_high_watermark", "0.4"}));
  EXPECT_EQ(next, Kind::busy);
  EXPECT_EQ(late.only(2).kind, Kind::delivered) << "the first of those that had to wait";
  parcels_.reset();
}

TEST_F(RabbitMqTest, AKeyThatMayNotBeWrittenRejectsNoMessageOfAnother) {
  const std::string exchange = "amq.topic";
  const auto queue = fresh("q");
  client_->declare_queue(queue);
  client_->bind(queue, exchange, "orders." + queue);
  ASSERT_TRUE(server_.control({"set_topic_permissions", "guest", exchange, "^orders", ".*"}));
  open();
  const auto allowed = parcels_->address("amqp:" + exchange + "/orders." + queue);
  const auto denied = parcels_->address("amqp:" + exchange + "/secret." + queue);
  EXPECT_EQ(parcels_->send(allowed).kind, Kind::delivered);
  std::vector<spi::Parcel> all;
  for (int i = 0; i < 10; ++i) all.push_back(parcels_->parcel(i % 2 == 0 ? allowed : denied, {}));
  const auto results = parcels_->send(std::move(all));
  EXPECT_TRUE(server_.control({"clear_topic_permissions", "guest", exchange}));
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].kind == Kind::rejected, i % 2 == 1) << results[i].error;
  }
}

TEST_F(RabbitMqTest, FindingsNameWhatRoutesWantAndTheServerLacks) {
  const auto queue = fresh("q");
  const auto exchange = fresh("x");
  client_->declare_queue(queue);
  client_->declare_exchange(exchange);
  open();
  for (const auto& address : {"amqp:/" + queue, "amqp:" + exchange + "/any",
                              "amqp:/" + queue + "-2", "amqp:" + exchange + "-2/any"}) {
    (void)transport_->address(address, {}).value();
  }
  const auto found = transport_->findings(system_clock().boot_now() + std::chrono::seconds(30));
  ASSERT_TRUE(found.ok()) << found.error().text();
  std::string all;
  for (const auto& finding : *found) all += finding + "\n";
  EXPECT_NE(all.find("queue \"" + queue + "-2\": 404 NOT_FOUND"), std::string::npos) << all;
  EXPECT_NE(all.find("exchange \"" + exchange + "-2\": 404 NOT_FOUND"), std::string::npos) << all;
  EXPECT_EQ(all.find("\"" + queue + "\""), std::string::npos) << all;
  EXPECT_EQ(all.find("\"" + exchange + "\""), std::string::npos) << all;
}

TEST_F(RabbitMqTest, LoggingInThatFailsIsUnreachableAndShowsNoPassword) {
  open({.port = server_.port(), .username = "nobody", .password = "hunter2"});
  const auto refused = parcels_->send("amqp:/q");
  EXPECT_EQ(refused.kind, Kind::unreachable);
  EXPECT_NE(refused.error.find("ACCESS_REFUSED"), std::string::npos) << refused.error;
  EXPECT_EQ(refused.error.find("hunter2"), std::string::npos);
  open({.port = server_.port(), .virtual_host = "no-such-host"});
  const auto no_host = parcels_->send("amqp:/q");
  EXPECT_EQ(no_host.kind, Kind::unreachable);
  EXPECT_NE(no_host.error.find("no-such-host"), std::string::npos) << no_host.error;
}

TEST_F(RabbitMqTest, WhatAmqpCannotCarryIsRejected) {
  const auto queue = fresh("q");
  client_->declare_queue(queue);
  open();
  const auto to = parcels_->address("amqp:/" + queue);
  const auto long_name = parcels_->send(to, {.headers = {{"x-" + std::string(300, 'n'), "value"}}});
  EXPECT_EQ(long_name.kind, Kind::rejected) << long_name.error;
  // As long as a topic may be, and longer than AMQP's own place for it.
  std::string topic;
  for (std::size_t i = 0; i < MessageRules::topic_length_max; ++i) topic += "日";
  EXPECT_EQ(parcels_->send(to, {.topic = topic}).kind, Kind::delivered);
  EXPECT_EQ(parcels_->send(to, {.headers = {{"x", std::string(60'000, 'v')}}}).kind,
            Kind::delivered);
  const auto got = client_->take_all(queue);
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].headers.at("cloudEvents:type"), topic);
}

TEST_F(RabbitMqTest, TlsChecksWhoTheServerIs) {
  const auto queue = fresh("q");
  client_->declare_queue(queue);
  const transports::Tls trusting{.enabled = true, .ca_file = server_.certificate()};
  open({.host = "localhost", .port = server_.tls_port(), .tls = trusting});
  const auto to = parcels_->address("amqp:/" + queue);
  std::vector<spi::Parcel> all;
  const std::string large(1024UL * 1024, 'x');
  for (int i = 0; i < 10; ++i) all.push_back(parcels_->parcel(to, {.payload = bytes(large)}));
  for (const auto& result : parcels_->send(std::move(all))) {
    EXPECT_EQ(result.kind, Kind::delivered) << result.error;
  }
  EXPECT_EQ(client_->take_all(queue).size(), 10U);
  open({.host = "localhost", .port = server_.tls_port(), .tls = {.enabled = true}});
  const auto unknown = parcels_->send("amqp:/" + queue);
  EXPECT_EQ(unknown.kind, Kind::unreachable);
  EXPECT_NE(unknown.error.find("certificate"), std::string::npos) << unknown.error;
}

}  // namespace
}  // namespace sagabox::amqp
