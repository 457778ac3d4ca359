#include "support/certificate.hpp"
#include "support/parcels.hpp"
#include "support/redis_server.hpp"
#include "support/server_process.hpp"

#include <sagabox/transports/redis.hpp>

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <algorithm>

namespace sagabox::redis {
namespace {

using Kind = spi::SendResult::Kind;
using testing::Parcels;
using testing::RedisServer;

class RedisTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = RedisServer::missing(); !missing.empty()) GTEST_SKIP() << missing;
  }
  void start(std::vector<std::string> settings = {}) {
    server_ = std::make_unique<RedisServer>(std::move(settings));
    ASSERT_EQ(server_->problem(), "");
  }
  [[nodiscard]] Options options() const { return {.port = server_->port()}; }
  void open(Options options) {
    transport_ = redis::open(std::move(options)).value();
    parcels_ = std::make_unique<Parcels>(*transport_);
  }
  void open() { open(options()); }
  void TearDown() override { parcels_.reset(); }

  [[nodiscard]] long long ask(const char* command) const {
    auto* const client = redisConnect("127.0.0.1", server_->port());
    auto* const reply = static_cast<redisReply*>(redisCommand(client, command));
    const auto answer = reply == nullptr ? -1 : reply->integer;
    if (reply != nullptr) freeReplyObject(reply);
    redisFree(client);
    return answer;
  }

  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<spi::Transport> transport_;
  std::unique_ptr<Parcels> parcels_;
};

TEST_F(RedisTest, MaxlenBoundsTheStream) {
  start();
  open();
  const auto exact = parcels_->address("redis:short", {{"maxlen", "5"}, {"approximate", "false"}});
  for (int i = 0; i < 20; ++i) ASSERT_EQ(parcels_->send(exact).kind, Kind::delivered);
  EXPECT_EQ(ask("XLEN short"), 5);
  const auto rough = parcels_->address("redis:rough", {{"maxlen", "5"}});
  for (int i = 0; i < 300; ++i) ASSERT_EQ(parcels_->send(rough).kind, Kind::delivered);
  EXPECT_GE(ask("XLEN rough"), 5);
  EXPECT_LT(ask("XLEN rough"), 300);
}

TEST_F(RedisTest, WithoutTheReplicasAskedForItIsNotDelivered) {
  start();
  auto impatient = options();
  impatient.replicas_max = std::chrono::milliseconds(20);
  open(impatient);
  const auto alone = parcels_->send("redis:s", {{"wait", "1"}});
  EXPECT_EQ(alone.kind, Kind::timed_out) << alone.error;
  EXPECT_NE(alone.error.find("0 of 1 replicas"), std::string::npos) << alone.error;
  EXPECT_EQ(parcels_->send("redis:s").kind, Kind::delivered) << "which is asked for by address";
}

TEST_F(RedisTest, WithTheReplicasAskedForItIsDelivered) {
  start({"--repl-diskless-sync-delay", "0"});
  const RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(server_->port())});
  open();
  const auto with = parcels_->address("redis:s", {{"wait", "1"}});
  const auto without = parcels_->address("redis:s");
  // The replica needs a while to join.
  for (int i = 0; i < 60 && parcels_->send(with).kind != Kind::delivered; ++i) {
  }
  std::vector<spi::Parcel> mixed;
  for (int i = 0; i < 100; ++i) mixed.push_back(parcels_->parcel(i % 2 == 0 ? with : without));
  for (const auto& result : parcels_->send(std::move(mixed))) {
    EXPECT_EQ(result.kind, Kind::delivered) << result.error;
  }
}

TEST_F(RedisTest, ReplicaIsNotThePrimary) {
  start({"--repl-diskless-sync-delay", "0"});
  const RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(server_->port())});
  open({.port = replica.port()});
  const auto result = parcels_->send("redis:s");
  EXPECT_EQ(result.kind, Kind::unreachable) << result.error;
}

TEST_F(RedisTest, LogsInAndAWrongPasswordIsUnreachableAndNotShown) {
  start({"--requirepass", "right"});
  auto wrong = options();
  wrong.password = "hunter2";
  open(wrong);
  const auto refused = parcels_->send("redis:s");
  EXPECT_EQ(refused.kind, Kind::unreachable);
  EXPECT_NE(refused.error.find("password is wrong"), std::string::npos) << refused.error;
  EXPECT_EQ(refused.error.find("hunter2"), std::string::npos);
  parcels_.reset();

  open();
  const auto none = parcels_->send("redis:s");
  EXPECT_EQ(none.kind, Kind::unreachable) << none.error;
  parcels_.reset();

  auto right = options();
  right.password = "right";
  right.database = 3;
  open(right);
  EXPECT_EQ(parcels_->send("redis:s").kind, Kind::delivered);
}

TEST_F(RedisTest, FullMemoryIsBusy) {
  start({"--maxmemory", "1", "--maxmemory-policy", "noeviction"});
  open();
  const auto result = parcels_->send("redis:s");
  EXPECT_EQ(result.kind, Kind::busy) << result.error;
}

TEST_F(RedisTest, FindingsNameWhatLosesMessages) {
  start({"--appendonly", "no", "--maxmemory-policy", "allkeys-lru"});
  open();
  const auto found = transport_->findings(system_clock().boot_now() + std::chrono::seconds(10));
  ASSERT_EQ(found->size(), 2U);
  EXPECT_NE(found->at(0).find("appendonly is off"), std::string::npos);
  EXPECT_NE(found->at(1).find("allkeys-lru"), std::string::npos);
}

TEST_F(RedisTest, TlsChecksWhoTheServerIs) {
  const auto scratch = testing::ScratchServer::make("certificate", getpid());
  const auto ours = testing::Certificate::make(scratch.folder(), "DNS:localhost");
  const auto port = testing::free_port();
  start({"--tls-port", std::to_string(port), "--tls-cert-file", ours.certificate, "--tls-key-file",
         ours.key, "--tls-auth-clients", "no"});
  ASSERT_TRUE(testing::wait_for_port(port));
  const transports::Tls trusting{.enabled = true, .ca_file = ours.certificate};
  open({.host = "localhost", .port = port, .tls = trusting});
  const std::string large(1024UL * 1024, 'x');
  const auto to = parcels_->address("redis:s");
  std::vector<spi::Parcel> all;
  for (int i = 0; i < 20; ++i) all.push_back(parcels_->parcel(to, {.payload = bytes(large)}));
  for (const auto& result : parcels_->send(std::move(all))) {
    EXPECT_EQ(result.kind, Kind::delivered) << result.error;
  }
  parcels_.reset();

  open({.host = "127.0.0.1", .port = port, .tls = trusting});
  const auto other_name = parcels_->send("redis:s");
  EXPECT_EQ(other_name.kind, Kind::unreachable);
  EXPECT_NE(other_name.error.find("certificate"), std::string::npos) << other_name.error;
  parcels_.reset();

  open({.host = "localhost", .port = port, .tls = {.enabled = true}});
  const auto unknown = parcels_->send("redis:s");
  EXPECT_EQ(unknown.kind, Kind::unreachable);
  EXPECT_NE(unknown.error.find("certificate"), std::string::npos) << unknown.error;
  parcels_.reset();

  open({.host = "localhost",
        .port = server_->port(),
        .tls = trusting,
        .connect_max = std::chrono::milliseconds(300)});
  EXPECT_EQ(parcels_->send("redis:s").kind, Kind::unreachable) << "no TLS is spoken there";
  parcels_.reset();
  scratch.remove();
}

}  // namespace
}  // namespace sagabox::redis
