#include "core/key_hash.hpp"

#include <sagabox/message.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace shop {

enum class Event { placed, paid };
constexpr std::string_view sagabox_name(Event event) {
  return event == Event::placed ? "orders.order.placed.v1" : "orders.order.paid.v1";
}

}  // namespace shop

namespace sagabox {
namespace {

using namespace std::chrono_literals;

std::string repeated(std::string_view piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

class MessageTest : public ::testing::Test {
 protected:
  static NewMessage valid() {
    return {.topic = "orders.order.placed.v1", .payload = json(R"({"id": 17})")};
  }
  Result<Message> build(NewMessage draft) {
    return Message::build(std::move(draft), rules, ids, clock);
  }
  /// The error after `change` was made to a valid draft.
  std::string problem(const std::function<void(NewMessage&)>& change) {
    auto draft = valid();
    change(draft);
    const auto message = build(std::move(draft));
    if (message.ok()) return "no error";
    EXPECT_EQ(message.error().code, Code::schema_validation_failed);
    return message.error().message;
  }

  testing::FakeClock clock;
  std::unique_ptr<Random> random = seeded_random(1);
  UlidSource ids{clock, *random};
  MessageRules rules;
};

TEST_F(MessageTest, FillsInTheDefaults) {
  const auto message = build(valid()).value();
  EXPECT_EQ(message.topic(), "orders.order.placed.v1");
  EXPECT_EQ(message.id().view().size(), 26U);
  EXPECT_EQ(message.tenant(), "default");
  EXPECT_EQ(message.aggregate_type(), "__GLOBAL__");
  EXPECT_EQ(message.aggregate_id(), "");
  EXPECT_FALSE(message.has_key());
  EXPECT_EQ(message.key_hash(), 0U);
  EXPECT_EQ(message.priority(), Priority::normal);
  EXPECT_EQ(message.content_type(), "application/json");
  EXPECT_EQ(message.occurred_at(), clock.wall_now());
  EXPECT_FALSE(message.not_before().has_value());
  EXPECT_EQ(message.digest(), sha256(R"({"id": 17})"));
}

TEST_F(MessageTest, KeepsWhatIsGiven) {
  const TraceContext trace{.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                           .tracestate = "congo=t61rcWkgMzE",
                           .request_id = "req-1",
                           .correlation_id = "env-1"};
  const auto message = build({.topic = "UserCreated",
                              .key = "user-7",
                              .payload = bytes("\x01\x02"),
                              .tenant = "acme",
                              .aggregate_type = "User",
                              .aggregate_id = "7",
                              .priority = Priority::high,
                              .content_type = "application/x-protobuf",
                              .headers = {{"x-a", "1"}, {"x-b", ""}},
                              .occurred_at = WallTime{1s},
                              .not_before = WallTime{2s},
                              .trace = trace,
                              .id = "my-own-id"})
                           .value();
  EXPECT_EQ(message.topic(), "UserCreated");
  EXPECT_EQ(message.key(), "user-7");
  EXPECT_EQ(message.key_hash(), sagabox::key_hash("acme", "user-7"));
  EXPECT_EQ(message.payload().view(), "\x01\x02");
  EXPECT_EQ(message.tenant(), "acme");
  EXPECT_EQ(message.aggregate_type(), "User");
  EXPECT_EQ(message.aggregate_id(), "7");
  EXPECT_EQ(message.priority(), Priority::high);
  EXPECT_EQ(message.content_type(), "application/x-protobuf");
  EXPECT_EQ(message.headers(), (Headers{{"x-a", "1"}, {"x-b", ""}}));
  EXPECT_EQ(message.occurred_at(), WallTime{1s});
  EXPECT_EQ(message.not_before(), WallTime{2s});
  EXPECT_EQ(message.trace(), trace);
  EXPECT_EQ(message.id().view(), "my-own-id");
}

TEST_F(MessageTest, OnlyAnIdThatWasMadeHereIsFresh) {
  auto draft = valid();
  const auto built = build(draft).value();
  EXPECT_TRUE(built.has_fresh_id());
  draft.id = built.id().str();
  EXPECT_FALSE(build(draft)->has_fresh_id()) << "somebody else knows it";
  EXPECT_FALSE(Message::restore({built.id(), draft, built.digest()}).has_fresh_id());
}

TEST_F(MessageTest, RestoredMessageIsTheOneThatWasBuilt) {
  auto draft = valid();
  draft.key = "k";
  draft.headers = {{"a", "1"}};
  draft.occurred_at = clock.wall_now();
  draft.content_type = "application/json";
  const auto built = build(draft).value();
  const auto restored = Message::restore({built.id(), draft, built.digest()});
  EXPECT_EQ(restored.id(), built.id());
  EXPECT_EQ(restored.digest(), built.digest());
  EXPECT_EQ(restored.key_hash(), built.key_hash());
  EXPECT_EQ(restored.bytes(), built.bytes());
  EXPECT_EQ(restored.headers(), built.headers());
  EXPECT_EQ(restored.payload().view(), built.payload().view());
}

/// All that a message tells of itself, but its payload's bytes and whether its id is fresh.
void expect_same(const Message& a, const Message& b) {
  EXPECT_EQ(a.id(), b.id());
  EXPECT_EQ(a.topic(), b.topic());
  EXPECT_EQ(a.key(), b.key());
  EXPECT_EQ(a.key_hash(), b.key_hash());
  EXPECT_EQ(a.tenant(), b.tenant());
  EXPECT_EQ(a.aggregate_type(), b.aggregate_type());
  EXPECT_EQ(a.aggregate_id(), b.aggregate_id());
  EXPECT_EQ(a.priority(), b.priority());
  EXPECT_EQ(a.content_type(), b.content_type());
  EXPECT_EQ(a.headers(), b.headers());
  EXPECT_EQ(a.occurred_at(), b.occurred_at());
  EXPECT_EQ(a.not_before(), b.not_before());
  EXPECT_EQ(a.trace(), b.trace());
  EXPECT_EQ(a.digest(), b.digest());
  EXPECT_EQ(a.bytes(), b.bytes());
  EXPECT_EQ(a.has_usual_details(), b.has_usual_details());
}

TEST_F(MessageTest, RowOfAStoreIsTheMessageThatWasBuilt) {
  const auto full = build({.topic = "UserCreated",
                           .key = "user-7",
                           .payload = bytes("\x01"),
                           .tenant = "acme",
                           .priority = Priority::low,
                           .headers = {{"x-a", "1"}},
                           .not_before = WallTime{2s}})
                        .value();
  for (const auto& built : {build(valid()).value(), full}) {
    const auto row = [&](std::optional<MessageDetails> details) {
      return StoredRow{.id = built.id(),
                       .topic = built.topic(),
                       .key = built.key(),
                       .form = built.payload().form(),
                       .payload = built.payload().view(),
                       .priority = built.priority(),
                       .occurred_at = built.occurred_at(),
                       .digest = built.digest(),
                       .details = std::move(details)};
    };
    const MessageDetails details{.tenant = built.tenant(),
                                 .content_type = built.content_type(),
                                 .headers = built.headers(),
                                 .not_before = built.not_before()};
    const auto restored = Message::restore_shared(row(details));
    expect_same(*restored, built);
    EXPECT_EQ(restored->payload().view(), built.payload().view());
    EXPECT_FALSE(restored->has_fresh_id());
    if (built.has_usual_details()) expect_same(*Message::restore_shared(row({})), built);
  }
}

TEST_F(MessageTest, AnyDetailIsUnusual) {
  EXPECT_TRUE(build(valid())->has_usual_details());
  const auto unusual = [&](const std::function<void(NewMessage&)>& change) {
    auto draft = valid();
    change(draft);
    return !build(std::move(draft))->has_usual_details();
  };
  EXPECT_TRUE(unusual([](auto& d) { d.tenant = "acme"; }));
  EXPECT_TRUE(unusual([](auto& d) { d.aggregate_type = "Order"; }));
  EXPECT_TRUE(unusual([](auto& d) { d.aggregate_id = "7"; }));
  EXPECT_TRUE(unusual([](auto& d) { d.content_type = "application/ld+json"; }));
  EXPECT_TRUE(unusual([](auto& d) { d.payload = bytes("x"); }));
  EXPECT_TRUE(unusual([](auto& d) { d.headers = {{"a", "1"}}; }));
  EXPECT_TRUE(unusual([](auto& d) { d.not_before = WallTime{1s}; }));
  EXPECT_TRUE(unusual([](auto& d) { d.trace.request_id = "r"; }));
  EXPECT_FALSE(unusual([](auto& d) { d.key = "k"; }));
  EXPECT_FALSE(unusual([](auto& d) { d.content_type = "application/json"; }));
}

TEST_F(MessageTest, SharedOneIsTheSame) {
  auto draft = valid();
  draft.id = "mine";
  const auto built = build(draft).value();
  const auto shared = Message::build_shared(std::move(draft), rules, ids, clock).value();
  expect_same(*shared, built);
  EXPECT_TRUE(Message::build_shared(valid(), rules, ids, clock).value()->has_fresh_id());
  auto broken = valid();
  broken.topic = "";
  EXPECT_FALSE(Message::build_shared(std::move(broken), rules, ids, clock).ok());
}

TEST_F(MessageTest, BytesDefaultToOctetStream) {
  auto draft = valid();
  draft.payload = bytes("{not json");
  EXPECT_EQ(build(std::move(draft))->content_type(), "application/octet-stream");
}

TEST_F(MessageTest, PayloadIsSharedNotCopied) {
  auto draft = valid();
  const auto* data = draft.payload.view().data();
  const auto message = build(std::move(draft)).value();
  const Message copy = message;
  EXPECT_EQ(message.payload().view().data(), data);
  EXPECT_EQ(copy.payload().view().data(), data);
}

TEST_F(MessageTest, BytesCountPayloadHeadersAndNames) {
  const auto plain = build(valid()).value();
  auto draft = valid();
  draft.key = "12345";
  draft.headers = {{"abc", "defg"}};
  EXPECT_EQ(build(std::move(draft))->bytes(), plain.bytes() + 5 + 7);
  EXPECT_EQ(plain.bytes(), 26U + 22 + 10 + 7 + 10 + 16);
}

TEST_F(MessageTest, TopicsMayBeEnumsOrStrings) {
  const std::string dynamic = "orders.order.paid.v1";
  EXPECT_EQ(Topic(shop::Event::paid), Topic(dynamic));
  EXPECT_EQ(Topic(shop::Event::placed).str(), "orders.order.placed.v1");
  static_assert(!std::is_convertible_v<Topic, AggregateType>);
  enum class Nameless { x };
  static_assert(!std::is_constructible_v<Topic, Nameless>);
}

TEST_F(MessageTest, LengthsAreCountedInCharactersAndBounded) {
  const auto fits = [&](const std::function<void(NewMessage&)>& change) {
    return problem(change) == "no error";
  };
  EXPECT_TRUE(fits([](auto& m) { m.topic = std::string(128, 't'); }));
  EXPECT_TRUE(fits([](auto& m) { m.topic = repeated("题", 128); }));
  EXPECT_TRUE(fits([](auto& m) { m.aggregate_type = std::string(64, 'a'); }));
  EXPECT_TRUE(fits([](auto& m) { m.aggregate_id = std::string(128, 'a'); }));
  EXPECT_TRUE(fits([](auto& m) { m.tenant = std::string(64, 't'); }));
  EXPECT_TRUE(fits([](auto& m) { m.key = std::string(256, 'k'); }));
  EXPECT_TRUE(fits([](auto& m) { m.id = std::string(36, 'i'); }));

  EXPECT_EQ(problem([](auto& m) { m.topic = std::string(129, 't'); }),
            "topic: 129 characters, at most 128 are allowed");
  EXPECT_EQ(problem([](auto& m) { m.topic = repeated("题", 129); }),
            "topic: 129 characters, at most 128 are allowed");
  EXPECT_EQ(problem([](auto& m) { m.aggregate_type = std::string(65, 'a'); }),
            "aggregate_type: 65 characters, at most 64 are allowed");
  EXPECT_EQ(problem([](auto& m) { m.aggregate_id = std::string(129, 'a'); }),
            "aggregate_id: 129 characters, at most 128 are allowed");
  EXPECT_EQ(problem([](auto& m) { m.tenant = std::string(65, 't'); }),
            "tenant: 65 characters, at most 64 are allowed");
  EXPECT_EQ(problem([](auto& m) { m.key = std::string(257, 'k'); }),
            "key: 257 characters, at most 256 are allowed");
  EXPECT_EQ(problem([](auto& m) { m.content_type = std::string(256, 'c'); }),
            "content_type: 256 characters, at most 255 are allowed");
  EXPECT_EQ(problem([](auto& m) { m.trace.tracestate = std::string(513, 'c'); }),
            "trace.tracestate: 513 characters, at most 512 are allowed");
  EXPECT_EQ(problem([](auto& m) { m.trace.request_id = std::string(129, 'c'); }),
            "trace.request_id: 129 characters, at most 128 are allowed");
  EXPECT_EQ(problem([](auto& m) { m.trace.correlation_id = std::string(129, 'c'); }),
            "trace.correlation_id: 129 characters, at most 128 are allowed");
  EXPECT_EQ(problem([](auto& m) { m.id = std::string(37, 'i'); }),
            "id: 37 bytes, at most 36 are allowed; give 1 to 36 printable ASCII characters "
            "without spaces");
}

TEST_F(MessageTest, MandatoryNamesMayNotBeEmpty) {
  EXPECT_EQ(problem([](auto& m) { m.topic = ""; }),
            "topic: empty; give 1 to 128 printable characters");
  EXPECT_EQ(problem([](auto& m) { m.tenant = ""; }),
            "tenant: empty; give 1 to 64 printable characters");
  EXPECT_EQ(problem([](auto& m) { m.aggregate_type = ""; }),
            "aggregate_type: empty; give 1 to 64 printable characters");
}

TEST_F(MessageTest, NamesArePrintable) {
  const std::string rest = " is not printable; only printable characters in UTF-8 are allowed";
  EXPECT_EQ(problem([](auto& m) { m.topic = "a\nb"; }), "topic: byte 2" + rest);
  EXPECT_EQ(problem([](auto& m) { m.tenant = "\x7f"; }), "tenant: byte 1" + rest);
  EXPECT_EQ(problem([](auto& m) { m.key = std::string("k\0", 2); }), "key: byte 2" + rest);
  EXPECT_EQ(problem([](auto& m) { m.aggregate_type = "é\xc2\x80"; }),
            "aggregate_type: byte 3" + rest);
  EXPECT_EQ(problem([](auto& m) { m.aggregate_id = "id\xff"; }), "aggregate_id: byte 3" + rest);
  EXPECT_EQ(problem([](auto& m) { m.content_type = "text/plain\r\nX: y"; }),
            "content_type: byte 11" + rest);
  EXPECT_EQ(problem([](auto& m) { m.trace.request_id = "\t"; }), "trace.request_id: byte 1" + rest);
}

TEST_F(MessageTest, PayloadIsNeededAndBounded) {
  EXPECT_EQ(problem([](auto& m) { m.payload = {}; }),
            "payload: missing; give json(…) or bytes(…), json(\"null\") for nothing");
  EXPECT_EQ(problem([](auto& m) { m.payload = bytes(std::string(1024 * 1024, 'x')); }), "no error");
  EXPECT_EQ(problem([](auto& m) { m.payload = bytes(std::string(1024 * 1024 + 1, 'x')); }),
            "payload: 1048577 bytes, at most 1048576 are allowed; store large objects elsewhere "
            "and send a reference");
  EXPECT_EQ(problem([](auto& m) { m.payload = bytes(""); }), "no error");
}

TEST_F(MessageTest, PayloadBoundCanBeLoweredNotRaised) {
  rules.payload_bytes_max = 4;
  EXPECT_EQ(problem([](auto& m) { m.payload = bytes("12345"); }),
            "payload: 5 bytes, at most 4 are allowed; store large objects elsewhere and send a "
            "reference");
  rules.payload_bytes_max = 10UL * 1024 * 1024;
  EXPECT_NE(problem([](auto& m) { m.payload = bytes(std::string(2UL * 1024 * 1024, 'x')); }),
            "no error");
}

TEST_F(MessageTest, JsonIsCheckedAndNeverQuoted) {
  EXPECT_EQ(problem([](auto& m) { m.payload = json("{\"secret\": 1"); }),
            "payload: not valid JSON at byte 13: the value is not complete; give one JSON value "
            "(RFC 8259), or bytes(…)");
  EXPECT_EQ(problem([](auto& m) { m.payload = json("null"); }), "no error");
}

TEST_F(MessageTest, HeadersHaveNamesAndNoControlCharacters) {
  EXPECT_EQ(problem([](auto& m) { m.headers = {{"a", "1"}, {"", "2"}}; }),
            "headers: the name of header 2 is empty; every header needs a name");
  EXPECT_EQ(problem([](auto& m) { m.headers = {{"a\n", "1"}}; }),
            "headers: the name of header 1 has a control character or is not UTF-8; only "
            "printable characters are allowed");
  EXPECT_EQ(problem([](auto& m) { m.headers = {{"x-a", "secret\r\nEvil: 1"}}; }),
            "headers: the value of \"x-a\" is not printable at byte 7; control characters and "
            "newlines are not allowed, nor what is not UTF-8");
  EXPECT_EQ(problem([](auto& m) { m.headers = {{"x", "1"}, {"y", "2"}, {"x", "3"}}; }),
            "headers: \"x\" is given twice; names must differ");
  EXPECT_EQ(problem([](auto& m) { m.headers = {{"x", std::string(64 * 1024 - 1, 'v')}}; }),
            "no error");
  EXPECT_EQ(problem([](auto& m) { m.headers = {{"x", std::string(64 * 1024, 'v')}}; }),
            "headers: 65537 bytes, at most 65536 are allowed for all names and values together");
}

TEST_F(MessageTest, TimesMustFitIntoDatabases) {
  EXPECT_EQ(problem([](auto& m) { m.not_before = WallTime::max(); }),
            "not_before: outside the years 1000 to 9999, which databases can hold");
  EXPECT_EQ(problem([](auto& m) { m.occurred_at = WallTime::min(); }),
            "occurred_at: outside the years 1000 to 9999, which databases can hold");
  EXPECT_EQ(problem([](auto& m) { m.occurred_at = WallTime{-24h * 365}; }), "no error");
}

TEST_F(MessageTest, PriorityIsOneOfThree) {
  EXPECT_EQ(problem([](auto& m) { m.priority = static_cast<Priority>(9); }),
            "priority: 9 is none; it is high (0), normal (1) or low (2)");
}

TEST_F(MessageTest, TraceparentHasTheW3cForm) {
  const auto parent = [&](std::string text) {
    return problem([&](auto& m) { m.trace.traceparent = text; });
  };
  const std::string trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  const std::string span = "00f067aa0ba902b7";
  EXPECT_EQ(parent("00-" + trace_id + "-" + span + "-01"), "no error");
  EXPECT_EQ(parent("cc-" + trace_id + "-" + span + "-01-more"), "no error");
  for (const auto& wrong :
       {"00-" + trace_id + "-" + span, "00-" + trace_id + "-" + span + "-01-more",
        "ff-" + trace_id + "-" + span + "-01", "cc-" + trace_id + "-" + span + "-01.more",
        "00-" + std::string(32, '0') + "-" + span + "-01",
        "00-" + trace_id + "-" + std::string(16, '0') + "-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + span + "-01",
        "00_" + trace_id + "-" + span + "-01", "00-" + trace_id + "-" + span + "-0x",
        "0g-" + trace_id + "-" + span + "-01", "00-" + trace_id + "_" + span + "-01",
        "cc-" + trace_id + "-" + span + "-01-" + std::string(500, 'x')}) {
    EXPECT_EQ(parent(wrong),
              "trace.traceparent: " + std::to_string(wrong.size()) +
                  " characters that are not W3C trace context; it must read 00-<32 hex>-<16 hex>-"
                  "<2 hex> in lower case, ids not all zero")
        << wrong;
  }
}

TEST_F(MessageTest, StrictTopicsAreARule) {
  EXPECT_EQ(problem([](auto& m) { m.topic = "UserCreated"; }), "no error");
  rules.strict_topics = true;
  EXPECT_EQ(problem([](auto& m) { m.topic = "UserCreated"; }),
            "topic \"UserCreated\": only a-z, 0-9, . and - are allowed; it must read "
            "<module>.<aggregate>.<event>.vN, for instance orders.order.placed.v1");
  EXPECT_EQ(problem([](auto&) {}), "no error");
}

TEST(MessageRules, PayloadBoundIsChecked) {
  EXPECT_TRUE(MessageRules{}.check().ok());
  const auto text = [](std::size_t bytes) {
    const auto status = MessageRules{.payload_bytes_max = bytes}.check();
    return status.ok() ? std::string() : status.error().text();
  };
  EXPECT_EQ(text(1), "");
  EXPECT_EQ(text(0), "CONFIG.INVALID: payload_bytes_max: 0 is not between 1 and 1048576");
  EXPECT_EQ(text(1048577),
            "CONFIG.INVALID: payload_bytes_max: 1048577 is not between 1 and 1048576");
}

TEST_F(MessageTest, BuilderSaysTheSame) {
  const auto draft = MessageBuilder("orders.order.placed.v1")
                         .id("id-1")
                         .tenant("acme")
                         .aggregate("Order", "17")
                         .key("17")
                         .priority(Priority::low)
                         .json("[1]")
                         .header("a", "1")
                         .header("b", "2")
                         .occurred_at(WallTime{1s})
                         .not_before(WallTime{2s})
                         .trace({.request_id = "r"})
                         .draft();
  const auto message = build(draft.value()).value();
  EXPECT_EQ(message.topic(), "orders.order.placed.v1");
  EXPECT_EQ(message.id().view(), "id-1");
  EXPECT_EQ(message.tenant(), "acme");
  EXPECT_EQ(message.aggregate_type(), "Order");
  EXPECT_EQ(message.aggregate_id(), "17");
  EXPECT_EQ(message.key(), "17");
  EXPECT_EQ(message.priority(), Priority::low);
  EXPECT_EQ(message.payload().json(), "[1]");
  EXPECT_EQ(message.headers(), (Headers{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(message.occurred_at(), WallTime{1s});
  EXPECT_EQ(message.not_before(), WallTime{2s});
  EXPECT_EQ(message.trace().request_id, "r");
}

TEST_F(MessageTest, BuilderTakesBytesWithTheirType) {
  const auto draft = MessageBuilder(shop::Event::paid).bytes("x", "text/plain").draft();
  const auto message = build(draft.value()).value();
  EXPECT_EQ(message.content_type(), "text/plain");
  EXPECT_EQ(message.payload().form(), PayloadForm::bytes);
}

TEST(MessageBuilder, APayloadGivenTwiceIsReported) {
  const auto draft = MessageBuilder("t").json("1").bytes("2").draft();
  ASSERT_FALSE(draft.ok());
  EXPECT_EQ(draft.error().code, Code::schema_validation_failed);
  EXPECT_EQ(draft.error().message,
            "payload: given 2 times; a message carries one, call json() or bytes() once");
}

}  // namespace
}  // namespace sagabox
