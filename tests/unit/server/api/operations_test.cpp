#include "unit/server/world.hpp"

namespace sagabox::server {
namespace {

using RestMessages = ApiTest;
using RestDeadLetters = ApiTest;
using RestReplays = ApiTest;
using RestTables = ApiTest;
using RestAudit = ApiTest;
using RestHealth = ApiTest;

TEST_F(RestMessages, AreListedPageByPage) {
  for (int number = 1; number <= 5; ++number) {
    enqueue(R"("id":"m)" + std::to_string(number) + R"(","key":")" +
            (number % 2 == 0 ? "even" : "odd") + "\"");
  }
  std::string seen;
  std::string cursor;
  do {
    const auto page = get("/v1/tables/orders/messages?limit=2&key=odd" +
                          (cursor.empty() ? "" : "&cursor=" + cursor));
    ASSERT_EQ(page.status, 200U) << page.body;
    const auto found = body(page);
    for (const auto& row : found.at("messages").as_array()) seen += text(row.as_object(), "id");
    const auto& next = found.at("next");
    cursor = next.is_null() ? "" : std::string(next.as_string());
  } while (!cursor.empty());
  EXPECT_EQ(seen, "m1m3m5");
  EXPECT_EQ(get("/v1/tables/orders/messages?state=done").status, 200U);
  EXPECT_EQ(refusal(get("/v1/tables/orders/messages?cursor=nonsense")).substr(0, 19),
            "400 REQUEST.INVALID");
}

TEST_F(RestMessages, QueriesAreReadStrictly) {
  const auto refused = [&](const std::string& query) {
    return refusal(get("/v1/tables/orders/messages?" + query));
  };
  const std::string code = "400 REQUEST.INVALID ";
  EXPECT_EQ(refused("limit=0"), code + "limit: \"0\"; give a whole number from 1 to 1000");
  EXPECT_EQ(refused("state=lost"), code +
                                       "state: is not a state; give pending, done, dead or "
                                       "quarantined");
  EXPECT_EQ(refused("code=X"),
            code + "code: is not an error code; give one like PROVIDER.REJECTED");
  EXPECT_EQ(refused("from=now"),
            code + "from: \"now\" is not a time; give one like 2026-01-01T00:00:00Z");
  EXPECT_EQ(refused("retrying=1"), code + "retrying: \"1\"; give true or false");
  EXPECT_EQ(refused("topic=a&topic=b"), code + "\"topic\": given twice; give it once");
  EXPECT_EQ(refused("topic=%2"), code + "the query has a % without two hex digits after it");
  EXPECT_EQ(refused("tpoic=a").substr(0, 70),
            (code + "query parameter \"tpoic\" is unknown; there are state").substr(0, 70));
  EXPECT_EQ(refused("first=3&last=2"),
            code + "filter: nothing lies between sequence 3 and 2; first must not be above last");
}

TEST_F(RestMessages, AreShownWithTheirPayloadWhenItIsAskedFor) {
  enqueue(R"("id":"m/1","headers":{"a":"b"})");
  const auto shown = get("/v1/tables/orders/messages/m%2F1");
  ASSERT_EQ(shown.status, 200U) << shown.body;
  EXPECT_EQ(text(body(shown), "state"), "pending");
  EXPECT_FALSE(body(shown).contains("payload"));
  const auto full = body(get("/v1/tables/orders/messages/m%2F1?payload=true"));
  EXPECT_EQ(json::serialize(full.at("payload")), R"({"n":1})");
  EXPECT_EQ(json::serialize(full.at("headers")), R"({"a":"b"})");
  EXPECT_EQ(refusal(get("/v1/tables/orders/messages/m2")),
            "404 REQUEST.NOT_FOUND message \"m2\" is not in table \"orders\"");
}

TEST_F(RestMessages, AreExplained) {
  const auto id = enqueue(R"("not_before":"2026-01-01T00:01:00Z")");
  const auto explained = body(get("/v1/tables/orders/messages/" + id + "/explain"));
  EXPECT_EQ(text(explained.at("reasons").as_array().at(0).as_object(), "why"), "not_due");
  EXPECT_NE(text(explained, "owner").find("relay-b"), std::string::npos);
  EXPECT_EQ(get("/v1/tables/orders/messages/nobody/explain").status, 404U);
}

TEST_F(RestMessages, BlockedKeysShowTheirHead) {
  const auto head = enqueue(R"("key":"k")");
  enqueue(R"("key":"k")");
  settle(head, spi::Verdict::retry, 1);
  const auto blocked = body(get("/v1/tables/orders/blocked-keys")).at("keys").as_array();
  ASSERT_EQ(blocked.size(), 1U);
  EXPECT_EQ(blocked[0].as_object().at("behind").as_int64(), 1);
  EXPECT_EQ(text(blocked[0].as_object().at("head").as_object(), "id"), head);
}

TEST_F(RestDeadLetters, AreListedAndShown) {
  const auto id = dead();
  enqueue("");
  const auto listed = body(get("/v1/tables/orders/dead-letters?history=true"));
  ASSERT_EQ(listed.at("messages").as_array().size(), 1U);
  const auto row = listed.at("messages").as_array()[0].as_object();
  EXPECT_EQ(text(row, "code"), "PROVIDER.REJECTED");
  EXPECT_EQ(text(row, "error"), "422 from hooks.example.com");
  EXPECT_EQ(row.at("attempts").as_int64(), 3);
  EXPECT_EQ(get("/v1/tables/orders/dead-letters/" + id).status, 200U);
  EXPECT_EQ(get("/v1/tables/orders/dead-letters/" + enqueue("")).status, 404U);
}

TEST_F(RestDeadLetters, AreReplayedOneByOne) {
  const auto id = dead();
  const auto replayed = post("/v1/tables/orders/dead-letters/" + id + "/replay", "");
  EXPECT_EQ(replayed.status, 200U) << replayed.body;
  EXPECT_EQ(record(id).state, MessageState::pending);
  EXPECT_EQ(refusal(post("/v1/tables/orders/dead-letters/" + id + "/replay", "")),
            "409 TX.INVALID_STATE message \"" + id +
                "\" is pending: only dead, quarantined or done messages can be replayed");
  EXPECT_EQ(post("/v1/tables/orders/dead-letters/nobody/replay", "").status, 404U);
  EXPECT_EQ(refusal(post("/v1/tables/orders/dead-letters/" + id + "/replay", R"({"force":true})")),
            "400 REQUEST.INVALID force: unknown; no field is expected here");
  EXPECT_EQ(store_.audit().read(0, 10).value().back().event.actor, "local");
}

TEST_F(RestDeadLetters, AreMovedByName) {
  const auto first = dead();
  const auto second = dead();
  const auto ids = R"({"ids":[")" + first + R"(","nobody"])";
  const auto replayed = body(post("/v1/tables/orders/dead-letters/replay", ids + "}"));
  EXPECT_EQ(replayed.at("moved").as_int64(), 1);
  EXPECT_EQ(text(replayed.at("results").as_array()[1].as_object(), "text"), "is not there");

  EXPECT_EQ(post("/v1/tables/orders/dead-letters/quarantine",
                 R"({"ids":[")" + second + R"("],"note":"poison"})")
                .status,
            200U);
  EXPECT_EQ(record(second).state, MessageState::quarantined);
  EXPECT_EQ(record(second).note, "poison");
  EXPECT_EQ(refusal(post("/v1/tables/orders/dead-letters/quarantine", ids + "}")),
            "400 REQUEST.INVALID note: empty; give 1 to 500 printable characters");
  EXPECT_EQ(
      post("/v1/tables/orders/dead-letters/release", R"({"ids":[")" + second + R"("]})").status,
      200U);
  EXPECT_EQ(record(second).state, MessageState::pending);
  EXPECT_EQ(refusal(post("/v1/tables/orders/dead-letters/release", R"({"ids":[]})")),
            "400 REQUEST.INVALID ids: none given; give an array of message ids");
  EXPECT_EQ(refusal(post("/v1/tables/orders/dead-letters/release", R"({"ids":["a",7]})")),
            "400 REQUEST.INVALID ids[1]: is a number; give a string");
}

TEST_F(RestDeadLetters, AreShownThoughTheirIdIsPendingAgain) {
  const auto id = dead();
  const auto sequence = record(id).sequence;
  const auto pending = write_again(id);
  const auto shown = [&](const std::string& path) {
    const auto answer = get("/v1/tables/orders/" + path);
    EXPECT_EQ(answer.status, 200U) << path << ": " << answer.body;
    return Sequence{body(answer).at("sequence").to_number<std::uint64_t>()};
  };
  EXPECT_EQ(shown("dead-letters/" + id), sequence);
  EXPECT_EQ(shown("messages/" + id), pending);
  EXPECT_EQ(shown("messages/" + id + "?state=dead"), sequence);
  EXPECT_EQ(get("/v1/tables/orders/messages/" + id + "?state=done").status, 404U);
  EXPECT_EQ(refusal(get("/v1/tables/orders/messages/" + id + "?state=lost")),
            "400 REQUEST.INVALID state: is not a state; give pending, done, dead or "
            "quarantined");
}

TEST_F(RestDeadLetters, AreMovedByTheirSequenceThoughTheirIdIsPendingAgain) {
  const auto id = dead();
  const auto sequence = std::to_string(record(id).sequence.value);
  write_again(id);
  const auto order = [&](const std::string& sequences) {
    return R"({"ids":[")" + id + R"("],"note":"poison","sequences":)" + sequences + "}";
  };
  const std::string path = "/v1/tables/orders/dead-letters/quarantine";
  const std::string code = "400 REQUEST.INVALID ";
  EXPECT_EQ(refusal(post(path, order("[]"))),
            code + "sequences: is empty; give one for each id, or leave it out");
  EXPECT_EQ(refusal(post(path, order(R"(["1"])"))),
            code +
                "sequences[0]: is not a sequence; give the whole number that the message was "
                "listed with");
  EXPECT_EQ(refusal(post(path, order("[1,2]"))),
            code + "sequences: 2 given for 1 ids; give one for each id, or none");
  const auto moved = body(post(path, order("[" + sequence + "]")));
  EXPECT_EQ(moved.at("moved").as_int64(), 1);
  EXPECT_EQ(text(moved.at("results").as_array()[0].as_object(), "was"), "dead");
  EXPECT_EQ(record(id).state, MessageState::pending);
  EXPECT_EQ(text(body(get("/v1/tables/orders/messages/" + id + "?state=quarantined")), "note"),
            "poison");
  EXPECT_EQ(audit_.events().back().attempt, 3U) << "of the row that was moved";
}

TEST_F(RestReplays, GoFromPreviewToTheEnd) {
  dead(R"("key":"a")");
  dead(R"("key":"b")");
  const std::string order = R"({"from":"dead","filter":{"key":"a"})";
  const auto preview = body(post("/v1/tables/orders/replays/preview", order + "}"));
  EXPECT_EQ(preview.at("matched").as_int64(), 1);
  EXPECT_EQ(preview.at("first").as_array().size(), 1U);

  const auto started = post("/v1/tables/orders/replays", order + R"(,"rate_max":10})");
  ASSERT_EQ(started.status, 201U) << started.body;
  const auto job = std::to_string(body(started).at("job").to_number<std::uint64_t>());
  const auto path = "/v1/tables/orders/replays/" + job;
  EXPECT_EQ(started.headers.at(0).second, path);
  EXPECT_EQ(text(body(get(path)), "state"), "running");
  EXPECT_EQ(body(get("/v1/tables/orders/replays")).at("replays").as_array().size(), 1U);
  EXPECT_EQ(text(body(post(path + "/stop", "")), "state"), "stopped");
  EXPECT_EQ(refusal(post(path + "/stop", "")), "409 TX.INVALID_STATE replay job " + job +
                                                   " is stopped: only running jobs can be stopped");
  EXPECT_EQ(text(body(post(path + "/resume", "")), "state"), "running");
}

TEST_F(RestReplays, SayWhatIsMissing) {
  EXPECT_EQ(get("/v1/tables/orders/replays/9").status, 404U);
  EXPECT_EQ(get("/v1/tables/orders/replays/x").status, 404U);
  EXPECT_EQ(post("/v1/tables/orders/replays/9/stop", "").status, 404U);
  EXPECT_EQ(refusal(post("/v1/tables/orders/replays", R"({"from":"done"})")),
            "400 REQUEST.INVALID a replay delivers done messages again: say which by a "
            "sequence range (first, last) or a time range (from, until)");
  EXPECT_EQ(
      refusal(post("/v1/tables/orders/replays", R"({"filter":{"colour":"red"}})")).substr(0, 43),
      "400 REQUEST.INVALID filter.colour: unknown;");
  EXPECT_EQ(refusal(post("/v1/tables/orders/replays", R"({"filter":7})")),
            "400 REQUEST.INVALID filter: is a number; give an object");
}

TEST_F(RestTables, ShowTheirCounts) {
  enqueue("");
  dead();
  const auto tables = body(get("/v1/tables")).at("tables").as_array();
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(text(tables[1].as_object(), "table"), "events");
  const auto orders = body(get("/v1/tables/orders"));
  EXPECT_EQ(orders.at("pending").as_int64(), 1);
  EXPECT_EQ(orders.at("dead").as_int64(), 1);
  EXPECT_EQ(text(orders, "oldest_pending"), "2026-01-01T00:00:00.000000Z");
}

TEST_F(RestTables, ShowWhoOwnsTheirShards) {
  const auto owners = body(get("/v1/tables/orders/owners"));
  EXPECT_EQ(owners.at("live").as_array().at(0).as_string(), "relay-b");
  ASSERT_EQ(owners.at("shards").as_array().size(), 16U);
  const auto shard = owners.at("shards").as_array()[3].as_object();
  EXPECT_EQ(text(shard, "owner"), "relay-b");
  EXPECT_EQ(shard.at("lease_left_seconds").to_number<double>(), 15.0);
}

TEST_F(RestTables, CountWhatFits) {
  enqueue(R"("key":"k")");
  enqueue("");
  dead();
  const auto count = [&](const std::string& query) {
    return body(get("/v1/tables/orders/count" + query)).at("count").as_int64();
  };
  EXPECT_EQ(count(""), 2);
  EXPECT_EQ(count("?key=k"), 1);
  EXPECT_EQ(count("?state=dead&code=PROVIDER.REJECTED"), 1);
  EXPECT_EQ(count("?retrying=true"), 0);
  EXPECT_EQ(refusal(get("/v1/tables/orders/count?limit=1")).substr(0, 19), "400 REQUEST.INVALID");
}

TEST_F(RestTables, HaveNoStrays) {
  enqueue("");
  EXPECT_TRUE(body(get("/v1/tables/orders/strays?limit=5")).at("strays").as_array().empty());
  EXPECT_EQ(get("/v1/tables/orders/strays?limit=0").status, 400U);
}

TEST_F(RestTables, LieInStores) {
  const auto stores = body(get("/v1/stores")).at("stores").as_array();
  ASSERT_EQ(stores.size(), 1U);
  const auto store = stores[0].as_object();
  EXPECT_EQ(text(store, "store"), "default");
  EXPECT_EQ(text(store, "database"), store_.name());
  EXPECT_TRUE(store.at("current").as_bool());
  EXPECT_EQ(json::serialize(store.at("tables")), R"(["orders","events"])");
  EXPECT_TRUE(body(get("/v1/stores/default/findings")).at("findings").is_array());
  EXPECT_EQ(refusal(get("/v1/stores/other/findings")),
            "404 REQUEST.NOT_FOUND store \"other\" is not served here; /v1/stores lists "
            "those that are");
}

/// A store that does not answer its doctor.
class StoreThatIsDown final : public Store, public spi::DoctorStore {
 public:
  spi::OutboxStore& outbox() override { return store_.outbox(); }
  spi::OutboxAdminStore& outbox_admin() override { return store_.outbox_admin(); }
  spi::ControlStore& control() override { return store_.control(); }
  spi::OwnershipStore& ownership() override { return store_.ownership(); }
  spi::AuditStore& audit() override { return store_.audit(); }
  spi::DoctorStore* doctor() override { return this; }
  Result<std::unique_ptr<OwnedTransaction>> begin() override { return store_.begin(); }
  [[nodiscard]] std::string name() const override { return "postgres://db/billing"; }

  Result<std::vector<TableName>> tables() override { return away(); }
  Result<Sequence> last_sequence(const TableName&) override { return away(); }
  Result<bool> is_current() override { return away(); }
  Result<std::vector<spi::Finding>> findings() override { return away(); }

 private:
  static Error away() { return {Code::storage_unavailable, "cannot connect to db"}; }

  memory::MemoryStore store_;
};

TEST_F(RestTables, StoreThatIsDownDoesNotHideTheOthers) {
  StoreThatIsDown down;
  auto billing = Outbox::writer_only(down, {.table = "billing"}).value();
  tables_.push_back({.table = TableName::parse("billing").value(),
                     .store = &down,
                     .outbox = always(billing),
                     .store_name = "second"});
  api_ = make_api(nullptr);
  const auto stores = body(get("/v1/stores")).at("stores").as_array();
  ASSERT_EQ(stores.size(), 2U);
  EXPECT_TRUE(stores[0].at("current").as_bool());
  EXPECT_FALSE(stores[0].as_object().contains("error"));
  EXPECT_FALSE(stores[1].at("current").as_bool());
  EXPECT_EQ(text(stores[1].as_object(), "error"), "STORAGE.UNAVAILABLE: cannot connect to db");
  EXPECT_EQ(json::serialize(stores[1].at("tables")), R"(["billing"])");
  api_.reset();
}

TEST_F(RestTables, GoToDestinations) {
  EXPECT_TRUE(body(get("/v1/destinations")).at("destinations").as_array().empty());
  destinations_ = {{.target = "kafka:orders",
                    .down = true,
                    .down_for = 250s,
                    .next_probe = 6s,
                    .last_error = "connection refused"},
                   {.target = "bus:a", .under_way = 3}};
  const auto all = body(get("/v1/destinations")).at("destinations").as_array();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(json::serialize(all[0]),
            R"({"target":"kafka:orders","down":true,"under_way":0,"down_seconds":250,)"
            R"("next_probe_seconds":6,"last_error":"connection refused"})");
  EXPECT_EQ(json::serialize(all[1]), R"({"target":"bus:a","down":false,"under_way":3})");
}

TEST_F(RestTables, ArePausedAndResumed) {
  const auto change = [&](const std::string& verb, const std::string& fields) {
    const auto response = post("/v1/tables/orders/" + verb, fields);
    return response.status == 200 && body(response).at("changed").as_bool();
  };
  EXPECT_TRUE(change("pause", R"({"note":"maintenance"})"));
  EXPECT_FALSE(change("pause", ""));
  EXPECT_TRUE(change("pause", R"({"topic":"t1"})"));
  const auto pauses = body(get("/v1/tables/orders/pauses")).at("pauses").as_array();
  ASSERT_EQ(pauses.size(), 2U);
  EXPECT_TRUE(change("resume", ""));
  EXPECT_FALSE(change("resume", "{}"));
  EXPECT_TRUE(change("resume", R"({"topic":"t1"})"));
  EXPECT_TRUE(body(get("/v1/tables/orders/pauses")).at("pauses").as_array().empty());
}

TEST_F(RestTables, ArePurged) {
  dead();
  const auto purge = [&](const std::string& fields) {
    return post("/v1/tables/orders/purge", fields);
  };
  EXPECT_EQ(refusal(purge(R"({"state":"dead"})")),
            "400 REQUEST.INVALID older_than_seconds: missing; give how long ago they "
            "ended, 0 for all");
  clock_.advance(10s);
  const auto counted = body(purge(R"({"state":"dead","older_than_seconds":5,"dry_run":true})"));
  EXPECT_EQ(counted.at("rows").as_int64(), 1);
  EXPECT_EQ(body(purge(R"({"state":"dead","older_than_seconds":60})")).at("rows").as_int64(), 0);
  EXPECT_EQ(body(purge(R"({"state":"dead","older_than_seconds":5})")).at("rows").as_int64(), 1);
  EXPECT_TRUE(store_.inspect(tables_[0].table).empty());
}

TEST_F(RestAudit, IsExportedAndVerified) {
  for (int acts = 0; acts < 3; ++acts) {
    post("/v1/tables/orders/pause", "");
    post("/v1/tables/orders/resume", "");
  }
  const auto all = get("/v1/audit");
  EXPECT_EQ(all.content_type, "application/x-ndjson");
  EXPECT_EQ(std::ranges::count(all.body, '\n'), 6);
  const auto some = get("/v1/audit?after=2&limit=2");
  EXPECT_EQ(std::ranges::count(some.body, '\n'), 2);
  EXPECT_EQ(audit_from_json(some.body.substr(0, some.body.find('\n'))).value().number, 3U);

  const auto report = body(get("/v1/audit/verify"));
  EXPECT_TRUE(report.at("intact").as_bool());
  EXPECT_EQ(report.at("entries").as_int64(), 6);
  const auto head = report.at("head").as_object();
  const auto anchored =
      body(get("/v1/audit/verify?number=6&hash=" + std::string(head.at("hash").as_string())));
  EXPECT_TRUE(anchored.at("intact").as_bool());
  EXPECT_EQ(anchored.at("entries").as_int64(), 6) << "also those before the anchor";
  const auto earlier = hex(store_.audit().read(2, 1).value().at(0).hash);
  EXPECT_TRUE(body(get("/v1/audit/verify?number=3&hash=" + earlier)).at("intact").as_bool());
  EXPECT_FALSE(
      body(get("/v1/audit/verify?number=9&hash=" + std::string(64, '0'))).at("intact").as_bool());
  EXPECT_EQ(refusal(get("/v1/audit/verify?number=9")),
            "400 REQUEST.INVALID hash: give the 64 hex digits of the anchor's hash");
  EXPECT_EQ(refusal(get("/v1/audit?store=other")),
            "400 REQUEST.INVALID store: \"other\" is not served; there are default");
  store_.remove_audit(1, 6);
  const auto emptied = body(get("/v1/audit/verify?number=3&hash=" + earlier));
  EXPECT_FALSE(emptied.at("intact").as_bool()) << "all deleted, the head left";
  EXPECT_EQ(emptied.at("entries").as_int64(), 0);
}

TEST_F(RestHealth, LiveSaysThatItAnswers) { EXPECT_EQ(get("/health/live").status, 200U); }

TEST_F(RestHealth, WhatWaitsForNoStoreNeedsNoWorker) {
  const auto brief = [&](std::string method, std::string target, std::size_t bytes = 0) {
    const auto admission = api_->admit({.method = std::move(method),
                                        .target = std::move(target),
                                        .headers = {{"host", "localhost"}}});
    EXPECT_FALSE(admission.refused);
    return admission.brief_bytes_max && bytes <= *admission.brief_bytes_max;
  };
  EXPECT_TRUE(brief("GET", "/health/live"));
  EXPECT_TRUE(brief("GET", "/metrics"));
  EXPECT_TRUE(brief("POST", "/v1/tables/orders/messages", 100));
  EXPECT_FALSE(brief("POST", "/v1/tables/orders/messages", 1'000'000)) << "long to read";
  EXPECT_FALSE(brief("GET", "/health/ready"));
  EXPECT_FALSE(brief("GET", "/v1/tables"));
}

TEST_F(RestHealth, ReadyLooksAtWhatWaitsAndAtTheStore) {
  EXPECT_EQ(get("/health/ready").status, 200U);
  const auto id = enqueue("");
  clock_.advance(4min);
  EXPECT_EQ(get("/health/ready").status, 200U);
  clock_.advance(2min);
  const auto stuck = get("/health/ready");
  EXPECT_EQ(stuck.status, 503U);
  EXPECT_NE(stuck.body.find("its oldest message waits for 6m00s, and nothing was delivered for "
                            "6m00s"),
            std::string::npos)
      << stuck.body;
  // Something gets through: one that fails for ever is no reason to send the callers away.
  settle(enqueue(""), spi::Verdict::done);
  clock_.advance(1s);
  EXPECT_EQ(get("/health/ready").status, 200U);
  clock_.advance(61s);
  EXPECT_EQ(get("/health/ready").status, 503U);
  settle(id, spi::Verdict::dead);
  clock_.advance(1s);
  EXPECT_EQ(get("/health/ready").status, 200U);
  clock_.advance(1s);
  store_.set_faults([](memory::Operation) { return memory::Fault::refused; });
  EXPECT_EQ(get("/health/ready").status, 503U);
  EXPECT_EQ(get("/health/live").status, 200U);
}

TEST_F(RestHealth, EverybodyMayAskAndTheStoreIsAskedOnceASecond) {
  int asked = 0;
  store_.set_faults([&](memory::Operation) {
    ++asked;
    return memory::Fault::none;
  });
  for (int caller = 0; caller < 100; ++caller) EXPECT_EQ(get("/health/ready").status, 200U);
  EXPECT_EQ(asked, 2) << "each of the two tables once";
  clock_.advance(1s);
  EXPECT_EQ(get("/health/ready").status, 200U);
  EXPECT_EQ(asked, 4);
}

TEST_F(RestHealth, NotReadyWhileWritesFailThoughReadsDoNot) {
  store_.set_faults([](memory::Operation operation) {
    return operation == memory::Operation::commit ? memory::Fault::refused : memory::Fault::none;
  });
  const std::string order = R"({"topic":"t","payload":1})";
  EXPECT_EQ(post("/v1/tables/orders/messages", order).status, 503U);
  const auto full = get("/health/ready");
  EXPECT_EQ(full.status, 503U);
  EXPECT_NE(full.body.find("its store takes no writes: STORAGE.UNAVAILABLE"), std::string::npos)
      << full.body;
  // Where callers are sent elsewhere, no write tells that it works again.
  clock_.advance(31s);
  EXPECT_EQ(get("/health/ready").status, 200U);
  EXPECT_EQ(post("/v1/tables/orders/messages", order).status, 503U);
  clock_.advance(1s);
  EXPECT_EQ(get("/health/ready").status, 503U);
  store_.set_faults({});
  EXPECT_EQ(post("/v1/tables/orders/messages", order).status, 201U);
  clock_.advance(1s);
  EXPECT_EQ(get("/health/ready").status, 200U);
}

TEST_F(RestHealth, MetricsAreServed) {
  prometheus_->counter("outbox_enqueued_total", {{"table", "orders"}, {"topic", "t"}}).increment();
  const auto scraped = get("/metrics");
  EXPECT_EQ(scraped.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(scraped.body.find("sagabox_outbox_enqueued_total{"), std::string::npos);
}

}  // namespace
}  // namespace sagabox::server
