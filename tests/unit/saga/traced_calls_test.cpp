#include "saga/calls/traced_calls.hpp"

#include "observe/trace_parent.hpp"

#include <sagabox/random.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::saga {
namespace {

using namespace std::chrono_literals;

constexpr auto start_trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

class KeptSpans final : public SpanSink {
 public:
  void take(TraceSpan span) noexcept override { all.push_back(std::move(span)); }
  std::vector<TraceSpan> all;
};

/// Keeps what it is asked for; a test says how it ends.
class AskedCaller final : public Caller {
 public:
  void call(std::vector<CallOrder> orders, CallResults& results) override {
    for (auto& order : orders) asked.emplace_back(std::move(order), &results);
  }
  void abandon(CallTicket ticket) override { abandoned.push_back(ticket); }
  void end(std::size_t number, CallResult result) {
    asked.at(number).second->ended(asked.at(number).first.ticket, std::move(result));
  }
  std::vector<std::pair<CallOrder, CallResults*>> asked;
  std::vector<CallTicket> abandoned;
};

class KeptEnds final : public CallResults {
 public:
  void ended(CallTicket ticket, CallResult) noexcept override { all.push_back(ticket); }
  std::vector<CallTicket> all;
};

class TracedCallsTest : public ::testing::Test {
 protected:
  TracedCalls traced(double sample_ratio = 1) {
    return {caller_,
            {.spans = &spans_,
             .sample_ratio = sample_ratio,
             .clock = &clock_,
             .random = random_.get()}};
  }
  static CallOrder order(std::string traceparent, std::uint64_t ticket = 1) {
    return {.ticket = CallTicket{ticket},
            .call = {.attempt = 2},
            .saga = SagaId::parse("s1").value(),
            .definition = "travel",
            .definition_version = 3,
            .step = "flight",
            .traceparent = std::move(traceparent)};
  }
  static std::string attribute(const TraceSpan& span, std::string_view name) {
    for (const auto& one : span.attributes) {
      if (one.name != name) continue;
      const auto* const text = std::get_if<std::string>(&one.value);
      return text != nullptr ? *text : std::to_string(std::get<std::int64_t>(one.value));
    }
    return "(none)";
  }

  sagabox::testing::FakeClock clock_;
  std::unique_ptr<Random> random_ = seeded_random(1);
  KeptSpans spans_;
  AskedCaller caller_;
  KeptEnds ends_;
};

TEST_F(TracedCallsTest, ACallIsAChildOfTheTraceThatItsSagaWasStartedWith) {
  auto calls = traced();
  calls.call({order(start_trace)}, ends_);
  const auto handed = parse_traceparent(caller_.asked.at(0).first.traceparent).value();
  clock_.advance(40ms);
  caller_.end(0, {});
  ASSERT_EQ(spans_.all.size(), 1U);
  const auto& span = spans_.all[0];
  const auto parent = parse_traceparent(start_trace).value();
  EXPECT_EQ(span.trace, parent.trace);
  EXPECT_EQ(span.parent, parent.span);
  EXPECT_EQ(handed.trace, parent.trace);
  EXPECT_EQ(handed.span, span.id) << "the participant's spans are below this one";
  EXPECT_TRUE(handed.sampled);
  EXPECT_EQ(span.name, "call travel.flight");
  EXPECT_EQ(span.lasted, 40ms);
  EXPECT_FALSE(span.failed);
  EXPECT_EQ(attribute(span, "sagabox.saga"), "s1");
  EXPECT_EQ(attribute(span, "sagabox.definition"), "travel/3");
  EXPECT_EQ(attribute(span, "sagabox.step"), "flight");
  EXPECT_EQ(attribute(span, "sagabox.direction"), "action");
  EXPECT_EQ(attribute(span, "sagabox.attempt"), "2");
  EXPECT_EQ(attribute(span, "sagabox.result"), "ok");
  EXPECT_EQ(ends_.all, std::vector<CallTicket>{CallTicket{1}});
}

TEST_F(TracedCallsTest, AFailureSaysWhy) {
  auto calls = traced();
  calls.call({order(start_trace)}, ends_);
  caller_.end(0, {.kind = CallResult::Kind::fail,
                  .error = "the participant answered 404",
                  .code = Code::provider_rejected});
  const auto& span = spans_.all.at(0);
  EXPECT_TRUE(span.failed);
  EXPECT_EQ(span.error, "the participant answered 404");
  EXPECT_EQ(attribute(span, "error.type"), "PROVIDER.REJECTED");
  EXPECT_EQ(attribute(span, "sagabox.result"), "fail");
}

TEST_F(TracedCallsTest, WhatWasNotCalledHasNoSpan) {
  auto calls = traced();
  calls.call({order(start_trace)}, ends_);
  caller_.end(0, {.kind = CallResult::Kind::unreachable});
  EXPECT_TRUE(spans_.all.empty());
  EXPECT_EQ(ends_.all.size(), 1U);
}

TEST_F(TracedCallsTest, ATraceThatIsNotSampledIsHandedOnAsItIs) {
  auto calls = traced();
  std::string quiet = start_trace;
  quiet.back() = '0';
  calls.call({order(quiet)}, ends_);
  EXPECT_EQ(caller_.asked.at(0).first.traceparent, quiet);
  caller_.end(0, {});
  EXPECT_TRUE(spans_.all.empty());
  EXPECT_EQ(ends_.all.size(), 1U);
}

TEST_F(TracedCallsTest, ASagaWithoutATraceGetsOneOfItsOwnIfItIsSampled) {
  auto all = traced(1);
  all.call({order("", 1), order("", 2)}, ends_);
  caller_.end(0, {});
  caller_.end(1, {});
  ASSERT_EQ(spans_.all.size(), 2U);
  EXPECT_EQ(spans_.all[0].trace, spans_.all[1].trace);
  EXPECT_NE(spans_.all[0].id, spans_.all[1].id);
  EXPECT_EQ(spans_.all[0].parent, SpanId{});
  auto none = traced(0);
  none.call({order("", 3)}, ends_);
  EXPECT_EQ(caller_.asked.at(2).first.traceparent, "");
  caller_.end(2, {});
  EXPECT_EQ(spans_.all.size(), 2U);
}

}  // namespace
}  // namespace sagabox::saga
