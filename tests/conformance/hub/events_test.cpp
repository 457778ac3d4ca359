#include "conformance/hub/hub_conformance.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <thread>

namespace sagabox::conformance {
namespace {

using std::chrono::seconds;

TEST_P(HubConformance, EventComesBackAsItWasPublished) {
  const auto before = now();
  auto sent = event();
  sent.source = "/shop/süd";
  sent.external_id = "order-17";
  sent.message = build({.topic = "shop.order.placed.v1",
                        .key = "customer-7",
                        .payload = json(R"({"name": "Zoë",  "n": 1.50})"),
                        .tenant = "umbrella",
                        .headers = {{"x-region", "eu"}},
                        .trace = {.traceparent = "00-0af7651916cd43dd8448eb211c80319c-"
                                                 "b7ad6b7169203331-01",
                                  .tracestate = "a=1",
                                  .request_id = "r-1",
                                  .correlation_id = "c-2"}});
  const auto answer = publish(sent);
  EXPECT_EQ(answer.id, sent.id);
  EXPECT_FALSE(answer.duplicate);
  const auto stored = read_events();
  ASSERT_EQ(stored.size(), 1U);
  const auto& got = stored[0];
  EXPECT_EQ(got.id, sent.id);
  EXPECT_EQ(got.source, sent.source);
  EXPECT_EQ(got.external_id, sent.external_id);
  EXPECT_GT(got.sequence, Sequence{});
  EXPECT_LT(got.shard.value, shards());
  EXPECT_GE(got.published_at, before);
  ASSERT_NE(got.message, nullptr);
  EXPECT_EQ(got.message->id().view(), sent.id.view());
  EXPECT_EQ(got.message->topic(), sent.message->topic());
  EXPECT_EQ(got.message->key(), sent.message->key());
  EXPECT_EQ(got.message->tenant(), sent.message->tenant());
  EXPECT_EQ(got.message->payload().view(), sent.message->payload().view());
  EXPECT_EQ(got.message->payload().form(), PayloadForm::json);
  EXPECT_EQ(got.message->digest(), sent.message->digest());
  EXPECT_EQ(got.message->content_type(), sent.message->content_type());
  EXPECT_EQ(got.message->headers(), sent.message->headers());
  EXPECT_EQ(got.message->trace(), sent.message->trace());
  EXPECT_EQ(got.message->occurred_at(), sent.message->occurred_at());
}

TEST_P(HubConformance, EventOfBytesComesBackByteForByte) {
  auto sent = event();
  sent.message = build({.topic = order_placed, .payload = bytes(std::string("\0\xff ab", 5))});
  publish(sent);
  const auto stored = read_events();
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(stored[0].message->payload().form(), PayloadForm::bytes);
  EXPECT_EQ(stored[0].message->payload().view(), sent.message->payload().view());
}

TEST_P(HubConformance, RepeatedExternalIdIsTheSameEvent) {
  auto first = event();
  first.source = "shop";
  first.external_id = "order-17";
  auto again = event();
  again.source = "shop";
  again.external_id = "order-17";
  EXPECT_FALSE(publish(first).duplicate);
  const auto answer = publish(again);
  EXPECT_TRUE(answer.duplicate);
  EXPECT_EQ(answer.id, first.id);
  EXPECT_EQ(read_events().size(), 1U);
}

TEST_P(HubConformance, ExternalIdsBelongToTheirSourceAndTenant) {
  std::vector<HubEvent> sent;
  for (const auto& [source, tenant] : std::vector<std::pair<std::string, std::string>>{
           {"shop", "acme"}, {"till", "acme"}, {"shop", "umbrella"}, {"", "acme"}}) {
    auto& one = sent.emplace_back(event({}, "1", tenant));
    one.source = source;
    one.external_id = "17";
  }
  for (const auto& answer : publish(sent)) EXPECT_FALSE(answer.duplicate);
  EXPECT_EQ(read_events().size(), 4U);
  // The same where each is committed before the next comes.
  for (auto& one : sent) {
    one.id = ids_.next<EventId>();
    one.external_id = "18";
    EXPECT_FALSE(publish(one).duplicate);
  }
  for (const auto& one : sent) EXPECT_TRUE(publish(one).duplicate);
  EXPECT_EQ(read_events().size(), 8U);
}

TEST_P(HubConformance, RepeatedIdWithoutAnExternalOneIsTheSameEvent) {
  const auto sent = event();
  EXPECT_FALSE(publish(sent).duplicate);
  const auto answer = publish(sent);
  EXPECT_TRUE(answer.duplicate);
  EXPECT_EQ(answer.id, sent.id);
  EXPECT_EQ(read_events().size(), 1U);
}

TEST_P(HubConformance, SameEventTwiceInOneCallIsStoredOnce) {
  auto first = event();
  first.external_id = "17";
  auto again = event();
  again.external_id = "17";
  const auto answers = publish({first, again, event()});
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_FALSE(answers[0].duplicate);
  EXPECT_TRUE(answers[1].duplicate);
  EXPECT_EQ(answers[1].id, first.id);
  EXPECT_FALSE(answers[2].duplicate);
  EXPECT_EQ(read_events().size(), 2U);
}

TEST_P(HubConformance, KnownExternalIdWithOtherContentIsRefusedAndNothingIsWritten) {
  auto first = event({}, "1");
  first.external_id = "17";
  publish(first);
  const auto mismatch = [&](const HubEvent& wrong) {
    const auto tx = store().begin().value();
    const auto refused = tx->events().publish(std::array{event(), wrong});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::tx_idempotent_mismatch);
    EXPECT_NE(refused.error().message.find("17"), std::string::npos);
    // The transaction goes on.
    tx->events().publish(std::array{event()}).value();
    tx->commit().value();
  };
  auto payload = event({}, "2");
  payload.external_id = "17";
  mismatch(payload);
  auto type = event({}, "1");
  type.message = build({.topic = "shop.order.paid.v1", .payload = json("1"), .tenant = "acme"});
  type.external_id = "17";
  mismatch(type);
  EXPECT_EQ(read_events().size(), 3U);
}

TEST_P(HubConformance, EventsThatCannotBeStoredAreRefused) {
  const auto tx = store().begin().value();
  const auto refused = [&](auto&& change) {
    auto wrong = event();
    change(wrong);
    EXPECT_EQ(tx->events().publish(std::array{event(), wrong}).error().code,
              Code::schema_validation_failed);
  };
  refused([](HubEvent& e) { e.id = {}; });
  refused([](HubEvent& e) { e.message = nullptr; });
  refused([](HubEvent& e) { e.external_id = std::string("a\0b", 3); });
  refused([](HubEvent& e) { e.source = std::string(256, 's'); });
  // Those of the hub itself have such a source and such a type.
  refused([](HubEvent& e) { e.source = "hub"; });
  tx->events().publish(std::array{event()}).value();
  tx->commit().value();
  EXPECT_EQ(read_events().size(), 1U);
}

TEST_P(HubConformance, NoEventsIsNoWork) {
  const auto tx = store().begin().value();
  EXPECT_TRUE(tx->events().publish({}).value().empty());
  tx->commit().value();
}

TEST_P(HubConformance, RolledBackEventIsNotThereAndMayBePublishedAgain) {
  auto sent = event();
  sent.external_id = "17";
  {
    const auto tx = store().begin().value();
    tx->events().publish(std::array{sent}).value();
    EXPECT_TRUE(read_events().empty());
    tx->rollback().value();
    EXPECT_EQ(tx->events().publish(std::array{sent}).error().code, Code::tx_no_transaction);
  }
  EXPECT_TRUE(read_events().empty());
  EXPECT_FALSE(publish(sent).duplicate);
}

TEST_P(HubConformance, CallersOwnTransactionCarriesEvents) {
  const auto connection = fixture_->connect();
  connection->begin().value();
  {
    const auto tx = connection->enlist().value();
    tx->events().publish(std::array{event()}).value();
  }
  connection->rollback().value();
  EXPECT_TRUE(read_events().empty());
  connection->begin().value();
  const auto sent = event();
  {
    const auto tx = connection->enlist().value();
    tx->events().publish(std::array{sent}).value();
    EXPECT_EQ(tx->outbox().insert(table_, messages(1)).value().size(), 1U);
    EXPECT_TRUE(read_events().empty());
    connection->commit().value();
    tx->committed();
    EXPECT_EQ(tx->events().publish(std::array{sent}).error().code, Code::tx_no_transaction);
  }
  EXPECT_EQ(ids_of(read_events()), ids_of(std::vector{sent}));
  EXPECT_EQ(stats().pending, 1U);
}

TEST_P(HubConformance, EventsOfOneKeyAreInOneShardInTheirOrder) {
  std::vector<HubEvent> sent;
  for (int i = 0; i < 20; ++i) sent.push_back(event("key-" + std::to_string(i % 4)));
  publish(sent);
  const auto rows = read_events();
  EXPECT_EQ(ids_of(rows), ids_of(sent));
  std::map<std::string, Shard> places;
  for (const auto& row : rows) {
    EXPECT_EQ(places.emplace(row.message->key(), row.shard).first->second, row.shard);
  }
}

TEST_P(HubConformance, EventsAreReadInPagesByShard) {
  std::vector<HubEvent> sent;
  for (int i = 0; i < 7; ++i) sent.push_back(event("k"));
  publish(sent);
  const auto shard = read_events().front().shard;
  std::vector<HubEvent> read;
  Sequence after{};
  for (const std::uint32_t expected : {3U, 3U, 1U}) {
    const auto reply = read_events_of({shard, after, 3}).events;
    ASSERT_EQ(reply.parts.size(), 1U);
    EXPECT_EQ(reply.parts[0].rows, expected);
    EXPECT_EQ(reply.parts[0].exhausted, expected < 3);
    ASSERT_EQ(reply.rows.size(), expected);
    std::ranges::copy(reply.rows, std::back_inserter(read));
    after = read.back().sequence;
  }
  EXPECT_EQ(ids_of(read), ids_of(sent));
  const auto exactly = read_events_of({shard, {}, 7}).events;
  EXPECT_EQ(exactly.parts[0].rows, 7U);
  EXPECT_TRUE(exactly.parts[0].exhausted);
}

TEST_P(HubConformance, EventReadIsBoundedInBytesButReturnsOne) {
  const std::string large = '"' + std::string(4096, 'x') + '"';
  publish({event("k", large), event("k", large), event("k", large)});
  const auto shard = read_events().front().shard;
  const auto one = read_events_of({shard, {}, 10}, 1).events;
  ASSERT_EQ(one.rows.size(), 1U);
  EXPECT_FALSE(one.parts.at(0).exhausted);
  const auto two = read_events_of({shard, {}, 10}, 12'000).events;
  EXPECT_EQ(two.rows.size(), 2U);
  EXPECT_FALSE(two.parts.at(0).exhausted);
}

TEST_P(HubConformance, EventsAnswerInTheOrderOfTheirRanges) {
  std::vector<HubEvent> sent;
  for (int i = 0; i < 40; ++i) sent.push_back(event("key-" + std::to_string(i)));
  publish(sent);
  std::vector<spi::FeedRange> ranges;
  for (int s = shards(); s > 0; --s) {
    ranges.push_back({Shard{static_cast<std::uint16_t>(s - 1)}, {}, 100});
  }
  const auto reply = events().read(ranges, bytes_unbounded, 0).value().events;
  ASSERT_EQ(reply.parts.size(), ranges.size());
  std::size_t at = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_TRUE(reply.parts[i].exhausted);
    for (std::uint32_t row = 0; row < reply.parts[i].rows; ++row) {
      EXPECT_EQ(reply.rows.at(at++).shard, ranges[i].shard);
    }
  }
  EXPECT_EQ(at, sent.size());
}

TEST_P(HubConformance, LateEventWithALowerSequenceIsFoundByTheHorizon) {
  if (events().capabilities().late_commits != spi::LateCommits::visible) {
    GTEST_SKIP() << "transactions in progress are not visible in this store";
  }
  const auto late = store().begin().value();
  const auto first = event("k");
  late->events().publish(std::array{first}).value();
  const auto second = event("k");
  publish(second);
  const auto shard = read_events().front().shard;
  const auto reply = read_events_of({shard, {}, 10}).events;
  EXPECT_EQ(ids_of(reply.rows), ids_of(std::vector{second}));
  ASSERT_TRUE(reply.horizon);
  EXPECT_FALSE(reply.horizon->in_progress.empty());
  if (const auto id = fixture_->id_of(*late)) {
    EXPECT_TRUE(std::ranges::binary_search(reply.horizon->in_progress, *id));
  }
  late->commit().value();
  EXPECT_EQ(ids_of(read_events()), (ids_of(std::vector{first, second})));
}

TEST_P(HubConformance, PositionsMoveForwardUnderAFence) {
  const auto owner = own_routing();
  const auto position = [&] {
    return events().positions(std::array{Shard{0}}).value().at(0).position.value;
  };
  const auto move = [&](const Owner& by, std::uint64_t to) {
    const spi::RoutingPosition position_then{Shard{0}, Sequence{to}};
    return events().move(fencing(by), std::span(&position_then, 1)).value();
  };
  EXPECT_EQ(position(), 0U);
  const std::vector<bool> all(shards(), true);
  EXPECT_EQ(move(owner, 7), all);
  EXPECT_EQ(position(), 7U);
  EXPECT_EQ(move(owner, 5), all);
  EXPECT_EQ(position(), 7U);
  EXPECT_EQ(move(owner, 7), all);
  auto stale = owner;
  ++stale.fences[0].epoch.value;
  auto held = all;
  held[0] = false;
  EXPECT_EQ(move(stale, 20), held);
  EXPECT_EQ(position(), 7U);
  // Whoever owns the deliveries does not own the routing.
  auto other = own_deliveries();
  other.scope = owner.scope;
  EXPECT_EQ(move(other, 20), std::vector<bool>(shards(), false));
  EXPECT_EQ(position(), 7U);
}

TEST_P(HubConformance, PositionsOfShardsMoveTogetherOrNotAtAll) {
  if (shards() < 4) GTEST_SKIP() << "this store has " << shards() << " shard";
  const auto owner = own_routing();
  using Positions = std::vector<std::pair<std::uint16_t, std::uint64_t>>;
  const std::array asked{Shard{3}, Shard{1}};
  const auto positions = [&] {
    Positions found;
    for (const auto& one : events().positions(asked).value()) {
      found.emplace_back(one.shard.value, one.position.value);
    }
    return found;
  };
  const auto move = [&](const spi::Fencing& by, std::vector<spi::RoutingPosition> to) {
    return events().move(by, to).value();
  };
  EXPECT_EQ(positions(), (Positions{{3, 0}, {1, 0}}));
  move(fencing(owner), {{Shard{1}, Sequence{7}}, {Shard{3}, Sequence{9}}});
  move(fencing(owner), {{Shard{1}, Sequence{5}}, {Shard{3}, Sequence{10}}});
  EXPECT_EQ(positions(), (Positions{{3, 10}, {1, 7}}));
  auto stale = owner;
  ++stale.fences[1].epoch.value;
  move(fencing(stale), {{Shard{1}, Sequence{20}}, {Shard{3}, Sequence{20}}});
  EXPECT_EQ(positions(), (Positions{{3, 10}, {1, 7}}));
  const spi::Fence only{.shard = Shard{3}, .epoch = owner.fences[3].epoch};
  const spi::Fencing of_one{owner.scope, owner.id, std::span(&only, 1)};
  EXPECT_EQ(move(of_one, {{Shard{3}, Sequence{11}}}), std::vector<bool>{true});
  const std::array foreign{spi::RoutingPosition{Shard{1}, Sequence{12}}};
  EXPECT_EQ(events().move(of_one, foreign).error().code, Code::config_invalid);
  const std::array twice{spi::RoutingPosition{Shard{3}, Sequence{12}},
                         spi::RoutingPosition{Shard{3}, Sequence{13}}};
  EXPECT_EQ(events().move(of_one, twice).error().code, Code::config_invalid);
  EXPECT_EQ(positions(), (Positions{{3, 11}, {1, 7}}));
}

TEST_P(HubConformance, EventsBringWhatChangedAboutSubscriptions) {
  const auto a = put(subscription("a"));
  const auto b = put(subscription("b"));
  EXPECT_GT(b.change, a.change);
  const auto changed = [&](std::uint64_t after) {
    std::vector<std::string> ids;
    for (const auto& one : read_events_of({Shard{0}, {}, 1}, 1, after).changed) {
      ids.push_back(one.id.str());
    }
    return ids;
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(changed(0), (Ids{"a", "b"}));
  EXPECT_EQ(changed(a.change), Ids{"b"});
  const auto again = put(a);
  EXPECT_EQ(changed(b.change), Ids{"a"});
  EXPECT_EQ(changed(0), (Ids{"b", "a"}));
  EXPECT_EQ(changed(again.change), Ids{});
  const auto last = events().read({}, 1, again.change - 1).value().changed.at(0);
  EXPECT_EQ(last.version, 2U);
  EXPECT_EQ(last.types, a.types);
  EXPECT_EQ(last.settings, a.settings);
}

TEST_P(HubConformance, WaitingForEventsEndsByPublishOrWakeOrTime) {
  std::thread waker([&] { events().wake(); });
  events().wait(seconds(60));
  waker.join();
  publish(event());
  if (events().capabilities().notifies) events().wait(seconds(60));
  events().wait({});
}

}  // namespace
}  // namespace sagabox::conformance
