#include "transports/nats/publication.hpp"

#include "transports/nats/address.hpp"

#include <sagabox/random.hpp>
#include <sagabox/transports/nats.hpp>

#include <gtest/gtest.h>

namespace sagabox::nats {
namespace {

TEST(NatsAddress, SubjectIsWhatFollowsTheScheme) {
  const auto subject = Subject::parse("nats:billing.issued", {{"stream", "BILLING"}});
  ASSERT_TRUE(subject.ok());
  EXPECT_EQ((*subject)->text(), "billing.issued");
  EXPECT_EQ((*subject)->stream(), "BILLING");
}

TEST(NatsAddress, SaysWhatWouldBeRight) {
  for (const auto* text : {"", "nats:", "billing", "nats:a..b", "nats:.a", "nats:a.", "nats:a b",
                           "nats:a.*", "nats:a.>", "nats:a\"b", "nats:_INBOX.x", "nats:\xc3\xa4"}) {
    const auto subject = Subject::parse(text, {});
    ASSERT_FALSE(subject.ok()) << text;
    EXPECT_EQ(subject.error().code, Code::config_invalid);
    EXPECT_NE(subject.error().message.find("nats:billing.issued"), std::string::npos)
        << subject.error().message;
  }
  EXPECT_FALSE(Subject::parse("nats:a", {{"stream", "a.b"}}).ok());
  EXPECT_FALSE(Subject::parse("nats:a", {{"steam", "a"}}).ok());
  EXPECT_TRUE(Subject::parse("nats:a*b.c>d", {}).ok());
}

TEST(NatsHeaders, AreEncodedAsCloudEventsSays) {
  std::string out;
  append_encoded(out, "a \"50%\" \xc3\xbc:x");
  EXPECT_EQ(out, "a%20%2250%25%22%20%C3%BC:x");
  out.clear();
  append_encoded_name(out, "a:b c");
  EXPECT_EQ(out, "a%3Ab%20c");
}

TEST(NatsPublication, IdIsOfTheSubjectAndTheEventsStaysPlain) {
  ASSERT_EQ(nats_Open(-1), NATS_OK);
  UlidSource ids(system_clock(), system_random());
  const auto table = TableName::parse("orders").value();
  const spi::Parcel parcel{
      .message = std::make_shared<const Message>(
          Message::build({.topic = "t", .payload = json("1"), .id = "m-1"}, {}, ids, system_clock())
              .value()),
      .address = Subject::parse("nats:billing.issued", {}).value(),
      .table = &table};
  const auto made = Publication().make(parcel, "_INBOX.x");
  ASSERT_NE(made.message, nullptr);
  const auto header = [&](const char* name) {
    const char* value = nullptr;
    return natsMsgHeader_Get(made.message.get(), name, &value) == NATS_OK ? std::string(value) : "";
  };
  EXPECT_EQ(header("Nats-Msg-Id"), "m-1 billing.issued");
  EXPECT_EQ(header("ce-id"), "m-1");
}

TEST(NatsPublication, IdIsOneTenants) {
  ASSERT_EQ(nats_Open(-1), NATS_OK);
  UlidSource ids(system_clock(), system_random());
  const auto table = TableName::parse("orders").value();
  const auto id_for = [&](const std::string& tenant) {
    const spi::Parcel parcel{
        .message = std::make_shared<const Message>(
            Message::build({.topic = "t", .payload = json("1"), .tenant = tenant, .id = "m-1"}, {},
                           ids, system_clock())
                .value()),
        .address = Subject::parse("nats:billing.issued", {}).value(),
        .table = &table};
    const auto made = Publication().make(parcel, "_INBOX.x");
    const char* value = nullptr;
    EXPECT_EQ(natsMsgHeader_Get(made.message.get(), "Nats-Msg-Id", &value), NATS_OK);
    return std::string(value);
  };
  EXPECT_EQ(id_for("acme"), "m-1 billing.issued acme");
  EXPECT_EQ(id_for("b c"), "m-1 billing.issued b%20c");
}

TEST(NatsOptions, AreCheckedBeforeAnythingIsConnected) {
  const auto refused = [](const Options& options) {
    const auto opened = open(options);
    EXPECT_FALSE(opened.ok());
    if (opened.ok()) return std::string();
    EXPECT_EQ(opened.error().code, Code::config_invalid);
    EXPECT_EQ(opened.error().message.find("hush"), std::string::npos) << opened.error().message;
    return opened.error().message;
  };
  EXPECT_NE(refused({.servers = {}}).find("servers"), std::string::npos);
  EXPECT_NE(refused({.in_flight_max = 0}).find("in_flight_max"), std::string::npos);
  EXPECT_NE(refused({.credentials = {.user = "me", .password = "hush", .token = "hush"}})
                .find("one only"),
            std::string::npos);
  EXPECT_NE(refused({.tls = {.ca_file = "/no/such/file"}}).find("tls.ca_file"), std::string::npos);
  EXPECT_NE(refused({.tls = {.certificate_file = "/x"}}).find("key_file"), std::string::npos);
}

}  // namespace
}  // namespace sagabox::nats
