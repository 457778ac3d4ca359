#include "support/saga_hand.hpp"
#include "support/sqlite_database.hpp"
#include "unit/server/world.hpp"

namespace sagabox::server {
namespace {

SagaDefinition travel() {
  return {.name = "travel",
          .version = 3,
          .steps = {{.name = "flight", .action = "fn:book", .compensation = "fn:cancel"},
                    {.name = "approve", .wait = SagaWait::approval}}};
}

/// What operators and services see of sagas, whose owner is played by hand.
class RestSagas : public ApiTest {
 protected:
  RestSagas() {
    auto saga = hand_.fresh("s1");
    saga.key = "trip-77";
    saga.labels = {{"order", "77"}};
    saga.steps.at(0).state = SagaStepState::succeeded;
    saga.steps.at(0).output = R"({"seat":"12A"})";
    saga.steps.at(1).state = SagaStepState::waiting;
    hand_.begin(saga);
  }
  Response command(const std::string& fields, const std::string& saga = "s1",
                   Headers headers = {}) {
    return post("/v1/sagas/" + saga + "/commands?wait_ms=0", fields, std::move(headers));
  }
  std::string listed(const std::string& query) {
    const auto answer = get("/v1/sagas" + query);
    if (answer.status != 200) return refusal(answer);
    std::string list;
    const auto page = body(answer);
    for (const auto& one : page.at("sagas").as_array()) {
      list += text(one.as_object(), "id") + " ";
    }
    return list;
  }
  /// A key of that tenant, used from now on.
  void use_key(NewKey key) {
    KeyFile file(folder_.file("keys"));
    const auto random = seeded_random(7);
    key_ = file.create(std::move(key), *random, clock_).value().secret;
    api_ = make_api(KeyRing::open(file, {.clock = &clock_, .log = &log_}).value());
  }

  const testing::SqliteFolder folder_;
  testing::SagaHand hand_{store_, travel()};
};

TEST_F(RestSagas, ListsByEveryFilterPageByPage) {
  auto other = hand_.fresh("s2");
  other.tenant = "acme";
  other.quarantined = true;
  other.state = SagaState::failed;
  hand_.begin(other);
  EXPECT_EQ(listed(""), "s1 s2 ");
  EXPECT_EQ(listed("?tenant=acme"), "s2 ");
  EXPECT_EQ(listed("?definition=lodging"), "");
  EXPECT_EQ(listed("?state=failed"), "s2 ");
  EXPECT_EQ(listed("?quarantined=false"), "s1 ");
  EXPECT_EQ(listed("?label=order%3D77"), "s1 ");
  EXPECT_EQ(listed("?key=trip-77"), "s1 ");
  EXPECT_EQ(listed("?until=1960-01-01T00:00:00Z"), "");
  EXPECT_EQ(text(body(get("/v1/sagas?limit=1")), "next"), "s1");
  EXPECT_EQ(listed("?limit=1&cursor=s1"), "s2 ");
  const auto counts = body(get("/v1/sagas/count")).at("counts").as_array();
  EXPECT_EQ(counts.size(), 2U);
}

TEST_F(RestSagas, SaysWhatIsWrongWithTheQuestion) {
  EXPECT_EQ(listed("?state=done"),
            "400 REQUEST.INVALID state: \"done\"; give running, compensating, paused, completed, "
            "cancelled or failed");
  EXPECT_EQ(listed("?label=order"), "400 REQUEST.INVALID label: \"order\"; give NAME=VALUE");
  EXPECT_EQ(listed("?quarantined=maybe"),
            "400 REQUEST.INVALID quarantined: \"maybe\"; give true or false");
  EXPECT_EQ(refusal(get("/v1/sagas/nobody")), "404 REQUEST.NOT_FOUND saga \"nobody\" is not there");
  EXPECT_EQ(get("/v1/sagas/nobody/history").status, 404U);
  EXPECT_EQ(get("/v1/sagas/nobody/explain").status, 404U);
  EXPECT_EQ(command(R"({"command":"pause"})", "nobody").status, 404U);
}

TEST_F(RestSagas, ShowsStepsAndPayloadsOnlyWhereAsked) {
  const auto saga = body(get("/v1/sagas/s1"));
  EXPECT_EQ(text(saga, "key"), "trip-77");
  EXPECT_EQ(saga.at("labels").at("order").as_string(), "77");
  const auto& flight = saga.at("steps").at(0).as_object();
  EXPECT_EQ(text(flight, "name"), "flight");
  EXPECT_EQ(text(flight, "state"), "succeeded");
  EXPECT_FALSE(flight.contains("output"));
  EXPECT_FALSE(saga.contains("input"));
  const auto all = body(get("/v1/sagas/s1?payload=true"));
  EXPECT_EQ(all.at("input").at("customer").as_int64(), 17);
  EXPECT_EQ(all.at("steps").at(0).at("output").at("seat").as_string(), "12A");

  use_key({.name = "looker", .role = Role::read});
  EXPECT_EQ(get("/v1/sagas/s1").status, 200U);
  EXPECT_EQ(get("/v1/sagas/s1?payload=true").status, 403U);
}

TEST_F(RestSagas, ExplainsWhatItWaitsFor) {
  const auto explanation = body(get("/v1/sagas/s1/explain"));
  const auto& reason = explanation.at("reasons").at(0).as_object();
  EXPECT_EQ(text(reason, "why"), "waits_approval");
  EXPECT_EQ(text(reason, "step"), "approve");
  EXPECT_EQ(text(explanation, "owner").substr(0, 14), "orchestrator-a");
}

TEST_F(RestSagas, ACommandIsPendingThenAppliedOrRefused) {
  const std::string approve = R"({"command":"approve","step":"approve","command_id":"c1"})";
  const auto pending = command(approve);
  ASSERT_EQ(pending.status, 202U) << pending.body;
  EXPECT_EQ(text(body(pending), "result"), "pending");
  const auto waiting = body(get("/v1/sagas/s1/commands"));
  EXPECT_EQ(text(waiting.at("commands").at(0).as_object(), "kind"), "approve");

  hand_.write(hand_.load("s1"), {.applied = true});
  const auto applied = command(approve);
  EXPECT_EQ(applied.status, 200U) << applied.body;
  EXPECT_EQ(text(body(applied), "result"), "applied");

  const std::string cancel = R"({"command":"cancel","command_id":"c2","note":"no longer"})";
  ASSERT_EQ(command(cancel).status, 202U);
  hand_.write(hand_.load("s1"), {.applied = false, .reason = "it is past its pivot"});
  EXPECT_EQ(refusal(command(cancel)), "409 TX.INVALID_STATE refused: it is past its pivot");
}

TEST_F(RestSagas, ARefusalKeepsItsCode) {
  const std::string start = R"({"definition":"travel","key":"k","command_id":"c1"})";
  ASSERT_EQ(post("/v1/sagas?wait_ms=0", start).status, 202U);
  auto saga = hand_.fresh(hand_.inbox().front().saga.view());
  saga.shard = hand_.inbox().front().shard;
  hand_.write(saga, {.applied = false,
                     .reason = "TX.IDEMPOTENT_MISMATCH: the key was used with another input"});
  EXPECT_EQ(refusal(post("/v1/sagas?wait_ms=0", start)),
            "422 TX.IDEMPOTENT_MISMATCH refused: the key was used with another input");
}

TEST_F(RestSagas, StartsByKeyHaveOneId) {
  const auto id = [&](const std::string& fields, Headers headers = {}) {
    const auto answer =
        post("/v1/sagas?wait_ms=0", R"({"definition":"travel")" + fields + "}", std::move(headers));
    if (answer.status != 202) return refusal(answer);
    EXPECT_EQ(answer.headers.front().second, "/v1/sagas/" + text(body(answer), "saga"));
    return text(body(answer), "saga");
  };
  const auto known = saga_id_of("default", "travel", "trip-78").str();
  EXPECT_EQ(id(R"(,"key":"trip-78","input":{"customer":1})"), known);
  EXPECT_EQ(id("", {{"idempotency-key", "\"trip-78\""}}), known);
  EXPECT_NE(id(""), id(""));
  EXPECT_EQ(id(R"(,"key":"a")", {{"idempotency-key", "b"}}),
            "400 REQUEST.INVALID key: differs from the header Idempotency-Key; give one of them");
  EXPECT_EQ(id("", {{"idempotency-key", "a b"}}).substr(0, 19), "400 REQUEST.INVALID");
  EXPECT_EQ(hand_.inbox().size(), 4U);
}

TEST_F(RestSagas, StartsByCommandIdHaveOneId) {
  const auto id = [&](const std::string& fields) {
    const auto answer = post("/v1/sagas?wait_ms=0", R"({"definition":"travel")" + fields + "}");
    return answer.status == 202 ? text(body(answer), "saga") : refusal(answer);
  };
  const auto first = id(R"(,"command_id":"c1")");
  EXPECT_EQ(id(R"(,"command_id":"c1")"), first);
  EXPECT_NE(id(R"(,"command_id":"c2")"), first);
  EXPECT_NE(id(R"(,"key":"c1")"), first);
  EXPECT_EQ(id(R"(,"command_id":"c3","key":"k")"), saga_id_of("default", "travel", "k").str());
}

TEST_F(RestSagas, OnlyAKnownDefinitionIsStarted) {
  EXPECT_EQ(refusal(post("/v1/sagas?wait_ms=0", R"({"definition":"travel","version":4})")),
            "404 REQUEST.NOT_FOUND definition: \"travel\" version 4 is not stored here; sagabox "
            "saga define FILE stores one");
  EXPECT_EQ(post("/v1/sagas?wait_ms=0", R"({"definition":"lodging"})").status, 404U);
  EXPECT_EQ(hand_.inbox().size(), 0U);
}

TEST_F(RestSagas, ACommandWithAKeyIsOneCommand) {
  const std::string signal = R"({"command":"signal","signal":"paid","payload":{"sum":1}})";
  const auto first = command(signal, "s1", {{"idempotency-key", "k1"}});
  const auto again = command(signal, "s1", {{"idempotency-key", "k1"}});
  const auto other = command(signal, "s1", {{"idempotency-key", "k2"}});
  ASSERT_EQ(first.status, 202U) << first.body;
  EXPECT_EQ(first.body, again.body);
  EXPECT_NE(first.body, other.body);
}

TEST_F(RestSagas, ACommandWithAResultIsNotWrittenAgain) {
  const std::string pause = R"({"command":"pause","command_id":"c1"})";
  ASSERT_EQ(command(pause).status, 202U);
  hand_.write(hand_.load("s1"), {.applied = true});
  EXPECT_EQ(text(body(command(pause)), "result"), "applied");
  EXPECT_EQ(hand_.inbox().size(), 0U);
}

TEST_F(RestSagas, ACommandIdOfAnotherSagaIsRefused) {
  hand_.begin(hand_.fresh("s2"));
  const std::string pause = R"({"command":"pause","command_id":"c1"})";
  ASSERT_EQ(command(pause).status, 202U);
  ASSERT_EQ(command(pause, "s2").status, 202U);
  hand_.write(hand_.load("s1"), {.applied = true});
  EXPECT_EQ(command(pause).status, 200U);
  EXPECT_EQ(refusal(command(pause, "s2")),
            "422 TX.IDEMPOTENT_MISMATCH command id \"c1\": this command id was used for another "
            "saga; give each command its own");
  EXPECT_EQ(hand_.inbox().size(), 1U);
}

TEST_F(RestSagas, BodiesOfCommandsAreChecked) {
  const auto says = [&](const std::string& fields) { return refusal(command(fields)); };
  EXPECT_EQ(says("{}").substr(0, 34), "400 REQUEST.INVALID command: is mi");
  EXPECT_EQ(says(R"({"command":"explode"})"),
            "400 REQUEST.INVALID command: \"explode\"; give pause, resume, cancel, compensate, "
            "signal, approve, deny, set_step, replay, quarantine, release or reply");
  EXPECT_EQ(says(R"({"command":"pause","step":"a"})").substr(0, 24), "400 REQUEST.INVALID step");
  EXPECT_EQ(says(R"({"command":"set_step","step":"a","state":"odd"})"),
            "400 REQUEST.INVALID state: \"odd\"; give pending, succeeded, failed, undone or "
            "skipped");
  EXPECT_EQ(says(R"({"command":"signal"})"), "400 REQUEST.INVALID signal: is missing");
  EXPECT_EQ(hand_.inbox().size(), 0U);
}

TEST_F(RestSagas, BelongToTheirTenant) {
  auto other = hand_.fresh("s2");
  other.tenant = "acme";
  hand_.begin(other);
  use_key({.name = "acme", .role = Role::admin, .tenant = "acme", .payloads = true});
  EXPECT_EQ(listed(""), "s2 ");
  EXPECT_EQ(refusal(get("/v1/sagas?tenant=default")).substr(0, 15), "403 AUTH.DENIED");
  for (const auto* const below : {"", "/history", "/explain"}) {
    EXPECT_EQ(get("/v1/sagas/s2" + std::string(below)).status, 200U) << below;
    EXPECT_EQ(get("/v1/sagas/s1" + std::string(below)).status, 404U) << below;
  }
  EXPECT_EQ(command(R"({"command":"pause"})", "s1").status, 404U);
  EXPECT_EQ(command(R"({"command":"pause"})", "s2").status, 202U);
  const auto started = post("/v1/sagas?wait_ms=0", R"({"definition":"travel","key":"k"})");
  EXPECT_EQ(text(body(started), "saga"), saga_id_of("acme", "travel", "k").str());
  EXPECT_EQ(post("/v1/sagas?wait_ms=0", R"({"definition":"travel","tenant":"default"})").status,
            403U);
  EXPECT_EQ(post("/v1/sagas/purge", R"({"definition":"travel","older_than_seconds":0})").status,
            403U);
  EXPECT_EQ(body(get("/v1/sagas/count")).at("counts").as_array().size(), 1U);
  const auto definitions = body(get("/v1/saga-definitions"));
  EXPECT_FALSE(definitions.at("definitions").at(0).as_object().contains("definition"));
}

TEST_F(RestSagas, DefinitionsAreStoredAndNeverChange) {
  const auto define = [&](const std::string& steps) {
    return post("/v1/saga-definitions",
                R"({"definition":{"saga":"lodging","version":1,"steps":[)" + steps + "]}}");
  };
  const auto stored = define(R"({"name":"hotel","action":"fn:book","compensation":"none"})");
  ASSERT_EQ(stored.status, 201U) << stored.body;
  EXPECT_EQ(text(body(stored), "name"), "lodging");
  EXPECT_EQ(define(R"({"name":"hotel","action":"fn:book","compensation":"none"})").status, 201U);
  EXPECT_EQ(refusal(define(R"({"name":"hotel","action":"fn:other","compensation":"none"})"))
                .substr(0, 20),
            "409 TX.INVALID_STATE");
  EXPECT_EQ(refusal(define(R"({"name":"hotel","action":"fn:book"})")).substr(0, 19),
            "400 REQUEST.INVALID")
      << "compensation is missing";
  EXPECT_EQ(body(get("/v1/saga-definitions?name=lodging")).at("definitions").as_array().size(), 1U);
}

TEST_F(RestSagas, PurgeRemovesWhatEndedWell) {
  auto saga = hand_.load("s1");
  saga.state = SagaState::completed;
  saga.ended_at = store_.outbox_admin().stats(tables_[0].table).value().now;
  hand_.write(saga, {});
  EXPECT_EQ(post("/v1/sagas/purge", R"({"definition":"travel"})").status, 400U);
  clock_.advance(2h);
  const auto purged =
      post("/v1/sagas/purge", R"({"definition":"travel","older_than_seconds":3600})");
  EXPECT_EQ(body(purged).at("purged").as_int64(), 1) << purged.body;
  EXPECT_EQ(listed(""), "");
}

}  // namespace
}  // namespace sagabox::server
