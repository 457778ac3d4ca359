#include "observe/trace_parent.hpp"

#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <map>

namespace sagabox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto sampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr auto not_sampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

TEST(TraceParent, IsTakenApart) {
  const auto parent = parse_traceparent(sampled);
  ASSERT_TRUE(parent.has_value());
  EXPECT_EQ(parent->trace, (TraceId{0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd, 0x84, 0x48,
                                    0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c}));
  EXPECT_EQ(parent->span, (SpanId{0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31}));
  EXPECT_TRUE(parent->sampled);
  EXPECT_FALSE(parse_traceparent(not_sampled)->sampled);
}

TEST(TraceParent, OnlyTheLowestFlagIsSampling) {
  const std::string ids = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-";
  EXPECT_FALSE(parse_traceparent(ids + "02")->sampled);
  EXPECT_TRUE(parse_traceparent(ids + "03")->sampled);
}

TEST(TraceParent, WhatIsNoneIsNothing) {
  EXPECT_FALSE(parse_traceparent("").has_value());
  EXPECT_FALSE(
      parse_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331").has_value());
}

TEST(Sampling, TakesAboutItsRatioAndAlwaysTheSame) {
  int taken = 0;
  for (int number = 0; number < 10'000; ++number) {
    const auto trace = trace_of_message("orders", std::to_string(number));
    EXPECT_EQ(trace, trace_of_message("orders", std::to_string(number)));
    taken += is_sampled(trace, 0.25) ? 1 : 0;
    EXPECT_TRUE(is_sampled(trace, 1));
    EXPECT_FALSE(is_sampled(trace, 0));
  }
  EXPECT_GT(taken, 2'200);
  EXPECT_LT(taken, 2'800);
}

struct Kept final : SpanSink {
  void take(TraceSpan span) noexcept override { spans.push_back(std::move(span)); }
  std::vector<TraceSpan> spans;
};

class TraceDeliveriesTest : public ::testing::Test {
 protected:
  TraceDeliveriesTest() {
    options.spans = &kept;
    options.clock = &clock;
    options.random = random.get();
  }

  /// An attempt that took a quarter of a second and ended so.
  void deliver(const std::string& traceparent, const Outcome& outcome, std::uint32_t attempt = 1) {
    NewMessage draft{.topic = "orders.order.placed.v1", .payload = json("{}")};
    draft.id = "order-17";
    draft.trace.traceparent = traceparent;
    if (!traceparent.empty()) draft.trace.tracestate = "vendor=1";
    const auto message = Message::build(std::move(draft), {}, ids, clock).value();
    const auto table = TableName::parse("orders").value();
    const Delivery::Facts facts{.message = &message,
                                .table = &table,
                                .sequence = Sequence{42},
                                .attempt = attempt,
                                .deadline = clock.boot_now() + options.dispatch_timeout};
    const auto tracer = trace_deliveries(options);
    const Delivery delivery(facts);
    tracer->before(delivery);
    clock.advance(milliseconds(250));
    tracer->after(delivery, outcome);
  }
  const TraceSpan& only() const {
    EXPECT_EQ(kept.spans.size(), 1U);
    return kept.spans.at(0);
  }
  static std::map<std::string_view, std::string> attributes(const TraceSpan& span) {
    std::map<std::string_view, std::string> found;
    for (const auto& [name, value] : span.attributes) {
      const auto* const number = std::get_if<std::int64_t>(&value);
      found[name] = number != nullptr ? std::to_string(*number) : std::get<std::string>(value);
    }
    return found;
  }

  testing::FakeClock clock;
  std::unique_ptr<Random> random = seeded_random(1);
  UlidSource ids{clock, *random};
  Kept kept;
  TracingOptions options;
};

TEST_F(TraceDeliveriesTest, SpanIsAChildOfTheStoredTrace) {
  const auto began = clock.wall_now();
  deliver(sampled, done());
  const auto parent = parse_traceparent(sampled);
  EXPECT_EQ(only().trace, parent->trace);
  EXPECT_EQ(only().parent, parent->span);
  EXPECT_NE(only().id, parent->span);
  EXPECT_NE(only().id, SpanId{});
  EXPECT_EQ(only().tracestate, "vendor=1");
  EXPECT_EQ(only().started, began);
  EXPECT_EQ(only().lasted, milliseconds(250));
  EXPECT_FALSE(only().failed);
}

TEST_F(TraceDeliveriesTest, SaysWhichMessageAndWhatBecameOfIt) {
  auto outcome = retry("503 from hooks.example.com");
  outcome.code = Code::provider_unavailable;
  deliver(sampled, outcome, 3);
  EXPECT_TRUE(only().failed);
  EXPECT_EQ(only().error, "503 from hooks.example.com");
  EXPECT_EQ(only().name, "deliver orders.order.placed.v1");
  const auto said = attributes(only());
  EXPECT_EQ(said.at("messaging.destination.name"), "orders.order.placed.v1");
  EXPECT_EQ(said.at("messaging.message.id"), "order-17");
  EXPECT_EQ(said.at("sagabox.table"), "orders");
  EXPECT_EQ(said.at("sagabox.sequence"), "42");
  EXPECT_EQ(said.at("sagabox.attempt"), "3");
  EXPECT_EQ(said.at("sagabox.result"), "retry");
  EXPECT_EQ(said.at("error.type"), "PROVIDER.UNAVAILABLE");
}

TEST_F(TraceDeliveriesTest, TraceThatIsNotSampledHasNoSpan) {
  deliver(not_sampled, done());
  EXPECT_TRUE(kept.spans.empty());
}

TEST_F(TraceDeliveriesTest, SampledTraceHasSpansWhateverTheRatio) {
  options.sample_ratio = 0;
  deliver(sampled, done());
  EXPECT_EQ(kept.spans.size(), 1U);
}

TEST_F(TraceDeliveriesTest, AttemptsWithoutATraceShareOneOfTheirOwn) {
  deliver("", retry("not yet"));
  deliver("", done(), 2);
  ASSERT_EQ(kept.spans.size(), 2U);
  EXPECT_EQ(kept.spans[0].trace, kept.spans[1].trace);
  EXPECT_NE(kept.spans[0].id, kept.spans[1].id);
  EXPECT_EQ(kept.spans[0].parent, SpanId{});
}

TEST_F(TraceDeliveriesTest, RatioOfZeroBeginsNoTraces) {
  options.sample_ratio = 0;
  deliver("", done());
  EXPECT_TRUE(kept.spans.empty());
}

TEST_F(TraceDeliveriesTest, WhatWasPutBackWithoutAnAttemptHasNoSpan) {
  deliver(sampled, retry_after(seconds(1), Attempt::not_spent));
  EXPECT_TRUE(kept.spans.empty());
  deliver(sampled, retry_after(seconds(1)));
  EXPECT_EQ(kept.spans.size(), 1U);
}

}  // namespace
}  // namespace sagabox
