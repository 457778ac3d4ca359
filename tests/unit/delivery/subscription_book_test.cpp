#include "delivery/subscription_book.hpp"

#include "spi/hub_rules.hpp"

#include <sagabox/random.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sagabox::delivery {
namespace {

using namespace std::chrono_literals;
using Ids = std::vector<std::string>;
using State = SubscriptionState;

class SubscriptionBookTest : public ::testing::Test {
 protected:
  SubscriptionRecord record(std::string_view id, std::vector<std::string> types,
                            State state = State::active) {
    return {.id = SubscriptionId::parse(id).value(),
            .tenant = "acme",
            .state = state,
            .types = std::move(types),
            .active_since = clock.wall_now(),
            .version = 1,
            .change = ++change};
  }
  HubEvent event(const std::string& type, std::string payload = "{}", std::string tenant = "acme") {
    TraceContext trace;
    trace.correlation_id = "c-1";
    auto message = Message::build_shared({.topic = type,
                                          .key = "k",
                                          .payload = json(std::move(payload)),
                                          .tenant = std::move(tenant),
                                          .trace = trace},
                                         {}, ids, clock);
    return {.id = ids.next<EventId>(),
            .message = std::move(message).value(),
            .published_at = clock.wall_now()};
  }
  void apply(const SubscriptionRecord& record) { book.apply(std::span(&record, 1)); }
  Ids matching(const HubEvent& event) {
    Ids found;
    for (const auto& one : book.matching(event)) found.push_back(one->record.id.str());
    return found;
  }

  testing::FakeClock clock;
  std::unique_ptr<Random> random = seeded_random(1);
  UlidSource ids{clock, *random};
  std::uint64_t change = 0;
  SubscriptionBook book;
};

TEST_F(SubscriptionBookTest, MatchesTypesAndWildcardsById) {
  apply(record("c", {"shop.order.placed.v1", "shop.**"}));
  apply(record("a", {"shop.*.placed.v1"}));
  apply(record("b", {"shop.order.placed.v1"}));
  apply(record("d", {"shop.order.paid.v1"}));
  EXPECT_EQ(matching(event("shop.order.placed.v1")), (Ids{"a", "b", "c"}));
  EXPECT_EQ(matching(event("shop.order.paid.v1")), (Ids{"c", "d"}));
  EXPECT_EQ(matching(event("other.order.paid.v1")), Ids{});
}

TEST_F(SubscriptionBookTest, TenantsDoNotMeet) {
  apply(record("a", {"**"}));
  EXPECT_EQ(matching(event("t", "{}", "umbrella")), Ids{});
  EXPECT_EQ(matching(event("t")), Ids{"a"});
}

TEST_F(SubscriptionBookTest, OnlyActiveAndPausedMatch) {
  for (const auto state : {State::unverified, State::active, State::paused, State::disabled}) {
    apply(record(subscription_state_name(state), {"**"}, state));
  }
  EXPECT_EQ(matching(event("t")), (Ids{"active", "paused"}));
}

TEST_F(SubscriptionBookTest, EventsBeforeTheActivationDoNotMatch) {
  const auto before = event("t");
  clock.advance(1us);
  auto subscription = record("a", {"t"});
  apply(subscription);
  EXPECT_EQ(matching(before), Ids{});
  EXPECT_EQ(matching(event("t")), Ids{"a"});
  subscription.active_since.reset();
  subscription.state = State::paused;
  subscription.change = ++change;
  apply(subscription);
  EXPECT_EQ(matching(event("t")), Ids{});
}

TEST_F(SubscriptionBookTest, FiltersDecide) {
  auto subscription = record("a", {"t"});
  subscription.settings = R"({"filter": {"total": {"gte": 10}}})";
  apply(subscription);
  EXPECT_EQ(matching(event("t", R"({"total": 10})")), Ids{"a"});
  EXPECT_EQ(matching(event("t", R"({"total": 9})")), Ids{});
}

TEST_F(SubscriptionBookTest, ChangesReplaceWhatWasKnown) {
  const auto first = record("a", {"t", "u"});
  apply(first);
  auto changed = first;
  changed.types = {"u", "v.*"};
  changed.change = 7;
  apply(changed);
  EXPECT_EQ(matching(event("t")), Ids{});
  EXPECT_EQ(matching(event("u")), Ids{"a"});
  EXPECT_EQ(matching(event("v.x")), Ids{"a"});
  EXPECT_EQ(book.change(), 7U);
  apply(first);  // late
  EXPECT_EQ(matching(event("t")), Ids{});
  EXPECT_EQ(book.change(), 7U);
  changed.state = State::disabled;
  changed.change = 8;
  apply(changed);
  EXPECT_EQ(matching(event("u")), Ids{});
  ASSERT_NE(book.find(first.id), nullptr);
  EXPECT_EQ(book.find(first.id)->record.state, State::disabled);
  EXPECT_EQ(book.find(SubscriptionId::parse("x").value()), nullptr);
}

TEST_F(SubscriptionBookTest, AllThatThereIsReplacesWhatWasKnown) {
  const auto kept = record("kept", {"t"});
  auto other = record("other", {"t"});
  apply(kept);
  apply(other);
  apply(record("lost", {"t"}));
  const auto known = book.find(kept.id);
  // Another history: counted anew, and some of it never happened.
  other.types = {"u"};
  other.change = 1;
  book.replace(std::vector{kept, other});
  EXPECT_EQ(matching(event("t")), Ids{"kept"});
  EXPECT_EQ(matching(event("u")), Ids{"other"});
  EXPECT_EQ(book.find(SubscriptionId::parse("lost").value()), nullptr);
  EXPECT_EQ(book.find(kept.id), known) << "read again though nothing has changed";
  EXPECT_EQ(book.change(), 1U);
}

TEST_F(SubscriptionBookTest, DeliveryHasTheKeyOnlyWhereItsOrderIsKept) {
  auto stored = record("a", {"t"});
  const auto happened = event("t");
  const auto any = delivery_of(happened, Subscription(stored), 16);
  EXPECT_EQ(any.key, "");
  EXPECT_EQ(any.id, delivery_id_of(happened.id, stored.id, 0));
  EXPECT_EQ(any.generation, 0U);
  EXPECT_EQ(any.tenant, "acme");
  EXPECT_EQ(any.type, "t");
  EXPECT_EQ(any.correlation_id, "c-1");
  EXPECT_EQ(any.shard, spi::delivery_shard(stored.id, 16));
  stored.settings = R"({"order": "key"})";
  EXPECT_EQ(delivery_of(happened, Subscription(stored), 16).key, "k");
}

}  // namespace
}  // namespace sagabox::delivery
