#include "conformance/hub/hub_conformance.hpp"
#include "spi/hub_rules.hpp"

#include <algorithm>
#include <array>

namespace sagabox::conformance {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using Subscribed = SubscriptionState;
using Ids = std::vector<std::string>;

TEST_P(HubConformance, SubscriptionComesBackAsItWasWritten) {
  const auto before = now();
  const auto sent = subscription("s1", Subscribed::unverified);
  const auto got = put(sent);
  EXPECT_EQ(got.id, sent.id);
  EXPECT_EQ(got.tenant, sent.tenant);
  EXPECT_EQ(got.name, sent.name);
  EXPECT_EQ(got.state, Subscribed::unverified);
  EXPECT_EQ(got.types, sent.types);
  EXPECT_EQ(got.target, sent.target);
  EXPECT_EQ(got.settings, sent.settings);
  EXPECT_EQ(got.reason, "");
  EXPECT_EQ(got.active_since, std::nullopt);
  EXPECT_EQ(got.version, 1U);
  EXPECT_GT(got.change, 0U);
  EXPECT_GE(got.created_at, before);
  EXPECT_EQ(got.changed_at, got.created_at);
  EXPECT_EQ(subscriptions().get(subscription_id("other")).value(), std::nullopt);
}

TEST_P(HubConformance, SubscriptionIsWrittenOverTheVersionBeforeOnly) {
  const auto first = put(subscription("s1"));
  auto second = first;
  second.name = "another";
  second.reason = "by ann";
  const auto written = put(second);
  EXPECT_EQ(written.version, 2U);
  EXPECT_EQ(written.name, "another");
  EXPECT_EQ(written.reason, "by ann");
  EXPECT_EQ(written.created_at, first.created_at);
  EXPECT_GT(written.change, first.change);
  for (const std::uint64_t version : {1U, 2U, 4U}) {
    auto stale = first;
    stale.version = version;
    EXPECT_FALSE(subscriptions().write(stale, std::array{act("refused")}).value()) << version;
  }
  EXPECT_EQ(subscriptions().get(first.id).value()->name, "another");
  EXPECT_EQ(log_end(), 0U);
  auto never = subscription("s2");
  never.version = 2;
  EXPECT_FALSE(subscriptions().write(never, {}).value());
}

TEST_P(HubConformance, SubscriptionWriteCarriesItsAuditEvents) {
  auto record = subscription("s1");
  record.version = 1;
  EXPECT_TRUE(subscriptions().write(record, std::array{act("created")}).value());
  const auto entries = log();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].event.detail, "created");
  EXPECT_EQ(entries[0].event.actor, "ann");
}

TEST_P(HubConformance, SubscriptionsThatCannotBeStoredAreRefused) {
  const auto refused = [&](auto&& change) {
    auto wrong = subscription("s1");
    wrong.version = 1;
    change(wrong);
    return subscriptions().write(wrong, {}).error().code;
  };
  const auto invalid = Code::schema_validation_failed;
  EXPECT_EQ(refused([](SubscriptionRecord& r) { r.id = {}; }), invalid);
  EXPECT_EQ(refused([](SubscriptionRecord& r) { r.tenant = ""; }), invalid);
  EXPECT_EQ(refused([](SubscriptionRecord& r) { r.target = ""; }), invalid);
  EXPECT_EQ(refused([](SubscriptionRecord& r) { r.types.clear(); }), invalid);
  EXPECT_EQ(refused([](SubscriptionRecord& r) { r.types = {std::string("a\0", 2)}; }), invalid);
  EXPECT_EQ(refused([](SubscriptionRecord& r) { r.settings = "{"; }), invalid);
  EXPECT_EQ(refused([](SubscriptionRecord& r) { r.version = 0; }), Code::tx_invalid_state);
  EXPECT_EQ(subscriptions().get(subscription_id("s1")).value(), std::nullopt);
  put(subscription("s1"));
  EXPECT_EQ(refused([](SubscriptionRecord& r) {
              r.tenant = "umbrella";
              r.version = 2;
            }),
            Code::tx_invalid_state);
}

TEST_P(HubConformance, ActivationIsCountedFromWhenItBecameActive) {
  auto record = put(subscription("s1", Subscribed::unverified));
  EXPECT_EQ(record.active_since, std::nullopt);
  const auto step = [&](Subscribed state) {
    fixture_->advance_time(hours(1));
    record.state = state;
    record.active_since.reset();  // what the caller says does not matter
    record = put(record);
    return record.active_since;
  };
  const auto first = step(Subscribed::active);
  ASSERT_TRUE(first);
  EXPECT_EQ(*first, record.changed_at);
  EXPECT_EQ(step(Subscribed::active), first);
  EXPECT_EQ(step(Subscribed::paused), first);
  EXPECT_EQ(step(Subscribed::active), first);
  step(Subscribed::disabled);
  const auto second = step(Subscribed::active);
  ASSERT_TRUE(second);
  EXPECT_GE(*second - *first, hours(4));
  EXPECT_EQ(put(subscription("s2")).active_since.has_value(), true);
}

TEST_P(HubConformance, SubscriptionsAreListedByEveryFilterInPages) {
  auto b = subscription("b", Subscribed::paused);
  b.name = "mine";
  auto c = subscription("c");
  c.tenant = "umbrella";
  put(c);
  put(subscription("a"));
  put(b);
  const auto listed = [&](spi::SubscriptionFilter filter) {
    Ids ids;
    for (const auto& one : subscriptions().list({.filter = std::move(filter)}).value()) {
      ids.push_back(one.id.str());
    }
    return ids;
  };
  EXPECT_EQ(listed({}), (Ids{"a", "b", "c"}));
  EXPECT_EQ(listed({.tenant = "acme"}), (Ids{"a", "b"}));
  EXPECT_EQ(listed({.state = Subscribed::paused}), Ids{"b"});
  EXPECT_EQ(listed({.name = "mine"}), Ids{"b"});
  EXPECT_EQ(listed({.tenant = "umbrella", .state = Subscribed::active}), Ids{"c"});
  EXPECT_EQ(listed({.tenant = "umbrella", .name = "mine"}), Ids{});
  const auto page = subscriptions().list({.rows_max = 2}).value();
  ASSERT_EQ(page.size(), 2U);
  const auto rest = subscriptions().list({.after = page[1].id, .rows_max = 2}).value();
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].id.view(), "c");
}

TEST_P(HubConformance, OwnerDisablesASubscriptionOnce) {
  const auto before = put(subscription("s1"));
  fixture_->advance_time(seconds(1));
  // Decided by what it was once.
  const auto owner = own_deliveries();
  const auto disable = [&](const SubscriptionId& id, std::uint64_t change, const std::string& why) {
    const std::array audit{act(why)};
    return deliveries().disable(fencing(owner), id, change, why, audit).value().disabled;
  };
  EXPECT_FALSE(disable(before.id, before.change - 1, "gone"));
  EXPECT_EQ(subscriptions().get(before.id).value().value().state, Subscribed::active);
  EXPECT_TRUE(disable(before.id, before.change, "the endpoint answered 410 Gone"));
  EXPECT_FALSE(disable(before.id, before.change, "again"));
  EXPECT_FALSE(disable(subscription_id("other"), before.change, "x"));
  ASSERT_EQ(log().size(), 1U) << "what was done, and nothing else";
  EXPECT_EQ(log()[0].event.detail, "the endpoint answered 410 Gone");
  const auto after = subscriptions().get(before.id).value().value();
  EXPECT_EQ(after.state, Subscribed::disabled);
  EXPECT_EQ(after.reason, "the endpoint answered 410 Gone");
  EXPECT_EQ(after.version, 2U);
  EXPECT_GT(after.change, before.change);
  EXPECT_GT(after.changed_at, before.changed_at);
  EXPECT_EQ(after.settings, before.settings);
  auto stale = before;
  stale.version = 2;
  EXPECT_FALSE(subscriptions().write(stale, {}).value());
}

TEST_P(HubConformance, OnlyTheOwnerOfItsDeliveriesDisablesASubscription) {
  const auto record = put(subscription("s1"));
  const auto owner = own_deliveries();
  const auto disable = [&](const spi::Fencing& fences) {
    return deliveries().disable(fences, record.id, record.change, "gone", {}).value();
  };
  auto stale = owner;
  for (auto& fence : stale.fences) fence.epoch.value += 1;
  const auto refused = disable(fencing(stale));
  EXPECT_FALSE(refused.disabled);
  EXPECT_EQ(refused.held, std::vector<bool>(stale.fences.size(), false));
  // Its fences hold, but none is of the shard.
  auto elsewhere = owner;
  const auto shard = spi::delivery_shard(record.id, shards());
  std::erase_if(elsewhere.fences, [&](const spi::Fence& fence) { return fence.shard == shard; });
  EXPECT_FALSE(disable(fencing(elsewhere)).disabled);
  EXPECT_EQ(subscriptions().get(record.id).value().value().state, Subscribed::active);
  EXPECT_TRUE(disable(fencing(owner)).disabled);
}

TEST_P(HubConformance, OwnersSeeWhatChangedAboutSubscriptions) {
  const auto a = put(subscription("a"));
  const auto b = put(subscription("b"));
  const auto owner = own_deliveries();
  EXPECT_TRUE(deliveries().disable(fencing(owner), a.id, a.change, "gone", {}).value().disabled);
  const auto all = deliveries().subscriptions(0).value();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].id, b.id);
  EXPECT_EQ(all[1].id, a.id);
  EXPECT_EQ(all[1].state, Subscribed::disabled);
  EXPECT_EQ(deliveries().subscriptions(b.change).value().size(), 1U);
  EXPECT_TRUE(deliveries().subscriptions(all[1].change).value().empty());
}

TEST_P(HubConformance, SubscriptionsDisabledForDaysAreReadByNameOnly) {
  const auto a = put(subscription("a"));
  const auto b = put(subscription("b"));
  auto gone = a;
  gone.state = Subscribed::disabled;
  put(gone);
  const auto all = [&] { return deliveries().subscriptions(0).value(); };
  fixture_->advance_time(hours(24));
  EXPECT_EQ(all().size(), 2U) << "somebody is still to be told about it";
  fixture_->advance_time(hours(25));
  ASSERT_EQ(all().size(), 1U);
  EXPECT_EQ(all()[0].id, b.id);
  EXPECT_EQ(deliveries().subscriptions(b.change).value().size(), 1U) << "a change is a change";
  const std::array asked{a.id, subscription_id("none"), b.id};
  auto named = deliveries().named(asked).value();
  std::ranges::sort(named, {}, &SubscriptionRecord::id);
  ASSERT_EQ(named.size(), 2U);
  EXPECT_EQ(named[0].state, Subscribed::disabled);
  EXPECT_EQ(named[1].change, b.change);
}

TEST_P(HubConformance, SecretsAreSealedAgainUnlessTheyWereChanged) {
  put(subscription("s1"));
  const auto id = subscription_id("s1");
  ASSERT_TRUE(subscriptions().add_secret(id, "one", hours(24), {}).ok());
  ASSERT_TRUE(subscriptions().add_secret(id, "two", hours(24), {}).ok());
  const std::vector<spi::SubscriptionStore::ResealedSecret> wanted{
      {.subscription = id, .number = 1, .before = "one", .after = "ONE"},
      {.subscription = id, .number = 2, .before = "other", .after = "TWO"},
      {.subscription = subscription_id("none"), .number = 1, .before = "x", .after = "y"}};
  EXPECT_EQ(subscriptions().reseal(wanted).value(), 1U);
  EXPECT_EQ(subscriptions().reseal(wanted).value(), 0U);
  EXPECT_EQ(subscriptions().reseal({}).value(), 0U);
  const auto secrets = subscriptions().secrets(std::array{id}).value().at(0).secrets;
  ASSERT_EQ(secrets.size(), 2U);
  EXPECT_EQ(secrets[0].sealed, "two");
  EXPECT_EQ(secrets[1].sealed, "ONE");
  EXPECT_TRUE(secrets[1].expires_at) << "it expires when it did";
}

TEST_P(HubConformance, ExpiredSecretsAreRemovedAndTheirNumbersAreNotUsedAgain) {
  put(subscription("s1"));
  const auto id = subscription_id("s1");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(subscriptions().add_secret(id, "sealed", hours(1), {}).ok());
  }
  EXPECT_EQ(hub_admin().purge({.older_than = hours(24)}).value().secrets, 0U);
  fixture_->advance_time(hours(2));
  EXPECT_EQ(hub_admin().purge({.older_than = hours(24), .rows_max = 1}).value().secrets, 1U);
  EXPECT_EQ(hub_admin().purge({.older_than = hours(24)}).value().secrets, 1U);
  EXPECT_EQ(hub_admin().purge({.older_than = hours(24)}).value().secrets, 0U);
  EXPECT_EQ(subscriptions().add_secret(id, "sealed", hours(1), {}).value(), 4U);
}

TEST_P(HubConformance, SubscriptionsOfATenantAreCountedUnlessTheyAreDisabled) {
  const auto a = put(subscription("a"));
  auto other = subscription("b");
  other.state = Subscribed::paused;
  put(other);
  EXPECT_EQ(subscriptions().count("acme").value().enabled, 2U);
  EXPECT_EQ(subscriptions().count("umbrella").value().enabled, 0U);
  const auto owner = own_deliveries();
  EXPECT_TRUE(deliveries().disable(fencing(owner), a.id, a.change, "gone", {}).value().disabled);
  EXPECT_EQ(subscriptions().count("acme").value().enabled, 1U);
  EXPECT_EQ(subscriptions().count("acme").value().disabled, 1U);
}

TEST_P(HubConformance, AtMostFiveSecretsSignAtOnce) {
  put(subscription("s1"));
  const auto id = subscription_id("s1");
  const auto add = [&](Duration overlap) {
    return subscriptions().add_secret(id, "sealed", overlap, std::array{act("rotated")});
  };
  for (std::uint32_t number = 1; number <= spi::live_secrets_max; ++number) {
    EXPECT_EQ(add(hours(24)).value(), number);
  }
  const auto refused = add(hours(24)).error();
  EXPECT_EQ(refused.code, Code::tx_invalid_state);
  EXPECT_EQ(refused.message,
            "requests of subscription s1 are signed with 5 secrets already, and 5 is the most; "
            "wait until one expires, or give an overlap of 0, which ends them all");
  EXPECT_EQ(log().size(), 5U);
  EXPECT_EQ(add({}).value(), 6U);
  EXPECT_EQ(subscriptions().secrets(std::array{id}).value().at(0).secrets.size(), 1U);
  for (std::uint32_t number = 7; number <= 10; ++number) EXPECT_TRUE(add(hours(1)).ok());
  EXPECT_FALSE(add(hours(1)).ok());
  fixture_->advance_time(hours(2));
  EXPECT_EQ(add(hours(1)).value(), 11U);
}

TEST_P(HubConformance, NewSecretsOverlapWithTheOnesBefore) {
  put(subscription("s1"));
  put(subscription("s2"));
  const std::array asked{subscription_id("s2"), subscription_id("s1"), subscription_id("none")};
  const auto valid = [&](std::size_t at = 1) {
    const auto all = subscriptions().secrets(asked).value();
    Ids texts;
    for (const auto& one : all.at(at).secrets) texts.push_back(one.sealed);
    return texts;
  };
  EXPECT_EQ(valid(), Ids{});
  const auto id = subscription_id("s1");
  EXPECT_EQ(subscriptions().add_secret(id, "first", hours(24), {}).value(), 1U);
  EXPECT_EQ(valid(), Ids{"first"});
  EXPECT_EQ(subscriptions().add_secret(id, "second", hours(24), std::array{act("rotated")}).value(),
            2U);
  EXPECT_EQ(log().at(0).event.detail, "rotated");
  EXPECT_EQ(valid(), (Ids{"second", "first"}));
  const auto stored = subscriptions().secrets(asked).value();
  ASSERT_EQ(stored.size(), 3U);
  EXPECT_EQ(stored[0].subscription, asked[0]);
  EXPECT_EQ(stored[1].secrets.at(0).number, 2U);
  EXPECT_EQ(stored[1].secrets.at(0).expires_at, std::nullopt);
  EXPECT_EQ(stored[1].secrets.at(1).number, 1U);
  ASSERT_TRUE(stored[1].secrets.at(1).expires_at);
  EXPECT_GT(*stored[1].secrets.at(1).expires_at, now() + hours(23));
  EXPECT_EQ(valid(0), Ids{});
  // A shorter overlap ends the one before the last, too; a longer one does not keep it.
  fixture_->advance_time(hours(1));
  EXPECT_EQ(subscriptions().add_secret(id, "third", hours(100), {}).value(), 3U);
  EXPECT_EQ(valid(), (Ids{"third", "second", "first"}));
  fixture_->advance_time(hours(24));
  EXPECT_EQ(valid(), (Ids{"third", "second"}));
  EXPECT_EQ(subscriptions().add_secret(id, "fourth", {}, {}).value(), 4U);
  EXPECT_EQ(valid(), Ids{"fourth"});
  const auto unknown = subscriptions().add_secret(subscription_id("none"), "x", {}, {});
  EXPECT_EQ(unknown.error().code, Code::request_not_found);
}

}  // namespace
}  // namespace sagabox::conformance
