#include "integration/admin/world.hpp"

namespace sagabox::integration {
namespace {

std::vector<std::string> ids(const std::vector<MessageRecord>& rows) {
  std::vector<std::string> ids;
  for (const auto& row : rows) ids.push_back(row.id.str());
  return ids;
}

using Names = std::vector<std::string>;

TEST_F(AdminTest, OpenNamesTheOptionThatIsWrong) {
  EXPECT_EQ(why_not(Admin::open(store_, {})),
            "CONFIG.INVALID: actor: empty; give 1 to 128 printable characters");
  EXPECT_EQ(why_not(Admin::open(store_, {.actor = std::string(129, 'a')})),
            "CONFIG.INVALID: actor: 129 characters; give 1 to 128 printable characters");
  EXPECT_EQ(why_not(Admin::open(store_, {.actor = std::string(128, 'a')})), "accepted");
  EXPECT_EQ(why_not(Admin::open(store_, {.actor = "ann", .tenant = ""})),
            "CONFIG.INVALID: tenant: empty; give 1 to 64 printable characters");
  EXPECT_EQ(why_not(Admin::open(store_, {.actor = "ann", .audit = nullptr})),
            "CONFIG.INVALID: metrics, audit, log and clock must not be null; leave them out for "
            "none");
}

TEST_F(AdminTest, ListsOldestFirstPageByPage) {
  for (const auto* id : {"d1", "d2", "d3", "d4", "d5"}) dead(id);
  write({.id = "p1"});
  const Admin ann = admin();
  ListQuery query{.rows_max = 2};
  Names seen;
  std::size_t pages = 0;
  do {
    const auto page = ann.list(orders_, query).value();
    for (const auto& id : ids(page.rows)) seen.push_back(id);
    query.cursor = page.next;
    ++pages;
  } while (!query.cursor.empty());
  EXPECT_EQ(seen, (Names{"d1", "d2", "d3", "d4", "d5"}));
  EXPECT_EQ(pages, 3U);
  EXPECT_EQ(ann.count(orders_, MessageState::dead, {}).value(), 5U);
  EXPECT_EQ(ids(ann.list(orders_, {.state = MessageState::pending}).value().rows), Names{"p1"});
}

TEST_F(AdminTest, APageThatEndsWithTheListHasNoNext) {
  dead("d1");
  dead("d2");
  EXPECT_EQ(admin().list(orders_, {.rows_max = 2}).value().next, "");
  EXPECT_TRUE(admin().list(orders_, {.state = MessageState::done}).value().rows.empty());
}

TEST_F(AdminTest, FiltersByWhatIsKnownOfAMessage) {
  dead("d1");
  clock_.advance(1h);
  const WallTime later = clock_.wall_now();
  dead("d2", {.key = "17", .topic = "orders.order.cancelled.v1"});
  dead("d3", {.tenant = "acme"}, Code::tx_timeout);
  const Admin ann = admin();
  const auto fitting = [&](const MessageFilter& filter) {
    const auto rows = ids(ann.list(orders_, {.filter = filter}).value().rows);
    EXPECT_EQ(ann.count(orders_, MessageState::dead, filter).value(), rows.size());
    return rows;
  };
  EXPECT_EQ(fitting({.topic = "orders.order.cancelled.v1"}), Names{"d2"});
  EXPECT_EQ(fitting({.key = "17"}), Names{"d2"});
  EXPECT_EQ(fitting({.tenant = "acme"}), Names{"d3"});
  EXPECT_EQ(fitting({.code = Code::tx_timeout}), Names{"d3"});
  EXPECT_EQ(fitting({.from = later}), (Names{"d2", "d3"}));
  EXPECT_EQ(fitting({.until = later}), Names{"d1"});
  EXPECT_EQ(fitting({.aggregate_type = "Order"}), Names{});
}

TEST_F(AdminTest, WrongListsAreRefused) {
  dead("d1");
  dead("d2");
  const Admin ann = admin();
  EXPECT_EQ(why_not(ann.list(orders_, {.rows_max = 0})),
            "REQUEST.INVALID: rows_max: 0; give 1 to 1000");
  EXPECT_EQ(why_not(ann.list(orders_, {.rows_max = 1001})),
            "REQUEST.INVALID: rows_max: 1001; give 1 to 1000");
  const std::string next = ann.list(orders_, {.rows_max = 1}).value().next;
  EXPECT_EQ(why_not(ann.list(orders_, {.filter = {.key = "17"}, .cursor = next})),
            "REQUEST.INVALID: cursor: not one of this list; hand back what the page "
            "before said, with the same table, state and filter, or leave it out to start again");
  EXPECT_EQ(
      why_not(ann.count(orders_, MessageState::dead, {.first = Sequence{2}, .last = Sequence{1}})),
      "REQUEST.INVALID: filter: nothing lies between sequence 2 and 1; first must "
      "not be above last");
  EXPECT_EQ(ann.list(nowhere_, {}).error().code, Code::config_invalid);
}

TEST_F(AdminTest, InspectShowsThePayloadOnlyWhenAsked) {
  const auto id = dead("d1");
  const Admin ann = admin();
  const auto plain = ann.inspect(orders_, id).value().value();
  EXPECT_EQ(plain.message, nullptr);
  EXPECT_EQ(plain.payload_bytes, payload_.size());
  EXPECT_EQ(plain.digest, sha256(payload_));
  EXPECT_EQ(plain.attempts, 3U);
  EXPECT_EQ(plain.code, Code::provider_rejected);
  EXPECT_EQ(plain.error, "422 from hooks.example.com");
  ASSERT_EQ(plain.history.size(), 1U);
  EXPECT_EQ(plain.history[0].number, 3U);
  const auto full = ann.inspect(orders_, id, Admin::PayloadToo::yes).value().value();
  ASSERT_NE(full.message, nullptr);
  EXPECT_EQ(full.message->payload().view(), payload_);
  EXPECT_EQ(ann.inspect(orders_, id_of("unknown")).value(), std::nullopt);
  for (const auto& row : ann.list(orders_, {.with_history = true}).value().rows) {
    EXPECT_EQ(row.message, nullptr);
    EXPECT_EQ(row.history.size(), 1U);
  }
}

TEST_F(AdminTest, BlockedKeysNameTheirHeadAndWhoWaitsBehind) {
  const auto head = write({.id = "head", .key = "17"});
  write({.id = "second", .key = "17"});
  write({.id = "third", .key = "17"});
  write({.id = "delayed", .key = "17", .not_before = clock_.wall_now() + 1h});
  write({.id = "other", .key = "18"});
  const auto keyless = write({.id = "keyless"});
  settle(head, spi::Verdict::retry, 2, Code::provider_unavailable);
  settle(keyless, spi::Verdict::retry);
  const auto page = admin().blocked_keys(orders_).value();
  ASSERT_EQ(page.keys.size(), 1U);
  EXPECT_EQ(page.next, "");
  const BlockedKey& blocked = page.keys[0];
  EXPECT_EQ(blocked.key, "17");
  EXPECT_EQ(blocked.head.id, head);
  EXPECT_EQ(blocked.head.attempts, 2U);
  EXPECT_EQ(blocked.head.code, Code::provider_unavailable);
  EXPECT_EQ(blocked.head.due, clock_.wall_now() + 10s);
  EXPECT_EQ(blocked.behind, 2U);
  EXPECT_FALSE(blocked.more_behind);
}

TEST_F(AdminTest, BlockedKeysComePageByPageAndCountUpToABound) {
  for (const auto* key : {"a", "b", "c"}) {
    settle(write({.key = key}), spi::Verdict::retry);
    settle(write({}), spi::Verdict::retry);
  }
  for (std::uint32_t i = 0; i < BlockedKey::behind_max + 5; ++i) write({.key = "b"});
  const Admin ann = admin();
  Names keys;
  std::string cursor;
  do {
    const auto page = ann.blocked_keys(orders_, 1, cursor).value();
    for (const auto& blocked : page.keys) {
      keys.push_back(blocked.key);
      EXPECT_EQ(blocked.behind, blocked.key == "b" ? BlockedKey::behind_max : 0U);
      EXPECT_EQ(blocked.more_behind, blocked.key == "b");
    }
    cursor = page.next;
  } while (!cursor.empty());
  EXPECT_EQ(keys, (Names{"a", "b", "c"}));
  EXPECT_EQ(why_not(ann.blocked_keys(orders_, 0)), "REQUEST.INVALID: keys_max: 0; give 1 to 1000");
  EXPECT_EQ(ann.blocked_keys(orders_, 1, "xyz").error().code, Code::request_invalid);
}

TEST_F(AdminTest, ExplainAsksTheStoreForAllItNeeds) {
  const auto head = write({.id = "head", .key = "17"});
  write({.id = "delayed", .key = "17", .not_before = clock_.wall_now() + 1h});
  const auto second = write({.id = "second", .key = "17"});
  settle(head, spi::Verdict::retry, 2);
  clock_.advance(4s);
  Admin ann = admin();
  ann.pause_topic(orders_, "orders.order.placed.v1", "broker upgrade").value();
  const auto row = record(second);
  const auto shard = std::to_string(row.shard.value);
  const auto epoch = std::to_string(epochs_.at(row.shard.value).value);
  EXPECT_EQ(ann.explain(orders_, second).value().text(),
            "pending in orders (seq 3, shard " + shard +
                "), written 4s ago\n"
                "waits for: topic orders.order.placed.v1 to be resumed, paused 0s ago by ann: "
                "broker upgrade\n"
                "then:      1 earlier message of key \"17\" (seq 1) goes first\n"
                "owner:     relay-b, lease 11s left, epoch " +
                epoch + "\nnext:      resume what is paused");
  ann.resume_topic(orders_, "orders.order.placed.v1").value();
  EXPECT_EQ(ann.explain(orders_, head).value().reasons.at(0).text,
            "its retry, due in 6s; it failed with PROVIDER.REJECTED: 422 from hooks.example.com");
  EXPECT_EQ(ann.explain(orders_, id_of("delayed")).value().reasons.at(0).why, Why::not_due);
  clock_.advance(20s);
  EXPECT_EQ(ann.explain(orders_, head).value().reasons.at(0).why, Why::lease_expired);
}

TEST_F(AdminTest, ExplainAsksARouterWhatNoStoreKnows) {
  std::string asked;
  const auto ann =
      Admin::open(store_,
                  {.actor = "ann",
                   .held_up =
                       [&](const std::string& topic, const std::string& tenant) {
                         asked = topic + " of " + tenant;
                         return std::vector<HeldUp>{{.by = HeldUp::By::down, .target = "bus:a"}};
                       }})
          .value();
  const auto waiting = write({.id = "p1", .tenant = "acme"});
  EXPECT_EQ(ann.explain(orders_, waiting).value().reasons.at(0).why, Why::target_down);
  EXPECT_EQ(asked, "orders.order.placed.v1 of acme");
  asked.clear();
  EXPECT_EQ(ann.explain(orders_, dead("d1")).value().reasons.at(0).why, Why::dead);
  EXPECT_EQ(asked, "") << "it is not on its way";
}

TEST_F(AdminTest, ExplainKnowsEveryStateAndWhatIsNotThere) {
  const Admin ann = admin();
  EXPECT_EQ(ann.explain(orders_, dead("d1")).value().reasons.at(0).why, Why::dead);
  EXPECT_EQ(ann.explain(orders_, done("x1")).value().reasons.at(0).why, Why::done);
  EXPECT_EQ(ann.explain(orders_, write({.id = "p1"})).value().reasons.at(0).why, Why::with_owner);
  const auto quarantined = write({.id = "q1"});
  admin().quarantine(orders_, std::vector{quarantined}, "wrong currency").value();
  EXPECT_EQ(ann.explain(orders_, quarantined).value().reasons.at(0).text, "wrong currency");
  EXPECT_EQ(ann.explain(orders_, id_of("unknown")).value().reasons.at(0).why, Why::not_found);
  EXPECT_EQ(ann.explain(nowhere_, quarantined).error().code, Code::config_invalid);
}

TEST_F(AdminTest, StatsCountByState) {
  dead("d1");
  done("x1");
  write({});
  const auto stats = admin().stats(orders_).value();
  EXPECT_EQ(stats.dead, 1U);
  EXPECT_EQ(stats.done, 1U);
  EXPECT_EQ(stats.pending, 1U);
}

TEST_F(AdminTest, StraysAreShown) {
  write({});
  EXPECT_TRUE(admin().strays(orders_).value().empty());
  const auto lost = write({.id = "lost"});
  store_.misplace(orders_, record(lost).sequence).value();
  const auto strays = admin().strays(orders_).value();
  ASSERT_EQ(strays.size(), 1U);
  EXPECT_EQ(strays[0].id, lost);
  EXPECT_EQ(why_not(admin().strays(orders_, 0)), "REQUEST.INVALID: rows_max: 0; give 1 to 1000");
}

TEST_F(AdminTest, StoreErrorsComeThrough) {
  const auto id = dead("d1");
  store_.set_faults([](memory::Operation) { return memory::Fault::refused; });
  const Admin ann = admin();
  EXPECT_EQ(ann.list(orders_, {}).error().code, Code::storage_unavailable);
  EXPECT_EQ(ann.explain(orders_, id).error().code, Code::storage_unavailable);
  EXPECT_EQ(ann.blocked_keys(orders_).error().code, Code::storage_unavailable);
  EXPECT_EQ(ann.verify_audit().error().code, Code::storage_unavailable);
}

}  // namespace
}  // namespace sagabox::integration
