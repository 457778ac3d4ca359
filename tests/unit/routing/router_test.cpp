#include "support/dispatch_answers.hpp"
#include "support/scripted_transport.hpp"

#include <sagabox/random.hpp>
#include <sagabox/router.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>

namespace sagabox {
namespace {

using testing::DispatchAnswers;
using testing::ScriptedTransport;
using Kind = spi::SendResult::Kind;
using std::chrono::milliseconds;
using std::chrono::seconds;

class RouterTest : public ::testing::Test {
 protected:
  RouterOptions options(std::vector<RouteOptions> routes) {
    return {.routes = std::move(routes),
            .transports = {{"test", transport}, {"other", other}},
            .breaker = {.probe_min = milliseconds(20), .probe_max = milliseconds(20)}};
  }
  void open(RouterOptions with) {
    router = Router::open(std::move(with)).value();
    router->join(answers);
  }
  void open(std::vector<RouteOptions> routes) { open(options(std::move(routes))); }
  void TearDown() override {
    if (!router) return;
    transport->let_go();
    other->let_go();
    router->leave(answers);
  }
  std::shared_ptr<const Message> message(std::string topic, std::string tenant = "default") {
    UlidSource ids(system_clock(), system_random());
    return std::make_shared<const Message>(
        Message::build(
            {.topic = std::move(topic), .payload = json("{}"), .tenant = std::move(tenant)}, {},
            ids, system_clock())
            .value());
  }
  std::uint64_t deliver(const std::shared_ptr<const Message>& what, TargetsDone done = {},
                        std::uint32_t attempt = 1) {
    auto dispatch = spi::Dispatch{.ticket = spi::Ticket{++tickets},
                                  .message = what,
                                  .table = &table,
                                  .sequence = Sequence{tickets},
                                  .attempt = attempt,
                                  .done = done,
                                  .deadline = system_clock().boot_now() + seconds(60)};
    router->deliver({&dispatch, 1}, answers);
    return tickets;
  }
  static std::string refused(RouterOptions with) {
    const auto opened = Router::open(std::move(with));
    EXPECT_FALSE(opened.ok());
    return opened.ok() ? "" : opened.error().message;
  }

  TableName table = TableName::parse("orders").value();
  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  std::shared_ptr<ScriptedTransport> other = std::make_shared<ScriptedTransport>();
  DispatchAnswers answers;
  std::shared_ptr<Router> router;
  std::uint64_t tickets = 0;
};

TEST_F(RouterTest, GoesToTheTargetOfTheFirstRouteThatFits) {
  open({{.topic = "orders.*.v1", .to = {{"test:narrow"}}}, {.topic = "**", .to = {{"test:wide"}}}});
  EXPECT_EQ(answers.of(deliver(message("orders.placed.v1"))).outcome.kind, Outcome::Kind::done);
  EXPECT_EQ(answers.of(deliver(message("billing.paid.v1"))).outcome.kind, Outcome::Kind::done);
  ASSERT_EQ(transport->sent("narrow").size(), 1U);
  EXPECT_EQ(transport->sent("narrow")[0].message->topic(), "orders.placed.v1");
  EXPECT_EQ(transport->sent("wide").size(), 1U);
}

TEST_F(RouterTest, TheParcelSaysEverything) {
  open({{.topic = "**", .to = {{"test:a"}}}});
  const auto what = message("t");
  auto dispatch = spi::Dispatch{.ticket = spi::Ticket{7},
                                .message = what,
                                .table = &table,
                                .sequence = Sequence{8812},
                                .shard = Shard{5},
                                .epoch = Epoch{42},
                                .attempt = 3,
                                .deadline = system_clock().boot_now() + seconds(60)};
  router->deliver({&dispatch, 1}, answers);
  (void)answers.of(7);
  const auto parcel = transport->sent("a").at(0);
  EXPECT_EQ(parcel.message, what);
  EXPECT_EQ(parcel.table, &table);
  EXPECT_EQ(parcel.sequence, Sequence{8812});
  EXPECT_EQ(parcel.shard, Shard{5});
  EXPECT_EQ(parcel.epoch, Epoch{42});
  EXPECT_EQ(parcel.attempt, 3U);
}

TEST_F(RouterTest, ATopicWithoutRouteIsDeadAndSaysSo) {
  open({{.topic = "orders.**", .to = {{"test:a"}}}});
  const auto result = answers.of(deliver(message("billing.paid.v1")));
  EXPECT_FALSE(router->takes(*message("billing.paid.v1")));
  EXPECT_EQ(result.outcome.kind, Outcome::Kind::reject);
  EXPECT_EQ(result.outcome.code, Code::tx_unroutable);
}

TEST_F(RouterTest, AMessageOfATenantThatTheRouteDoesNotServeIsDenied) {
  open({{.topic = "**", .to = {{"test:a"}}, .tenants = {"acme", "zeta"}}});
  EXPECT_EQ(answers.of(deliver(message("t", "acme"))).outcome.kind, Outcome::Kind::done);
  const auto result = answers.of(deliver(message("t", "evil")));
  EXPECT_EQ(result.outcome.kind, Outcome::Kind::reject);
  EXPECT_EQ(result.outcome.code, Code::auth_denied);
  EXPECT_EQ(transport->sent("a").size(), 1U);
}

TEST_F(RouterTest, AMessageThatDoesNotFitItsSchemaIsNotSent) {
  open({{.topic = "**",
         .to = {{"test:a"}},
         .schema = JsonSchema::parse(R"({"type": "array"})").value()}});
  const auto result = answers.of(deliver(message("t")));
  EXPECT_EQ(result.outcome.kind, Outcome::Kind::reject);
  EXPECT_EQ(result.outcome.code, Code::schema_validation_failed);
  EXPECT_TRUE(transport->sent("a").empty());
}

TEST_F(RouterTest, TellsBeforeAWriteWhichPayloadsDoNotFit) {
  open({{.topic = "orders.*.placed.v1",
         .to = {{"test:a"}},
         .schema = JsonSchema::parse(R"({"type": "array"})").value()},
        {.topic = "**", .to = {{"test:a"}}}});
  const auto misfit = router->check_payload("orders.order.placed.v1", json("{}"));
  ASSERT_FALSE(misfit.ok());
  EXPECT_EQ(misfit.error().code, Code::schema_validation_failed);
  EXPECT_TRUE(router->check_payload("orders.order.placed.v1", json("[]")).ok());
  EXPECT_TRUE(router->check_payload("orders.order.placed.v1", bytes("{}")).ok())
      << "as at the send";
  EXPECT_TRUE(router->check_payload("orders.order.paid.v1", json("{}")).ok());
}

TEST_F(RouterTest, ARefusalIsTheMessagesFaultAndAFailureCostsAnAttempt) {
  open({{.topic = "refused", .to = {{"test:refuses"}}},
        {.topic = "failed", .to = {{"test:fails"}}}});
  transport->always("refuses", Kind::rejected, "422 no such customer");
  transport->always("fails", Kind::failed, "500");
  const auto refusal = answers.of(deliver(message("refused")));
  EXPECT_EQ(refusal.outcome.kind, Outcome::Kind::reject);
  EXPECT_EQ(refusal.outcome.code, Code::provider_rejected);
  EXPECT_EQ(refusal.outcome.error, "test:refuses: 422 no such customer");
  const auto failure = answers.of(deliver(message("failed")));
  EXPECT_EQ(failure.outcome.kind, Outcome::Kind::retry);
  EXPECT_TRUE(failure.outcome.spends_attempt);
  EXPECT_FALSE(failure.deferred);
  EXPECT_FALSE(failure.outcome.delay) << "the policy says when";
}

TEST_F(RouterTest, AnUnreachableDestinationClosesItsClassAndOpensWhenItIsTimeToProbe) {
  open({{.topic = "down", .to = {{"test:down"}}}, {.topic = "up", .to = {{"test:up"}}}});
  transport->always("down", Kind::unreachable, "connection refused");
  const auto result = answers.of(deliver(message("down")));
  EXPECT_TRUE(result.deferred);
  EXPECT_FALSE(result.outcome.spends_attempt);
  const auto state = router->destinations();
  ASSERT_EQ(state.size(), 2U);
  EXPECT_TRUE(state[0].down);
  EXPECT_EQ(state[0].last_error, "connection refused");
  EXPECT_EQ(answers.of(deliver(message("up"))).outcome.kind, Outcome::Kind::done);
  EXPECT_TRUE(answers.wait_opened(1)) << "a probe may go";
  transport->always("down", Kind::delivered);
  while (answers.of(deliver(message("down"))).deferred) {
  }
  EXPECT_FALSE(router->destinations()[0].down);
}

TEST_F(RouterTest, AMessageThatBringsItsDestinationDownAgainAndAgainIsToBlame) {
  open({{.topic = "**", .to = {{"test:a"}}}});
  const auto poison = message("poison");
  transport->script("a", [&](const spi::Parcel& parcel) {
    return parcel.message == poison ? spi::SendResult{Kind::unreachable, "502"} : spi::SendResult{};
  });
  EXPECT_FALSE(answers.of(deliver(poison)).outcome.spends_attempt);
  while (answers.of(deliver(message("fine"))).outcome.kind != Outcome::Kind::done) {
    std::this_thread::yield();
  }
  auto again = answers.of(deliver(poison));
  while (again.deferred) again = answers.of(deliver(poison));
  EXPECT_TRUE(again.outcome.spends_attempt);
}

TEST_F(RouterTest, AProbeThatFailsLetsAnotherGoNext) {
  open({{.topic = "**", .to = {{"test:a"}}}});
  transport->always("a", Kind::unreachable, "refused");
  EXPECT_TRUE(answers.of(deliver(message("t"))).deferred);
  auto probe = answers.of(deliver(message("t")));
  while (probe.deferred) probe = answers.of(deliver(message("t")));
  EXPECT_EQ(probe.outcome.kind, Outcome::Kind::retry);
  EXPECT_FALSE(probe.outcome.spends_attempt);
  EXPECT_TRUE(probe.outcome.delay);
}

TEST_F(RouterTest, WhatIsPutOffByItselfAloneCostsNothingAndHoldsUpNobody) {
  open({{.topic = "**", .to = {{"test:a"}}}});
  transport->always("a", Kind::later, "its key is busy");
  const auto result = answers.of(deliver(message("t")));
  EXPECT_EQ(result.outcome.kind, Outcome::Kind::retry);
  EXPECT_FALSE(result.outcome.spends_attempt);
  EXPECT_FALSE(router->destinations()[0].down);
}

TEST_F(RouterTest, SeveralTargetsOfWhichOneIsFullWaitUnwritten) {
  auto limited = options({{.topic = "**", .to = {{"test:a"}, {"other:b"}}}});
  limited.transport_limits["other"] = {.budget = Budget{1, std::chrono::hours(1)}};
  open(std::move(limited));
  EXPECT_EQ(answers.of(deliver(message("t"))).outcome.kind, Outcome::Kind::done);
  const auto what = message("t");
  const auto second = answers.of(deliver(what));
  EXPECT_EQ(second.outcome.kind, Outcome::Kind::retry) << "one has it: that is written";
  EXPECT_TRUE(router->closed(*router->class_of(*what)));
  EXPECT_TRUE(answers.of(deliver(what, second.done)).deferred) << "nothing new: not written";
  EXPECT_EQ(transport->sent("a").size(), 2U);
}

TEST_F(RouterTest, BusyWaitsAsLongAsTheDestinationAsksFor) {
  open({{.topic = "**", .to = {{"test:a"}}}});
  transport->script("a", [](const spi::Parcel&) {
    return spi::SendResult{
        .kind = Kind::busy, .error = "429", .retry_after = std::chrono::hours(1)};
  });
  const auto first = message("t");
  EXPECT_TRUE(answers.of(deliver(first)).deferred);
  EXPECT_TRUE(router->closed(*router->class_of(*first)));
  // Others are asked whether it means them too.
  while (router->destinations()[0].next_probe < seconds(200)) {
    const auto next = answers.of(deliver(message("t")));
    EXPECT_FALSE(next.outcome.spends_attempt);
    if (next.deferred) continue;
    EXPECT_EQ(next.outcome.delay, std::chrono::minutes(5));
  }
  const auto asked = transport->sent("a").size();
  EXPECT_LE(asked, 32U);
  EXPECT_TRUE(answers.of(deliver(message("t"))).deferred);
  EXPECT_EQ(transport->sent("a").size(), asked);
}

TEST_F(RouterTest, ABusyProbeLetsAnotherGoNext) {
  open({{.topic = "**", .to = {{"test:a"}}}});
  const auto poison = message("poison");
  transport->script("a", [&](const spi::Parcel& parcel) {
    return parcel.message == poison ? spi::SendResult{Kind::busy, "503"} : spi::SendResult{};
  });
  EXPECT_TRUE(answers.of(deliver(poison)).deferred);
  auto probe = answers.of(deliver(poison));
  while (probe.deferred) probe = answers.of(deliver(poison));
  EXPECT_FALSE(probe.outcome.spends_attempt);
  EXPECT_TRUE(probe.outcome.delay);
  while (answers.of(deliver(message("fine"))).deferred) std::this_thread::yield();
  const auto again = answers.of(deliver(poison));
  EXPECT_TRUE(again.outcome.spends_attempt);
  EXPECT_FALSE(again.outcome.delay) << "the policy's";
  EXPECT_FALSE(router->destinations()[0].down) << "it is not the destination's fault";
  EXPECT_EQ(answers.of(deliver(message("fine"))).outcome.kind, Outcome::Kind::done);
}

TEST_F(RouterTest, ATimeoutCostsAnAttemptOnlyWhereOthersArriveMeanwhile) {
  open({{.topic = "**", .to = {{"test:a"}}}});
  transport->hold("a");
  const auto alone = deliver(message("t"));
  while (transport->held() < 1) std::this_thread::yield();
  transport->answer({Kind::timed_out, "no answer"});
  EXPECT_FALSE(answers.of(alone).outcome.spends_attempt);

  const auto slow = deliver(message("t"));
  while (transport->held() < 1) std::this_thread::yield();
  transport->always("a", Kind::delivered);
  EXPECT_EQ(answers.of(deliver(message("t"))).outcome.kind, Outcome::Kind::done);
  transport->answer({Kind::timed_out, "no answer"});
  const auto blamed = answers.of(slow);
  EXPECT_TRUE(blamed.outcome.spends_attempt);
  EXPECT_EQ(blamed.outcome.code, Code::tx_timeout);
}

TEST_F(RouterTest, SeveralTargetsAreSentToOnceEachHoweverOftenItIsTried) {
  open({{.topic = "**", .to = {{"test:a"}, {"other:b"}, {"test:c"}}}});
  other->always("b", Kind::unreachable, "refused");
  const auto first = answers.of(deliver(message("t")));
  EXPECT_EQ(first.outcome.kind, Outcome::Kind::retry);
  EXPECT_FALSE(first.outcome.spends_attempt);
  EXPECT_FALSE(first.deferred) << "what has arrived must be written down";
  EXPECT_NE(first.done, TargetsDone{});
  ASSERT_TRUE(answers.wait_opened(1));
  other->always("b", Kind::delivered);
  auto second = answers.of(deliver(message("t"), first.done));
  EXPECT_EQ(second.outcome.kind, Outcome::Kind::done);
  EXPECT_EQ(transport->sent("a").size(), 1U);
  EXPECT_EQ(transport->sent("c").size(), 1U);
  EXPECT_EQ(other->sent("b").size(), 2U);
}

TEST_F(RouterTest, WhatWasDoneForOtherTargetsDoesNotCount) {
  open({{.topic = "**", .to = {{"test:a"}, {"other:b"}}}});
  other->always("b", Kind::failed, "500");
  const auto before = answers.of(deliver(message("t"))).done;
  router->leave(answers);
  open({{.topic = "**", .to = {{"other:b2"}, {"test:a"}}}});
  EXPECT_EQ(answers.of(deliver(message("t"), before)).outcome.kind, Outcome::Kind::done);
  EXPECT_EQ(other->sent("b2").size(), 1U) << "its bit was another target's";
}

TEST_F(RouterTest, ARefusalIsFinalOnlyWhenAllOthersHaveIt) {
  open({{.topic = "**", .to = {{"test:a"}, {"other:b"}}}});
  transport->always("a", Kind::rejected, "400");
  other->always("b", Kind::failed, "500");
  const auto first = answers.of(deliver(message("t")));
  EXPECT_EQ(first.outcome.kind, Outcome::Kind::retry);
  other->always("b", Kind::delivered);
  EXPECT_EQ(answers.of(deliver(message("t"), first.done)).outcome.kind, Outcome::Kind::reject);
  EXPECT_EQ(transport->sent("a").size(), 1U) << "it is not asked again";
}

TEST_F(RouterTest, TenantsTakeTurnsWhenFair) {
  auto fair = options({{.topic = "**", .to = {{"test:a"}}}});
  fair.fair_tenants = true;
  transport->in_flight_max = 2;
  open(std::move(fair));
  transport->hold("a");
  for (int count = 0; count < 100; ++count) deliver(message("t", "large"));
  const auto small = deliver(message("t", "small"));
  for (int answered = 0; answered < 4; ++answered) {
    while (!transport->answer()) std::this_thread::yield();
  }
  EXPECT_EQ(answers.of(small).outcome.kind, Outcome::Kind::done) << "not the hundred-and-first";
}

TEST_F(RouterTest, TenantsOverTheirRateDoNotHoldUpOthers) {
  auto limited = options({{.topic = "**", .to = {{"test:a"}}}});
  limited.limits_of_tenant["large"] = {.rate = 1, .burst = 1};
  open(std::move(limited));
  int deferred = 0;
  for (int count = 0; count < 20; ++count) {
    const auto ticket = deliver(message("t", "large"));
    if (count > 2 && answers.of(ticket).deferred) ++deferred;
  }
  EXPECT_GE(deferred, 15);
  EXPECT_TRUE(router->closed(*router->class_of(*message("t", "large"))));
  EXPECT_EQ(answers.of(deliver(message("t", "small"))).outcome.kind, Outcome::Kind::done);
}

TEST_F(RouterTest, WhatWaitsComesBackWhenRecalled) {
  transport->in_flight_max = 1;
  open({{.topic = "**", .to = {{"test:a"}}}});
  transport->hold("a");
  const auto under_way = deliver(message("t"));
  while (transport->held() < 1) std::this_thread::yield();
  const auto waiting = deliver(message("t"));
  router->recall(answers, Shard{});
  EXPECT_TRUE(answers.of(waiting).deferred);
  transport->answer();
  EXPECT_EQ(answers.of(under_way).outcome.kind, Outcome::Kind::done);
  EXPECT_EQ(transport->sent("a").size(), 1U);
}

TEST_F(RouterTest, ASecondResultOfAParcelIsNotTold) {
  open({{.topic = "**", .to = {{"test:a"}}}});
  transport->twice = true;
  transport->always("a", Kind::failed, "500");
  for (int count = 0; count < 100; ++count) {
    EXPECT_EQ(answers.of(deliver(message("t"))).outcome.kind, Outcome::Kind::retry);
  }
}

TEST_F(RouterTest, WrongRoutesAreRefusedAtTheStartByName) {
  EXPECT_NE(refused(options({{.topic = "a.**.b", .to = {{"test:a"}}}})).find("routes[0] (a.**.b)"),
            std::string::npos);
  EXPECT_NE(refused(options({{.topic = "a", .to = {}}})).find("no target"), std::string::npos);
  EXPECT_NE(
      refused(options({{.topic = "a", .to = {{"kafka:x"}}}})).find("there are: other:, test:"),
      std::string::npos);
  EXPECT_NE(refused(options({{.topic = "a", .to = {{"nothing"}}}})).find("transport:address"),
            std::string::npos);
  EXPECT_NE(refused(options({{.topic = "a", .to = {{"test:"}}}})).find("address is empty"),
            std::string::npos);
  EXPECT_NE(refused(options({{.topic = "a", .to = {{"test:x", {{"max", "1"}}}}}})).find("\"max\""),
            std::string::npos);
  EXPECT_NE(refused(options({{.topic = "a", .to = {{"test:x"}, {"test:x"}}}})).find("twice"),
            std::string::npos);
  EXPECT_NE(
      refused(options({{.topic = "a.*", .to = {{"test:x"}}}, {.topic = "a.b", .to = {{"test:y"}}}}))
          .find("never used"),
      std::string::npos);
  EXPECT_NE(
      refused(options({{.topic = "a", .to = {{"test:x"}}, .limits = {.rate = 0}}})).find("rate"),
      std::string::npos);
}

TEST_F(RouterTest, SecretsOfAnAddressAreNotShown) {
  auto with = options({{.topic = "**", .to = {{"https://user:pw@host/path?token=abc"}}}});
  with.transports["http"] = transport;
  open(std::move(with));
  transport->always("https://user:pw@host/path?token=abc", Kind::rejected, "400");
  const auto error = answers.of(deliver(message("t"))).outcome.error;
  EXPECT_EQ(error, "https://host/path: 400");
  EXPECT_EQ(router->destinations()[0].target, "https://host/path");
}

TEST_F(RouterTest, TellsWhatHoldsUpATopic) {
  open({{.topic = "down", .to = {{"test:down"}, {"other:up"}}},
        {.topic = "limited",
         .to = {{"test:limited"}},
         .limits = {.budget = Budget{1, std::chrono::hours(1)}}}});
  EXPECT_TRUE(router->held_up("down", "default").empty()) << "nobody has tried it yet";
  EXPECT_TRUE(router->held_up("limited", "default").empty());
  const auto nowhere = router->held_up("nowhere", "default");
  ASSERT_EQ(nowhere.size(), 1U);
  EXPECT_EQ(nowhere[0].by, HeldUp::By::no_route);

  transport->script("down", [](const spi::Parcel&) {
    return spi::SendResult{
        .kind = Kind::busy, .error = "429", .retry_after = std::chrono::minutes(4)};
  });
  while (router->destinations()[0].next_probe < seconds(200)) {
    (void)answers.of(deliver(message("down")));
  }
  const auto down = router->held_up("down", "default");
  ASSERT_EQ(down.size(), 1U) << "the other one is up";
  EXPECT_EQ(down[0].by, HeldUp::By::down);
  EXPECT_EQ(down[0].target, "test:down");
  EXPECT_EQ(down[0].what, "429");
  EXPECT_GT(down[0].next.value(), seconds(200));

  EXPECT_EQ(answers.of(deliver(message("limited"))).outcome.kind, Outcome::Kind::done);
  const auto limited = router->held_up("limited", "default");
  ASSERT_EQ(limited.size(), 1U);
  EXPECT_EQ(limited[0].by, HeldUp::By::limit);
  EXPECT_EQ(limited[0].what, "budget of its route");
  EXPECT_GT(limited[0].next.value(), std::chrono::minutes(50));
}

TEST_F(RouterTest, TellsOfTheLimitsOfATenantAndOfATransport) {
  auto with = options({{.topic = "a", .to = {{"test:a"}}}, {.topic = "b", .to = {{"other:b"}}}});
  with.tenant_limits = {.concurrency = 1};
  with.transport_limits["other"] = {.budget = Budget{1, std::chrono::hours(1)}};
  open(std::move(with));
  transport->hold("a");
  (void)deliver(message("a", "acme"));
  const auto acme = router->held_up("a", "acme");
  ASSERT_EQ(acme.size(), 1U);
  EXPECT_EQ(acme[0].what, "concurrency of its tenant");
  EXPECT_FALSE(acme[0].next) << "until one of those under way ends";
  EXPECT_TRUE(router->held_up("a", "other").empty());
  (void)answers.of(deliver(message("b", "other")));
  EXPECT_EQ(router->held_up("b", "other").at(0).what, "budget of its transport");
}

}  // namespace
}  // namespace sagabox
