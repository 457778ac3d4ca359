#include "support/certificate.hpp"
#include "support/mosquitto_server.hpp"
#include "support/mqtt_client.hpp"
#include "support/parcels.hpp"
#include "support/server_process.hpp"

#include <sagabox/transports/mqtt.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace sagabox::mqtt {
namespace {

using Kind = spi::SendResult::Kind;
using testing::MosquittoServer;
using testing::MqttClient;
using testing::Parcels;

class MqttTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = MosquittoServer::missing(); !missing.empty()) GTEST_SKIP() << missing;
  }
  void TearDown() override {
    parcels_.reset();
    scratch_.remove();
  }
  void start(const std::vector<std::string>& settings = {}) {
    server_ = std::make_unique<MosquittoServer>(settings);
    ASSERT_EQ(server_->problem(), "");
  }
  void open(Options options) {
    parcels_.reset();
    transport_ = mqtt::open(std::move(options)).value();
    parcels_ = std::make_unique<Parcels>(*transport_);
  }
  void open() { open({.port = server_->port()}); }

  const testing::ScratchServer scratch_ = testing::ScratchServer::make("mqtt-files", getpid());
  std::unique_ptr<MosquittoServer> server_;
  std::unique_ptr<spi::Transport> transport_;
  std::unique_ptr<Parcels> parcels_;
};

TEST_F(MqttTest, NobodySubscribedIsRejectedWhereTheRouteSaysSo) {
  start();
  open();
  EXPECT_EQ(parcels_->send("mqtt:lonely").kind, Kind::delivered);
  const auto strict = parcels_->address("mqtt:lonely", {{"require_subscriber", "true"}});
  const auto alone = parcels_->send(strict);
  EXPECT_EQ(alone.kind, Kind::rejected) << alone.error;
  MqttClient subscriber(server_->port(), "lonely/#");
  ASSERT_TRUE(subscriber.wait_for_subscription());
  EXPECT_EQ(parcels_->send(strict).kind, Kind::delivered);
}

TEST_F(MqttTest, RetainedIsThereForThoseWhoComeLater) {
  start();
  open();
  const auto retained = parcels_->address("mqtt:shop/kept", {{"retain", "true"}});
  ASSERT_EQ(parcels_->send(retained, {.payload = json("17")}).kind, Kind::delivered);
  ASSERT_EQ(parcels_->send("mqtt:shop/gone").kind, Kind::delivered);
  MqttClient subscriber(server_->port(), "shop/#");
  const auto got = subscriber.wait_for("shop/kept", 1);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].payload, "17");
  EXPECT_TRUE(got[0].retained);
  EXPECT_TRUE(subscriber.wait_for("shop/gone", 0).empty());
}

TEST_F(MqttTest, LargerThanTheServerTakesIsRejectedAndTheNextIsNot) {
  start({"max_packet_size 10000"});
  open();
  const auto to = parcels_->address("mqtt:t");
  const auto large = parcels_->send(to, {.payload = bytes(std::string(20'000, 'x'))});
  EXPECT_EQ(large.kind, Kind::rejected);
  EXPECT_NE(large.error.find("10000"), std::string::npos) << large.error;
  EXPECT_EQ(parcels_->send(to, {.payload = bytes(std::string(5'000, 'x'))}).kind, Kind::delivered);
  const auto found = transport_->findings(system_clock().boot_now() + std::chrono::seconds(10));
  ASSERT_FALSE(found->empty());
  EXPECT_NE(found->at(0).find("10000 bytes"), std::string::npos) << found->at(0);
}

TEST_F(MqttTest, WhatTheServerDoesNotRetainIsRejected) {
  start({"retain_available false"});
  open();
  const auto result = parcels_->send("mqtt:t", {{"retain", "true"}});
  EXPECT_EQ(result.kind, Kind::rejected) << result.error;
  EXPECT_EQ(parcels_->send("mqtt:t").kind, Kind::delivered);
}

TEST_F(MqttTest, LoggingInThatFailsIsUnreachableAndShowsNoPassword) {
  // An empty list: nobody may.
  const auto list = scratch_.folder() / "passwords";
  std::ofstream(list).close();
  start({"password_file " + list.string(), "allow_anonymous false"});
  open({.port = server_->port(), .username = "me", .password = "hunter2"});
  const auto refused = parcels_->send("mqtt:t");
  EXPECT_EQ(refused.kind, Kind::unreachable);
  EXPECT_NE(refused.error.find("logging in"), std::string::npos) << refused.error;
  EXPECT_EQ(refused.error.find("hunter2"), std::string::npos);
}

TEST_F(MqttTest, MoreThanTheServersBoundWaitHere) {
  start({"max_inflight_messages 3"});
  open();
  const auto to = parcels_->address("mqtt:t");
  std::vector<spi::Parcel> all;
  for (int i = 0; i < 500; ++i) all.push_back(parcels_->parcel(to));
  for (const auto& result : parcels_->send(std::move(all))) {
    EXPECT_EQ(result.kind, Kind::delivered) << result.error;
  }
}

TEST_F(MqttTest, TlsChecksWhoTheServerIs) {
  const auto ours = testing::Certificate::make(scratch_.folder(), "DNS:localhost");
  const auto port = testing::free_port();
  start({"listener " + std::to_string(port) + " 127.0.0.1", "certfile " + ours.certificate.string(),
         "keyfile " + ours.key.string()});
  ASSERT_TRUE(testing::wait_for_port(port));
  const transports::Tls trusting{.enabled = true, .ca_file = ours.certificate};
  open({.host = "localhost", .port = port, .tls = trusting});
  const auto to = parcels_->address("mqtt:t");
  const std::string large(1024UL * 1024, 'x');
  std::vector<spi::Parcel> all;
  for (int i = 0; i < 10; ++i) all.push_back(parcels_->parcel(to, {.payload = bytes(large)}));
  for (const auto& result : parcels_->send(std::move(all))) {
    EXPECT_EQ(result.kind, Kind::delivered) << result.error;
  }

  open({.host = "127.0.0.1", .port = port, .tls = trusting});
  const auto other_name = parcels_->send("mqtt:t");
  EXPECT_EQ(other_name.kind, Kind::unreachable) << "the certificate is for localhost";
  EXPECT_NE(other_name.error.find("TLS"), std::string::npos) << other_name.error;

  open({.host = "localhost", .port = port, .tls = {.enabled = true}});
  EXPECT_EQ(parcels_->send("mqtt:t").kind, Kind::unreachable) << "nobody vouches for it";

  open({.host = "localhost",
        .port = server_->port(),
        .tls = trusting,
        .connect_max = std::chrono::milliseconds(300)});
  EXPECT_EQ(parcels_->send("mqtt:t").kind, Kind::unreachable) << "no TLS is spoken there";
}

}  // namespace
}  // namespace sagabox::mqtt
