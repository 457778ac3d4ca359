#include "transports/amqp/channel.hpp"

#include <sagabox/random.hpp>
#include <sagabox/transports/amqp.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

namespace sagabox::amqp {
namespace {

using Kind = spi::SendResult::Kind;

struct Heard final : transports::Link::Answers {
  void answered(std::uint64_t number, spi::SendResult result) override {
    all[number].push_back(std::move(result));
  }
  [[nodiscard]] Kind kind(std::uint64_t number) const { return all.at(number).at(0).kind; }
  std::map<std::uint64_t, std::vector<spi::SendResult>> all;
};

class AmqpChannelTest : public ::testing::Test {
 protected:
  spi::Parcel parcel(const std::string& id, const std::string& key = "key") {
    auto address = std::make_shared<RoutingAddress>();
    address->exchange = "x";
    address->key = key;
    return {
        .message = std::make_shared<const Message>(
            Message::build({.topic = "t", .payload = json("1"), .id = id}, {}, ids_, system_clock())
                .value()),
        .address = address};
  }
  /// Numbers from 1, each a message of its own.
  void publish(std::uint64_t count) {
    for (std::uint64_t number = 1; number <= count; ++number) {
      channel_.published(parcel("m-" + std::to_string(number)), number);
    }
  }
  void return_one(const std::string& id, const std::string& key = "key") {
    amqp_basic_return_t method{};
    method.reply_code = 312;
    method.reply_text = as_bytes("NO_ROUTE");
    method.routing_key = as_bytes(key);
    channel_.return_begins(method);
    amqp_basic_properties_t properties{};
    properties._flags = AMQP_BASIC_MESSAGE_ID_FLAG;
    properties.message_id = as_bytes(id);
    amqp_frame_t frame{};
    frame.payload.properties.decoded = &properties;
    channel_.return_header(frame);
  }

  UlidSource ids_{system_clock(), system_random()};
  Channel channel_{1, "x"};
  Heard heard_;
};

TEST_F(AmqpChannelTest, OneConfirmMaySpeakForAllBeforeIt) {
  publish(5);
  channel_.confirmed(2, false, true, heard_);
  EXPECT_EQ(heard_.all.size(), 1U);
  channel_.confirmed(4, true, true, heard_);
  EXPECT_EQ(heard_.all.size(), 4U);
  EXPECT_FALSE(heard_.all.contains(5));
  channel_.confirmed(0, true, true, heard_);
  EXPECT_EQ(heard_.all.size(), 5U);
  for (const auto& [number, results] : heard_.all) EXPECT_EQ(results.size(), 1U) << number;
}

TEST_F(AmqpChannelTest, NotTakenIsBusy) {
  publish(3);
  channel_.confirmed(2, true, false, heard_);
  EXPECT_EQ(heard_.kind(1), Kind::busy);
  EXPECT_EQ(heard_.kind(2), Kind::busy);
  channel_.confirmed(3, false, true, heard_);
  EXPECT_EQ(heard_.kind(3), Kind::delivered);
}

TEST_F(AmqpChannelTest, ReturnedIsRejectedWhenItsConfirmComes) {
  publish(3);
  return_one("m-2");
  EXPECT_TRUE(heard_.all.empty());
  channel_.confirmed(3, true, true, heard_);
  EXPECT_EQ(heard_.kind(1), Kind::delivered);
  EXPECT_EQ(heard_.kind(2), Kind::rejected);
  EXPECT_EQ(heard_.kind(3), Kind::delivered);
}

TEST_F(AmqpChannelTest, TheSameMessageForTwoKeysIsToldApart) {
  channel_.published(parcel("m-1", "here"), 1);
  channel_.published(parcel("m-1", "there"), 2);
  return_one("m-1", "there");
  channel_.confirmed(2, true, true, heard_);
  EXPECT_EQ(heard_.kind(1), Kind::delivered);
  EXPECT_EQ(heard_.kind(2), Kind::rejected);
}

TEST_F(AmqpChannelTest, TheSameMessageTwiceIsReturnedTwice) {
  channel_.published(parcel("m-1"), 1);
  channel_.published(parcel("m-1"), 2);
  return_one("m-1");
  return_one("m-1");
  channel_.confirmed(2, true, true, heard_);
  EXPECT_EQ(heard_.kind(1), Kind::rejected);
  EXPECT_EQ(heard_.kind(2), Kind::rejected);
}

TEST_F(AmqpChannelTest, AnExchangeThatIsNotThereRejectsWhatWasForIt) {
  publish(3);
  channel_.confirmed(1, false, true, heard_);
  channel_.closed(404, "NOT_FOUND - no exchange 'x'", heard_);
  EXPECT_EQ(heard_.kind(1), Kind::delivered);
  EXPECT_EQ(heard_.kind(2), Kind::rejected);
  EXPECT_EQ(heard_.kind(3), Kind::rejected);
}

TEST_F(AmqpChannelTest, AKeyThatMayNotBeWrittenRejectsOnlyWhatWasForIt) {
  channel_.published(parcel("m-1", "orders.new"), 1);
  channel_.published(parcel("m-2", "orders.secret"), 2);
  channel_.published(parcel("m-3", "orders.secret.more"), 3);
  channel_.published(parcel("m-4", "orders.secret"), 4);
  channel_.closed(403,
                  "ACCESS_REFUSED - access to topic 'orders.secret' in exchange exchange 'x' in "
                  "vhost '/' refused for user 'shop'",
                  heard_);
  EXPECT_EQ(heard_.kind(1), Kind::unreachable);
  EXPECT_EQ(heard_.kind(2), Kind::rejected);
  EXPECT_EQ(heard_.kind(3), Kind::unreachable);
  EXPECT_EQ(heard_.kind(4), Kind::rejected);
}

TEST_F(AmqpChannelTest, AKeyThatIsCutInTheTextIsKnownByItsBeginning) {
  const std::string key(250, 'k');
  channel_.published(parcel("m-1", key), 1);
  channel_.published(parcel("m-2", "other"), 2);
  channel_.closed(403, "ACCESS_REFUSED - access to topic '" + key.substr(0, 200), heard_);
  EXPECT_EQ(heard_.kind(1), Kind::rejected);
  EXPECT_EQ(heard_.kind(2), Kind::unreachable);
}

TEST_F(AmqpChannelTest, AnExchangeThatMayNotBeWrittenRejectsWhatWasForIt) {
  publish(2);
  channel_.closed(403, "ACCESS_REFUSED - access to exchange 'x' in vhost '/' refused for user 'u'",
                  heard_);
  EXPECT_EQ(heard_.kind(1), Kind::rejected);
  EXPECT_EQ(heard_.kind(2), Kind::rejected);
}

TEST_F(AmqpChannelTest, AnErrorOfOneAmongSeveralBlamesNoMessage) {
  publish(2);
  channel_.closed(406, "PRECONDITION_FAILED", heard_);
  EXPECT_EQ(heard_.kind(1), Kind::unreachable);
  EXPECT_EQ(heard_.kind(2), Kind::unreachable);
}

TEST_F(AmqpChannelTest, AnErrorOfOneAloneIsItsOwn) {
  publish(1);
  channel_.closed(406, "PRECONDITION_FAILED", heard_);
  EXPECT_EQ(heard_.kind(1), Kind::failed);
}

RC_GTEST_FIXTURE_PROP(AmqpChannelTest, EachHasOneAnswerWhateverConfirmsCome, ()) {
  const auto count = *rc::gen::inRange<std::uint64_t>(1, 30);
  publish(count);
  std::set<std::uint64_t> open;
  for (std::uint64_t number = 1; number <= count; ++number) open.insert(number);
  for (int i = 0; i < 20; ++i) {
    const auto tag = *rc::gen::inRange<std::uint64_t>(0, count + 3);
    const auto multiple = *rc::gen::arbitrary<bool>();
    channel_.confirmed(tag, multiple, *rc::gen::arbitrary<bool>(), heard_);
    std::erase_if(open, [&](std::uint64_t number) {
      return multiple ? tag == 0 || number <= tag : number == tag;
    });
    RC_ASSERT(heard_.all.size() == count - open.size());
  }
  channel_.closed(320, "gone", heard_);
  RC_ASSERT(heard_.all.size() == count);
  for (const auto& [number, results] : heard_.all) RC_ASSERT(results.size() == 1U);
}

TEST(AmqpOptionsTest, ComeFromAUrl) {
  const auto plain = Options::from_url("amqp://me:secret@example.com:7000/shop%2Forders").value();
  EXPECT_EQ(plain.host, "example.com");
  EXPECT_EQ(plain.port, 7000);
  EXPECT_EQ(plain.username, "me");
  EXPECT_EQ(plain.password, "secret");
  EXPECT_EQ(plain.virtual_host, "shop/orders");
  const auto secure = Options::from_url("amqps://example.com").value();
  EXPECT_TRUE(secure.tls.enabled);
  EXPECT_EQ(secure.port, 5671);
  EXPECT_EQ(secure.virtual_host, "/");
}

TEST(AmqpOptionsTest, WhatIsWrongIsNamed) {
  EXPECT_FALSE(open({.username = ""}).ok());
  EXPECT_FALSE(open({.in_flight_max = 0}).ok());
  EXPECT_FALSE(open({.heartbeat = std::chrono::seconds(70'000)}).ok());
  EXPECT_FALSE(open({.virtual_host = std::string(256, 'v')}).ok());
}

}  // namespace
}  // namespace sagabox::amqp
