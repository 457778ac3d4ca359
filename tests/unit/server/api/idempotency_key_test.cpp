#include "idempotency/request_purge.hpp"
#include "server/api/routes.hpp"
#include "support/sqlite_database.hpp"
#include "unit/server/world.hpp"

#include <set>
#include <string>
#include <vector>

namespace sagabox::server {
namespace {

class RestIdempotencyKey : public ApiTest {
 protected:
  RestIdempotencyKey() {
    idempotency_ = HttpIdempotencyOptions{};
    api_ = make_api(nullptr);
  }
  Response enqueue_with(const std::string& key, const std::string& fields = "") {
    return post("/v1/tables/orders/messages",
                R"({"topic":"orders.order.placed.v1","payload":{"n":1})" + fields + "}",
                {{"idempotency-key", key}});
  }
  std::uint64_t pending() {
    return body(get("/v1/tables/orders/count?state=pending"))
        .at("count")
        .to_number<std::uint64_t>();
  }
};

TEST_F(RestIdempotencyKey, RepetitionWritesNothingAndGetsTheSameAnswer) {
  const auto first = enqueue_with("k-1");
  ASSERT_EQ(first.status, 201U) << first.body;
  const auto again = enqueue_with("k-1");
  EXPECT_EQ(again.status, 201U);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(again.headers, first.headers);
  EXPECT_EQ(again.content_type, first.content_type);
  EXPECT_EQ(pending(), 1U);
  EXPECT_EQ(enqueue_with("k-2").status, 201U);
  EXPECT_EQ(pending(), 2U);
}

TEST_F(RestIdempotencyKey, AnotherPayloadIs422) {
  ASSERT_EQ(enqueue_with("k-1").status, 201U);
  EXPECT_EQ(refusal(enqueue_with("k-1", R"(,"key":"x")")),
            "422 TX.IDEMPOTENT_MISMATCH Idempotency-Key: it was used for another request; give "
            "each request a key of its own");
  EXPECT_EQ(pending(), 1U);
}

TEST_F(RestIdempotencyKey, WhatRunsNowIs409) {
  HttpIdempotency same(*store_.idempotency(), *idempotency_);
  const std::string text = R"({"topic":"orders.order.placed.v1","payload":{"n":1}})";
  ASSERT_TRUE(same.begin({.method = "POST",
                          .target = "/v1/tables/orders/messages",
                          .body = text,
                          .keys = {"k-1"},
                          .caller = "local"})
                  .ok());
  const auto busy = enqueue_with("k-1");
  EXPECT_EQ(refusal(busy),
            "409 TX.IDEMPOTENT_BUSY this request is being worked on; ask again with the same key");
  EXPECT_EQ(busy.headers, (Headers{{"Retry-After", "1"}}));

  // Its process is gone.
  clock_.advance(2min + 1ms);
  EXPECT_EQ(enqueue_with("k-1").status, 201U);
  EXPECT_EQ(pending(), 1U);
}

TEST_F(RestIdempotencyKey, WrittenButNotKeptIsNotWrittenTwice) {
  // As if the process had ended after the commit, before the answer was kept.
  store_.set_faults([](memory::Operation operation) {
    return operation == memory::Operation::idempotency_end ? memory::Fault::lost_before
                                                           : memory::Fault::none;
  });
  const auto first = enqueue_with("k-1");
  ASSERT_EQ(first.status, 201U) << "it was written, so that is the answer";
  EXPECT_EQ(log_.count("answer not kept"), 1U);
  store_.set_faults({});
  EXPECT_EQ(enqueue_with("k-1").status, 409U);

  clock_.advance(2min + 1ms);
  const auto again = enqueue_with("k-1");
  EXPECT_EQ(again.status, 200U) << "its id was there already";
  EXPECT_EQ(text(body(again), "id"), text(body(first), "id"));
  EXPECT_EQ(pending(), 1U);
}

TEST_F(RestIdempotencyKey, MessagesOfABatchHaveIdsOfTheirOwn) {
  const std::string message = R"({"topic":"orders.order.placed.v1","payload":{"n":1}})";
  const auto batch = R"({"messages":[)" + message + "," + message + "]}";
  const auto first = post("/v1/tables/orders/messages/batch", batch, {{"idempotency-key", "k-1"}});
  ASSERT_EQ(first.status, 201U) << first.body;
  EXPECT_EQ(pending(), 2U);
  EXPECT_EQ(post("/v1/tables/orders/messages/batch", batch, {{"idempotency-key", "k-1"}}).body,
            first.body);
  EXPECT_EQ(pending(), 2U);
}

TEST_F(RestIdempotencyKey, EveryWriteTakesOne) {
  const auto id = dead();
  const auto target = "/v1/tables/orders/dead-letters/" + id + "/replay";
  const auto first = post(target, "", {{"idempotency-key", "k-1"}});
  ASSERT_LT(first.status, 300U) << first.body;
  const auto again = post(target, "", {{"idempotency-key", "k-1"}});
  EXPECT_EQ(again.status, first.status);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(post(target, "", {{"idempotency-key", "k-2"}}).status, 409U)
      << "it is not dead any more";
}

TEST_F(RestIdempotencyKey, EveryWriteToATableIsRepeatedByteForByteAndDoneOnce) {
  const auto first_dead = dead();
  const auto second_dead = dead();
  const auto to_isolate = enqueue("");
  const auto ids = [](const std::string& id) { return R"({"ids":[")" + id + R"("])"; };
  const std::string message = R"({"topic":"orders.order.placed.v1","payload":{"n":1})";
  struct Write {
    std::string operation;
    std::string target;
    std::string body;  ///< without its closing brace
  };
  // In this order: some need what those before them did.
  const std::vector<Write> writes{
      {"enqueue", "messages", message},
      {"enqueueBatch", "messages/batch", R"({"messages":[)" + message + "}]"},
      {"replayDeadLetter", "dead-letters/" + first_dead + "/replay", "{"},
      {"replayDeadLetters", "dead-letters/replay", ids(second_dead)},
      {"quarantineMessages", "dead-letters/quarantine", ids(to_isolate) + R"(,"note":"looked at")"},
      {"releaseMessages", "dead-letters/release", ids(to_isolate)},
      {"pause", "pause", R"({"topic":"orders.order.placed.v1")"},
      {"resume", "resume", R"({"topic":"orders.order.placed.v1")"},
      {"startReplay", "replays", R"({"from":"dead","all":true)"},
      {"stopReplay", "replays/1/stop", "{"},
      {"resumeReplay", "replays/1/resume", "{"},
      {"purge", "purge", R"({"older_than_seconds":3600)"},
  };
  std::set<std::string> tried;
  for (const auto& write : writes) {
    SCOPED_TRACE(write.operation);
    tried.insert(write.operation);
    const auto target = "/v1/tables/orders/" + write.target;
    const auto keyed = [&](const std::string& end) {
      return post(target, write.body + end, {{"idempotency-key", write.operation}});
    };
    const auto first = keyed("}");
    ASSERT_LT(first.status, 300U) << first.body;
    const auto acts = get("/v1/audit");
    ASSERT_EQ(acts.status, 200U) << acts.body;
    const auto again = keyed("}");
    EXPECT_EQ(again.status, first.status);
    EXPECT_EQ(again.body, first.body);
    EXPECT_EQ(again.headers, first.headers);
    EXPECT_EQ(get("/v1/audit").body, acts.body) << "done twice";
    const auto other = keyed(" }");
    EXPECT_EQ(other.status, 422U) << other.body;
  }
  for (const auto& route : routes()) {
    if (!route.writes() || !route.path.starts_with("/v1/tables/")) continue;
    EXPECT_TRUE(tried.contains(std::string(route.operation))) << route.operation;
  }
}

TEST_F(RestIdempotencyKey, ExpiredKeysAreRemovedAndCountedByTheUpkeepAlone) {
  ASSERT_EQ(enqueue_with("old").status, 201U);
  clock_.advance(25h);
  ASSERT_EQ(enqueue_with("k-1").status, 201U);
  api_ = make_api(nullptr);  // what it had to do behind its answers is done
  EXPECT_EQ(store_.idempotency()->list({}).value().size(), 2U);
  idempotency::RequestPurge purge(store_, {.metrics = &metrics_, .clock = &clock_});
  while (purge.step()) {
  }
  const auto keys = store_.idempotency()->list({}).value();
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(keys.front().key.key, "k-1");
  EXPECT_EQ(metrics_.counter_value("idempotency_purged_total", {{"kind", "request"}}), 1);
}

TEST_F(RestIdempotencyKey, WrongKeyIs400) {
  EXPECT_EQ(refusal(enqueue_with("a b")),
            "400 REQUEST.INVALID Idempotency-Key: character 2 is not allowed; give 1 to 255 "
            "printable ASCII characters, for instance a UUID, with or without quotes");
  EXPECT_EQ(pending(), 0U);
}

TEST_F(RestIdempotencyKey, MissingWhereItIsRequiredIs400) {
  idempotency_->required = true;
  api_ = make_api(nullptr);
  const auto refused = post("/v1/tables/orders/messages", R"({"topic":"t.t.t.v1","payload":1})");
  EXPECT_EQ(refused.status, 400U);
  EXPECT_NE(refused.body.find("Idempotency-Key: missing"), std::string::npos) << refused.body;
  EXPECT_EQ(get("/v1/tables/orders/messages").status, 200U) << "reading needs none";
  const auto elsewhere = post("/v1/idempotency-keys/purge", R"({"consumer":"rest:local"})");
  EXPECT_NE(elsewhere.body.find("Idempotency-Key: missing"), std::string::npos) << elsewhere.body;
}

TEST_F(RestIdempotencyKey, IsKnownPerApiKeyAndTenant) {
  const testing::SqliteFolder folder;
  KeyFile file(folder.file("keys"));
  const auto random = seeded_random(7);
  const auto create = [&](NewKey key) {
    return file.create(std::move(key), *random, clock_).value().secret;
  };
  const auto ann = create({.name = "ann", .role = Role::operate});
  const auto bob = create({.name = "bob", .role = Role::operate});
  const auto acme = create({.name = "acme", .role = Role::operate, .tenant = "acme"});
  api_ = make_api(KeyRing::open(file, {.clock = &clock_, .log = &log_}).value());
  std::set<std::string> answers;
  for (const auto& key : {ann, bob, acme}) {
    key_ = key;
    answers.insert(enqueue_with("k-1").body);
    EXPECT_EQ(enqueue_with("k-1").status, 201U);
  }
  EXPECT_EQ(answers.size(), 3U);
  EXPECT_TRUE(store_.idempotency()->list({.tenant = std::string("acme")}).value().size() == 1U);
}

TEST_F(RestIdempotencyKey, RefusalIsTheAnswerToTheSameRequest) {
  const auto refused = post("/v1/tables/orders/messages", R"({"topic":"","payload":1})",
                            {{"idempotency-key", "k-1"}});
  ASSERT_EQ(refused.status, 400U);
  const auto again = post("/v1/tables/orders/messages", R"({"topic":"","payload":1})",
                          {{"idempotency-key", "k-1"}});
  EXPECT_EQ(again.body, refused.body);
}

}  // namespace
}  // namespace sagabox::server
