#include "admin/explain.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace sagabox::admin {
namespace {

using namespace std::chrono_literals;

constexpr WallTime now{std::chrono::seconds(1'767'225'600)};

WorkerId worker(std::string_view name) { return WorkerId::parse(name).value(); }

spi::ShardOwner owned(Shard shard, Duration lease_left = 11s) {
  return {.shard = shard, .owner = worker("relay-b"), .epoch = Epoch{42}, .lease_left = lease_left};
}

/// A pending message that nothing holds.
MessageFacts pending() {
  MessageRecord record;
  record.state = MessageState::pending;
  record.id = MessageId::parse("01JC9Y3B6W8QK3T5V0ZC2N7A4F").value();
  record.sequence = Sequence{8812};
  record.shard = Shard{5};
  record.tenant = "default";
  record.topic = "orders.order.placed.v1";
  record.key = "17";
  record.written_at = now - 4min - 8s;
  MessageFacts facts;
  facts.table = "orders";
  facts.id = record.id;
  facts.record = std::move(record);
  facts.owners = {owned(Shard{4}), owned(Shard{5})};
  facts.now = now;
  return facts;
}

MessageFacts ended(MessageState state) {
  MessageFacts facts = pending();
  facts.record->state = state;
  facts.record->ended_at = now - 1h - 40min;
  facts.record->attempts = 10;
  return facts;
}

std::vector<Why> whys(const Explanation& explanation) {
  std::vector<Why> whys;
  for (const auto& reason : explanation.reasons) whys.push_back(reason.why);
  return whys;
}

using List = std::vector<Why>;

TEST(Explain, NothingHoldsIt) {
  auto facts = pending();
  facts.owner_view.emplace();
  const auto answer = explain(facts);
  EXPECT_EQ(whys(answer), List{Why::with_owner});
  EXPECT_EQ(answer.text(),
            "pending in orders (seq 8812, shard 5), written 4m08s ago\n"
            "waits for: its owner; nothing holds it, it should go within the next poll\n"
            "owner:     relay-b, lease 11s left, epoch 42");
}

TEST(Explain, WhatOnlyItsOwnerKnowsIsNotDeniedByTheStore) {
  auto facts = pending();
  for (const std::chrono::milliseconds age : {std::chrono::milliseconds{4min}, 1ms}) {
    facts.record->written_at = now - age;
    const auto answer = explain(facts);
    EXPECT_EQ(whys(answer), List{Why::with_owner});
    EXPECT_EQ(answer.reasons[0].text, "its owner; nothing in the store holds it, its owner may");
    EXPECT_NE(answer.next.find("--server"), std::string::npos);
    EXPECT_NE(answer.next.find("refuses its result"), std::string::npos);
  }
}

TEST(Explain, ItsKeyMayWaitBehindATarget) {
  auto facts = pending();
  facts.owner_view.emplace();
  facts.key_behind = {"target http://a, which is down"};
  const auto answer = explain(facts);
  EXPECT_EQ(whys(answer), List{Why::behind_key});
  EXPECT_EQ(answer.reasons[0].text, "its key may wait behind target http://a, which is down");
}

TEST(Explain, ItIsInLineOrItsKeyMayBeRetried) {
  auto facts = pending();
  facts.owner_view = OwnerView{.in_line = true, .key_retrying = true};
  EXPECT_EQ(whys(explain(facts)), (List{Why::in_line, Why::behind_key}));
  facts.owner_view = OwnerView{.in_hand = OwnerView::InHand{}, .in_line = true};
  EXPECT_EQ(whys(explain(facts)), List{Why::in_hand});
}

TEST(Explain, ItsOwnerDoesNotKnowItsTopic) {
  auto facts = pending();
  facts.owner_view = OwnerView{.in_line = true, .no_route_until = now + 50min};
  facts.held_up = {{.by = HeldUp::By::no_route}};
  const auto answer = explain(facts);
  EXPECT_EQ(whys(answer), List{Why::no_route});
  EXPECT_EQ(answer.reasons[0].text,
            "an owner that knows topic \"orders.order.placed.v1\": this one has no listener and "
            "no route for it; no attempt is spent, and it is dead in 50m00s");
  EXPECT_EQ(answer.next, "add a route for its topic, or start the version that knows it");
}

TEST(Explain, ItsResultIsRefused) {
  auto facts = pending();
  facts.pauses = {{.topic = "", .actor = "ann", .note = "", .since = now}};
  facts.refused = RefusedResult{.id = facts.id,
                                .sequence = facts.record->sequence,
                                .delivered = true,
                                .code = Code::schema_validation_failed,
                                .error = "value refused constraint only_even"};
  const auto answer = explain(facts);
  EXPECT_EQ(whys(answer), List{Why::result_refused});
  EXPECT_EQ(answer.reasons[0].text,
            "the database, which refuses its result and its quarantine (SCHEMA.VALIDATION_FAILED: "
            "value refused constraint only_even); it WAS delivered, and this is tried again now "
            "and then");
  EXPECT_FALSE(answer.next.empty());
}

TEST(Explain, QuarantinedForARefusedResult) {
  auto facts = ended(MessageState::quarantined);
  facts.record->code = Code::schema_validation_failed;
  facts.record->note = "it WAS delivered, but its result could not be stored: because";
  auto answer = explain(facts);
  EXPECT_EQ(answer.reasons[0].text, facts.record->note);
  EXPECT_EQ(answer.next, "nothing has to be sent; a release or a replay would deliver it again");
  facts.record->note =
      "it failed for good (TX.REJECTED), but its result could not be stored: because";
  EXPECT_EQ(explain(facts).next, "mend what the database refuses, then release or replay it");
}

MessageFacts held_by(OwnerView::With with) {
  auto facts = pending();
  facts.owner_view = OwnerView{.in_hand = OwnerView::InHand{.with = with, .since = 12s}};
  facts.pauses = {{.topic = "", .actor = "ann", .note = "", .since = now}};
  facts.held_up = {{.by = HeldUp::By::down, .target = "https://a", .since = 4min}};
  return facts;
}

TEST(Explain, SaysFirstWhoHasItInHandAndSinceWhen) {
  const auto handler = explain(held_by(OwnerView::With::handler));
  EXPECT_EQ(whys(handler), List{Why::in_hand}) << "nothing else holds it any more";
  EXPECT_EQ(handler.reasons[0].text, "its handler in relay-b, which runs for 12s");
  EXPECT_EQ(handler.next, "");

  const auto late = explain(held_by(OwnerView::With::late_handler));
  EXPECT_EQ(late.reasons[0].text, "its handler in relay-b, which runs for 12s, longer than it may");
  EXPECT_NE(late.next, "");

  const auto sent = explain(held_by(OwnerView::With::target));
  EXPECT_EQ(whys(sent), (List{Why::in_hand, Why::target_down}));
  EXPECT_EQ(sent.reasons[0].text, "its targets: relay-b has it in hand for 12s, without an answer");

  auto facts = held_by(OwnerView::With::owner);
  facts.earlier = {.count = 1, .more = false, .sequences = {Sequence{8790}}};
  const auto queued = explain(facts);
  EXPECT_EQ(whys(queued),
            (List{Why::in_hand, Why::table_paused, Why::target_down, Why::behind_key}));
  EXPECT_EQ(queued.reasons[0].text,
            "its turn: relay-b has it in hand, queued or with its result to be stored");
}

TEST(Explain, TheBoundThatItsOwnerHasReached) {
  auto facts = pending();
  facts.owner_view = OwnerView{.bound = "unsettled_max"};
  const auto answer = explain(facts);
  EXPECT_EQ(whys(answer), List{Why::with_owner});
  EXPECT_EQ(answer.reasons[0].text,
            "its owner, which has reached its unsettled_max and takes more when others have ended");
}

TEST(Explain, TablePaused) {
  auto facts = pending();
  facts.pauses = {
      {.topic = "", .actor = "ann", .note = "broker upgrade", .since = now - 4min - 10s}};
  const auto answer = explain(facts);
  EXPECT_EQ(whys(answer), List{Why::table_paused});
  EXPECT_EQ(answer.text(),
            "pending in orders (seq 8812, shard 5), written 4m08s ago\n"
            "waits for: table orders to be resumed, paused 4m10s ago by ann: broker upgrade\n"
            "owner:     relay-b, lease 11s left, epoch 42\n"
            "next:      resume what is paused");
}

TEST(Explain, OnlyThePauseOfItsOwnTopicHoldsIt) {
  auto facts = pending();
  facts.pauses = {{.topic = "orders.order.cancelled.v1", .actor = "ann", .note = "", .since = now}};
  EXPECT_EQ(whys(explain(facts)), List{Why::with_owner});
  facts.pauses.push_back(
      {.topic = "orders.order.placed.v1", .actor = "bob", .note = "", .since = now - 2h});
  const auto answer = explain(facts);
  EXPECT_EQ(whys(answer), List{Why::topic_paused});
  EXPECT_EQ(answer.reasons[0].text,
            "topic orders.order.placed.v1 to be resumed, paused 2h00m ago by bob");
}

TEST(Explain, NobodyOwnsTheShard) {
  auto facts = pending();
  facts.owners = {owned(Shard{4}), {.shard = Shard{5}}};
  const auto answer = explain(facts);
  EXPECT_EQ(whys(answer), List{Why::no_owner});
  EXPECT_EQ(answer.text(),
            "pending in orders (seq 8812, shard 5), written 4m08s ago\n"
            "waits for: an owner: nobody owns shard 5\n"
            "owner:     nobody\n"
            "next:      start a relay for table orders");
  facts.owners.clear();
  EXPECT_EQ(whys(explain(facts)), List{Why::no_owner});
}

TEST(Explain, TheOwnersLeaseHasRunOut) {
  auto facts = pending();
  facts.owners = {owned(Shard{5}, 0s)};
  const auto answer = explain(facts);
  EXPECT_EQ(whys(answer), List{Why::lease_expired});
  EXPECT_EQ(answer.reasons[0].text,
            "another owner: the lease of relay-b has run out, whoever asks first takes shard 5");
  EXPECT_EQ(answer.owner, "relay-b, lease has run out, epoch 42");
  EXPECT_EQ(answer.next, "if it stays so, start a relay for table orders");
}

TEST(Explain, RetryDue) {
  auto facts = pending();
  facts.record->retrying = true;
  facts.record->attempts = 3;
  facts.record->due = now + 12s;
  facts.record->code = Code::provider_unavailable;
  facts.record->error = "connection\nrefused";
  const auto answer = explain(facts);
  EXPECT_EQ(whys(answer), List{Why::retry_due});
  EXPECT_EQ(answer.state, "pending in orders (seq 8812, shard 5), written 4m08s ago, attempts 3");
  EXPECT_EQ(answer.reasons[0].text,
            "its retry, due in 12s; it failed with PROVIDER.UNAVAILABLE: connection refused");
  facts.now = *facts.record->due;
  EXPECT_EQ(whys(explain(facts)), List{Why::with_owner});
}

TEST(Explain, NotDueYet) {
  auto facts = pending();
  facts.record->due = now + 2h + 5min;
  const auto answer = explain(facts);
  EXPECT_EQ(whys(answer), List{Why::not_due});
  EXPECT_EQ(answer.reasons[0].text, "its time, due in 2h05m");
}

TEST(Explain, EarlierMessagesOfItsKey) {
  auto facts = pending();
  facts.earlier = {.count = 2, .more = false, .sequences = {Sequence{8790}, Sequence{8801}}};
  EXPECT_EQ(explain(facts).reasons[0].text, R"(2 earlier messages of key "17" (seq 8790, 8801))");

  facts.pauses = {{.topic = "", .actor = "ann", .note = "", .since = now}};
  const auto both = explain(facts);
  EXPECT_EQ(whys(both), (List{Why::table_paused, Why::behind_key}));
  EXPECT_EQ(both.text(),
            "pending in orders (seq 8812, shard 5), written 4m08s ago\n"
            "waits for: table orders to be resumed, paused 0s ago by ann\n"
            "then:      2 earlier messages of key \"17\" (seq 8790, 8801) go first\n"
            "owner:     relay-b, lease 11s left, epoch 42\n"
            "next:      resume what is paused");

  facts.earlier = {.count = 1, .more = false, .sequences = {Sequence{8790}}};
  EXPECT_EQ(explain(facts).reasons[1].text,
            R"(1 earlier message of key "17" (seq 8790) goes first)");
  facts.earlier = {.count = 100, .more = true, .sequences = {Sequence{1}, Sequence{2}}};
  EXPECT_EQ(explain(facts).reasons[1].text,
            R"(at least 100 earlier messages of key "17" (seq 1, 2 …) go first)");
}

TEST(Explain, ItsTargetIsDown) {
  auto facts = pending();
  facts.held_up = {{.by = HeldUp::By::down,
                    .target = "kafka:orders",
                    .what = "connection refused",
                    .since = 4min + 10s,
                    .next = 6s}};
  facts.earlier = {.count = 2, .more = false, .sequences = {Sequence{8790}, Sequence{8801}}};
  const auto answer = explain(facts);
  EXPECT_EQ(whys(answer), (List{Why::target_down, Why::behind_key}));
  EXPECT_EQ(answer.text(),
            "pending in orders (seq 8812, shard 5), written 4m08s ago\n"
            "waits for: target kafka:orders, down for 4m10s (connection refused), next try in 6s; "
            "no attempt is spent\n"
            "then:      2 earlier messages of key \"17\" (seq 8790, 8801) go first\n"
            "owner:     relay-b, lease 11s left, epoch 42");
  facts.held_up[0].next = 0s;
  EXPECT_NE(explain(facts).reasons[0].text.find("next try now"), std::string::npos);
}

TEST(Explain, LimitsAndLinesAndRoutes) {
  auto facts = pending();
  facts.held_up = {{.by = HeldUp::By::others, .target = "bus:a"},
                   {.by = HeldUp::By::limit,
                    .target = "kafka:orders",
                    .what = "rate of its route",
                    .next = 400ms}};
  const auto answer = explain(facts);
  EXPECT_EQ(whys(answer), (List{Why::over_limit, Why::in_line}));
  EXPECT_EQ(answer.reasons[0].text,
            "its turn at target kafka:orders: the limit on the rate of its route is reached, the "
            "next one may go in 400ms");
  EXPECT_EQ(answer.reasons[1].text,
            "its turn at target bus:a: as many are on their way there as may be");
  facts.held_up = {{.by = HeldUp::By::no_route}};
  EXPECT_EQ(explain(facts).reasons[0].text,
            "its owner, who will move it to the dead letters: no route takes topic "
            "\"orders.order.placed.v1\"");
  EXPECT_EQ(explain(facts).next, "add a route for its topic");
}

TEST(Explain, ATransactionThatIsOpenForLong) {
  auto facts = pending();
  facts.oldest_transaction = 59s;
  EXPECT_EQ(whys(explain(facts)), List{Why::with_owner});
  facts.oldest_transaction = 12min;
  const auto answer = explain(facts);
  EXPECT_EQ(whys(answer), List{Why::open_transaction});
  EXPECT_EQ(answer.next, "sagabox doctor tells which");
  facts.earlier = {.count = 1, .more = false, .sequences = {Sequence{1}}};
  EXPECT_EQ(whys(explain(facts)), List{Why::behind_key}) << "it holds nothing up by itself";
  facts.record.reset();
  EXPECT_NE(explain(facts).reasons[0].text.find("a transaction is open for 12m00s, what it has "
                                                "written is there when it commits"),
            std::string::npos);
}

TEST(Explain, EveryReasonHasAName) {
  for (std::size_t at = 0; at < why_count; ++at) {
    const auto why = static_cast<Why>(at);
    EXPECT_EQ(why_from_name(why_name(why)), why);
  }
  EXPECT_FALSE(why_from_name("moon_phase"));
}

TEST(Explain, Undecodable) {
  auto facts = pending();
  facts.record->decode_error = "the headers are not JSON";
  facts.record->topic.clear();
  facts.pauses = {{.topic = "", .actor = "ann", .note = "", .since = now}};
  const auto answer = explain(facts);
  EXPECT_EQ(whys(answer), (List{Why::table_paused, Why::undecodable}));
  EXPECT_EQ(answer.reasons[1].text,
            "its owner, who will move it to the dead letters: the headers are not JSON");
}

TEST(Explain, EverythingAtOnceComesInOrder) {
  auto facts = pending();
  facts.pauses = {{.topic = "orders.order.placed.v1", .actor = "a", .note = "", .since = now},
                  {.topic = "", .actor = "a", .note = "", .since = now}};
  facts.owners.clear();
  facts.record->retrying = true;
  facts.record->due = now + 1s;
  facts.record->decode_error = "x";
  facts.earlier = {.count = 1, .more = false, .sequences = {Sequence{1}}};
  EXPECT_EQ(whys(explain(facts)), (List{Why::table_paused, Why::topic_paused, Why::no_owner,
                                        Why::retry_due, Why::behind_key, Why::undecodable}));
}

TEST(Explain, ReplayedMessageSaysSo) {
  auto facts = pending();
  facts.record->replays = 1;
  EXPECT_EQ(explain(facts).state, "pending in orders (seq 8812, shard 5), replayed 4m08s ago");
  facts.record->replays = 3;
  EXPECT_EQ(explain(facts).state,
            "pending in orders (seq 8812, shard 5), replayed 4m08s ago, replayed 3 times");
}

TEST(Explain, NotFound) {
  MessageFacts facts;
  facts.table = "orders";
  facts.id = MessageId::parse("m-1").value();
  const auto answer = explain(facts);
  EXPECT_EQ(whys(answer), List{Why::not_found});
  EXPECT_EQ(answer.text(),
            "m-1 is not in orders\n"
            "because:   there is no pending, dead or quarantined message of this id; done ones are "
            "kept only for the retention\n"
            "next:      check the id, the table and the tenant");
}

TEST(Explain, Done) {
  EXPECT_EQ(explain(ended(MessageState::done)).text(),
            "done in orders (seq 8812, shard 5), delivered 1h40m ago\n"
            "because:   it was delivered\n"
            "next:      nothing; a replay would deliver it again");
  EXPECT_EQ(whys(explain(ended(MessageState::done))), List{Why::done});
}

TEST(Explain, Dead) {
  auto facts = ended(MessageState::dead);
  facts.record->code = Code::provider_rejected;
  facts.record->error = "422 from hooks.example.com";
  const auto answer = explain(facts);
  EXPECT_EQ(whys(answer), List{Why::dead});
  EXPECT_EQ(answer.text(),
            "dead in orders (seq 8812, shard 5), died 1h40m ago, attempts 10\n"
            "because:   PROVIDER.REJECTED: 422 from hooks.example.com\n"
            "next:      replay it: it becomes pending again with a new sequence and attempts 0");
}

TEST(Explain, Quarantined) {
  auto facts = ended(MessageState::quarantined);
  facts.record->note = "wrong currency";
  const auto answer = explain(facts);
  EXPECT_EQ(whys(answer), List{Why::quarantined});
  EXPECT_EQ(answer.text(),
            "quarantined in orders (seq 8812, shard 5), set aside 1h40m ago, attempts 10\n"
            "because:   wrong currency\n"
            "next:      release it: it becomes pending again under its own sequence; or replay it");
  facts.record->note.clear();
  facts.record->code = Code::tx_timeout;
  EXPECT_EQ(explain(facts).reasons[0].text, "set aside without a note (last failure: TX.TIMEOUT)");
}

/// Facts of any kind, consistent or not.
MessageFacts any_facts(const std::string& secret) {
  MessageFacts facts = pending();
  MessageRecord& record = *facts.record;
  record.state = static_cast<MessageState>(*rc::gen::inRange(0, 4));
  const auto text = [] { return *rc::gen::container<std::string>(rc::gen::arbitrary<char>()); };
  record.key = text();
  record.error = text();
  record.note = text();
  record.decode_error = *rc::gen::arbitrary<bool>() ? text() : "";
  record.attempts = *rc::gen::arbitrary<std::uint32_t>();
  record.replays = *rc::gen::inRange(0U, 3U);
  record.retrying = *rc::gen::arbitrary<bool>();
  const auto around_now = [] { return now + std::chrono::seconds(*rc::gen::inRange(-9999, 9999)); };
  record.written_at = around_now();
  if (*rc::gen::arbitrary<bool>()) record.due = around_now();
  if (*rc::gen::arbitrary<bool>()) record.ended_at = around_now();
  if (*rc::gen::arbitrary<bool>()) {
    record.code = static_cast<Code>(*rc::gen::inRange<std::size_t>(0, code_count));
  }
  if (*rc::gen::arbitrary<bool>()) {
    facts.pauses.push_back({.topic = *rc::gen::element<std::string>("", record.topic, "other"),
                            .actor = text(),
                            .note = text(),
                            .since = around_now()});
  }
  if (*rc::gen::arbitrary<bool>()) {
    facts.owners = {owned(Shard{5}, std::chrono::seconds(*rc::gen::inRange(-5, 5)))};
  }
  facts.earlier.count = *rc::gen::inRange(0U, 3U);
  for (std::uint64_t i = 0; i < facts.earlier.count; ++i) {
    facts.earlier.sequences.push_back(Sequence{i + 1});
  }
  for (int held = *rc::gen::inRange(0, 4); held > 0; --held) {
    facts.held_up.push_back({.by = static_cast<HeldUp::By>(*rc::gen::inRange(0, 4)),
                             .target = text(),
                             .what = text(),
                             .since = std::chrono::seconds(*rc::gen::inRange(0, 9999))});
    if (*rc::gen::arbitrary<bool>()) facts.held_up.back().next = 1s;
  }
  if (*rc::gen::arbitrary<bool>()) {
    facts.oldest_transaction = std::chrono::seconds(*rc::gen::inRange(0, 200));
  }
  if (*rc::gen::arbitrary<bool>()) {
    facts.owner_view.emplace();
    if (*rc::gen::arbitrary<bool>()) {
      facts.owner_view->in_hand = {.with = static_cast<OwnerView::With>(*rc::gen::inRange(0, 4)),
                                   .since = 1s};
    }
  }

  struct FixedClock final : Clock {
    [[nodiscard]] WallTime wall_now() const override { return now; }
    [[nodiscard]] BootTime boot_now() const override { return {}; }
  } clock;
  UlidSource ids(clock, system_random());
  record.message = std::make_shared<const Message>(
      Message::build({.topic = "t", .payload = bytes(secret)}, {}, ids, clock).value());
  return facts;
}

RC_GTEST_PROP(Explain, AlwaysHasAReasonInOrderAndNeverAPayload, ()) {
  const std::string secret = "payload-that-nobody-sees";
  const MessageFacts facts = any_facts(secret);
  const Explanation answer = explain(facts);
  RC_ASSERT(!answer.reasons.empty());
  RC_ASSERT(std::is_sorted(answer.reasons.begin(), answer.reasons.end(),
                           [](const Reason& a, const Reason& b) { return a.why < b.why; }));
  const bool is_pending = facts.record->state == MessageState::pending;
  for (const auto& reason : answer.reasons) {
    RC_ASSERT((reason.why > Why::quarantined) == is_pending);
    RC_ASSERT(!reason.text.empty());
  }
  RC_ASSERT(is_pending != answer.owner.empty());
  const std::string text = answer.text();
  RC_ASSERT(text.find(secret) == std::string::npos);
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  RC_ASSERT(lines == 1 + answer.reasons.size() + (answer.owner.empty() ? 0 : 1) +
                         (answer.next.empty() ? 0 : 1));
}

}  // namespace
}  // namespace sagabox::admin
