#include "support/nats_server.hpp"
#include "support/sender.hpp"

#include <sagabox/transports/nats.hpp>

#include <gtest/gtest.h>
#include <nats/nats.h>

#include <algorithm>
#include <cstdlib>

namespace sagabox::testing {
namespace {

using Kind = spi::SendResult::Kind;

constexpr auto users = R"(
authorization {
  users: [
    { user: "all", password: "hush-all" }
    { user: "some", password: "hush-some",
      permissions: { publish: { deny: ["billing.>"] } } }
  ]
}
)";

struct Stream {
  std::string name;
  std::string subject;
  jsStorageType storage = js_FileStorage;
  std::int64_t messages_max = -1;
  std::int32_t message_bytes_max = -1;
  std::int64_t duplicates = 0;
};

class NatsTest : public ::testing::Test {
 protected:
  /// Null: the test is to be skipped, or has failed.
  void start(const std::string& configuration = {}) {
    server_ = std::make_unique<NatsServer>(configuration);
    if (!server_->problem().empty()) GTEST_SKIP() << server_->problem();
  }

  void open(nats::Options options = {}) {
    options.servers = {server_->url()};
    transport_ = nats::open(std::move(options)).value();
    sender_ = std::make_unique<Sender>(*transport_);
  }

  void TearDown() override {
    if (transport_) transport_->close(system_clock().boot_now());
  }

  /// Returns how many messages the stream has, after making it if it is not there.
  std::uint64_t stream(const Stream& wanted, const std::string& user = {}) {
    auto url = server_->url();
    if (!user.empty()) url.insert(url.find("//") + 2, user + "@");
    natsConnection* connection = nullptr;
    jsCtx* context = nullptr;
    EXPECT_EQ(natsConnection_ConnectTo(&connection, url.c_str()), NATS_OK);
    EXPECT_EQ(natsConnection_JetStream(&context, connection, nullptr), NATS_OK);
    const char* subjects[] = {wanted.subject.c_str()};
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    config.Name = wanted.name.c_str();
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Storage = wanted.storage;
    config.MaxMsgs = wanted.messages_max;
    config.Discard = js_DiscardNew;
    config.MaxMsgSize = wanted.message_bytes_max;
    config.Duplicates = wanted.duplicates;
    jsStreamInfo* info = nullptr;
    EXPECT_EQ(js_AddStream(&info, context, &config, nullptr, nullptr), NATS_OK);
    const auto messages = info == nullptr ? 0 : info->State.Msgs;
    jsStreamInfo_Destroy(info);
    jsCtx_Destroy(context);
    natsConnection_Destroy(connection);
    return messages;
  }

  static bool mentions(const std::string& text, const std::string& what) {
    return text.find(what) != std::string::npos;
  }

  std::unique_ptr<NatsServer> server_;
  std::unique_ptr<spi::Transport> transport_;
  std::unique_ptr<Sender> sender_;
};

TEST_F(NatsTest, SameMessageAgainIsDeliveredAndStoredOnce) {
  start();
  if (IsSkipped()) return;
  const Stream orders{.name = "ORDERS", .subject = "orders.>"};
  stream(orders);
  open();
  EXPECT_EQ(sender_->send_one({.id = "same"}, "nats:orders.new").kind, Kind::delivered);
  EXPECT_EQ(sender_->send_one({.id = "same"}, "nats:orders.new").kind, Kind::delivered);
  EXPECT_EQ(stream(orders), 1U);
}

TEST_F(NatsTest, SameMessageToTwoSubjectsOfAStreamIsStoredForBoth) {
  start();
  if (IsSkipped()) return;
  const Stream orders{.name = "ORDERS", .subject = "orders.>"};
  stream(orders);
  open();
  EXPECT_EQ(sender_->send_one({.id = "same"}, "nats:orders.new").kind, Kind::delivered);
  EXPECT_EQ(sender_->send_one({.id = "same"}, "nats:orders.seen").kind, Kind::delivered);
  EXPECT_EQ(stream(orders), 2U);
}

TEST_F(NatsTest, FullStreamIsBusyAndALargeMessageIsRejected) {
  start();
  if (IsSkipped()) return;
  stream({.name = "FULL", .subject = "full", .messages_max = 1});
  stream({.name = "SMALL", .subject = "small", .message_bytes_max = 2000});
  open();
  EXPECT_EQ(sender_->send_one({}, "nats:full").kind, Kind::delivered);
  const auto full = sender_->send_one({}, "nats:full");
  EXPECT_EQ(full.kind, Kind::busy) << full.error;
  const auto large = sender_->send_one({.payload = bytes(std::string(3000, 'x'))}, "nats:small");
  EXPECT_EQ(large.kind, Kind::rejected) << large.error;
  EXPECT_TRUE(mentions(large.error, "exceeds maximum")) << large.error;
}

TEST_F(NatsTest, HeadersCountForTheServersLimitAndTheConnectionSurvives) {
  start("max_payload: 65536");
  if (IsSkipped()) return;
  stream({.name = "S", .subject = "s"});
  open();
  const auto results =
      sender_->send({{}, {.headers = {{"x", std::string(60'000, 'v')}}}, {}}, "nats:s");
  EXPECT_EQ(results[0].kind, Kind::delivered);
  EXPECT_EQ(results[2].kind, Kind::delivered);
  const auto large = sender_->send_one(
      {.payload = bytes(std::string(60'000, 'x')), .headers = {{"x", std::string(6000, 'v')}}},
      "nats:s");
  EXPECT_EQ(large.kind, Kind::rejected) << large.error;
  EXPECT_TRUE(mentions(large.error, "max_payload is 65536")) << large.error;
}

TEST_F(NatsTest, AccountWithoutJetStreamIsTheServersFault) {
  start(R"(accounts { PLAIN { users: [{ user: "plain", password: "hush" }] } })");
  if (IsSkipped()) return;
  open({.credentials = {.user = "plain", .password = "hush"}});
  const auto result = sender_->send_one({}, "nats:orders.new");
  EXPECT_EQ(result.kind, Kind::unreachable) << result.error;
}

TEST_F(NatsTest, UnroutableSaysWhichSubject) {
  start();
  if (IsSkipped()) return;
  open();
  const auto unroutable = sender_->send_one({}, "nats:nobody.listens");
  EXPECT_EQ(unroutable.kind, Kind::unreachable);
  EXPECT_TRUE(mentions(unroutable.error, "no stream takes subject nobody.listens"))
      << unroutable.error;
}

TEST_F(NatsTest, SubjectThatMayNotBePublishedToIsRejectedAtOnce) {
  start(users);
  if (IsSkipped()) return;
  stream({.name = "BILLING", .subject = "billing.>"}, "all:hush-all");
  stream({.name = "ORDERS", .subject = "orders.>"}, "all:hush-all");
  open({.credentials = {.user = "some", .password = "hush-some"}});
  const auto results = sender_->send({{}, {}, {}}, "nats:billing.issued");
  for (const auto& result : results) {
    EXPECT_EQ(result.kind, Kind::rejected) << result.error;
    EXPECT_TRUE(mentions(result.error, "may not publish")) << result.error;
  }
  EXPECT_EQ(sender_->send_one({}, "nats:orders.new").kind, Kind::delivered);
}

TEST_F(NatsTest, WrongPasswordIsUnreachableAndTheErrorDoesNotShowIt) {
  start(users);
  if (IsSkipped()) return;
  open({.credentials = {.user = "all", .password = "hush-wrong"}});
  const auto result = sender_->send_one({}, "nats:orders.new");
  EXPECT_EQ(result.kind, Kind::unreachable);
  EXPECT_FALSE(mentions(result.error, "hush")) << result.error;
  EXPECT_TRUE(mentions(result.error, "cannot connect to NATS")) << result.error;
  const auto found = transport_->findings(system_clock().boot_now() + Sender::ample);
  ASSERT_FALSE(found.ok());
  EXPECT_FALSE(mentions(found.error().message, "hush")) << found.error().message;
}

TEST_F(NatsTest, TlsIsVerified) {
  if (program_path("openssl").empty()) GTEST_SKIP() << "openssl is not installed";
  const auto folder = scratch_folder("nats-tls");
  const auto certificate = (folder / "certificate.pem").string();
  const auto key = (folder / "key.pem").string();
  ASSERT_EQ(std::system(("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
                         "-days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -out " +
                         certificate + " -keyout " + key + " 2>/dev/null")
                            .c_str()),
            0);
  start("tls { cert_file: \"" + certificate + "\", key_file: \"" + key + "\" }");
  if (IsSkipped()) return;
  open({.tls = {.required = true, .ca_file = certificate, .host_name = "localhost"}});
  // No stream takes it: the answer came through a verified connection.
  const auto answered = sender_->send_one({}, "nats:orders.new");
  EXPECT_NE(answered.error.find("no stream takes subject"), std::string::npos) << answered.error;

  for (const nats::Tls& tls :
       {nats::Tls{.required = true, .host_name = "localhost"},
        nats::Tls{.required = true, .ca_file = certificate, .host_name = "elsewhere"}}) {
    transport_->close(system_clock().boot_now());
    open({.tls = tls});
    const auto result = sender_->send_one({}, "nats:orders.new");
    EXPECT_EQ(result.kind, Kind::unreachable) << result.error;
  }
}

TEST_F(NatsTest, StreamGivenByTheRouteIsTheOnlyOneThatMayTakeIt) {
  start();
  if (IsSkipped()) return;
  stream({.name = "RIGHT", .subject = "right"});
  open();
  EXPECT_EQ(sender_->send_one({}, "nats:right", Sender::ample, {{"stream", "RIGHT"}}).kind,
            Kind::delivered);
  const auto wrong = sender_->send_one({}, "nats:right", Sender::ample, {{"stream", "WRONG"}});
  EXPECT_EQ(wrong.kind, Kind::rejected) << wrong.error;
}

TEST_F(NatsTest, FindingsNameWhatMayLoseMessages) {
  start();
  if (IsSkipped()) return;
  stream({.name = "MEMORY", .subject = "memory", .storage = js_MemoryStorage});
  stream({.name = "FORGETFUL", .subject = "forgetful", .duplicates = 1'000'000'000});
  open();
  for (const auto* subject : {"nats:memory", "nats:forgetful", "nats:missing"}) {
    ASSERT_TRUE(transport_->address(subject, {}).ok());
  }
  const auto found = transport_->findings(system_clock().boot_now() + Sender::ample);
  ASSERT_TRUE(found.ok()) << found.error().text();
  const auto says = [&](const std::string& who, const std::string& what) {
    return std::ranges::any_of(*found, [&](const std::string& finding) {
      return mentions(finding, who) && mentions(finding, what);
    });
  };
  EXPECT_TRUE(says("MEMORY", "kept in memory"));
  EXPECT_TRUE(says("FORGETFUL", "duplicate_window"));
  EXPECT_TRUE(says("FORGETFUL", "sync_interval"));
  EXPECT_TRUE(says("missing", "no stream takes it"));
}

}  // namespace
}  // namespace sagabox::testing
