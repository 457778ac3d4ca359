#include "support/saga_hand.hpp"
#include "support/sqlite_database.hpp"
#include "unit/server/world.hpp"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

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

TEST_F(RestSagas, OneThatDoesNotGoOnInThisProcessIsNamedWithTheReason) {
  saga_findings_.push_back({.definition = "travel",
                            .saga = SagaId::parse("s1").value(),
                            .code = Code::config_invalid,
                            .text = "it runs version 7 of travel; register that version, too"});
  const auto explanation = body(get("/v1/sagas/s1/explain"));
  const auto& reason = explanation.at("reasons").at(0).as_object();
  EXPECT_EQ(text(reason, "why"), "definition_gone");
  EXPECT_NE(text(reason, "text").find("version 7"), std::string::npos);
  const auto findings = body(get("/v1/stores/default/findings"));
  const auto& last = findings.at("findings").as_array().back().as_object();
  EXPECT_NE(text(last, "what").find("saga s1 of travel does not go on"), std::string::npos);
  EXPECT_EQ(text(last, "cure"), "sagabox saga explain s1");
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

/// A participant, which has no key but the token of its call.
class RestSagaReplies : public RestSagas {
 protected:
  RestSagaReplies() {
    auto saga = hand_.load("s1");
    saga.steps.at(0).state = SagaStepState::waiting;
    saga.steps.at(0).output.clear();
    hand_.write(saga, {});
    use_key({.name = "somebody", .role = Role::admin});
    key_.clear();
  }
  Response reply(const std::string& token, const std::string& body_text, Headers headers = {},
                 int wait_ms = 0) {
    headers.emplace_back("saga-reply-token", token);
    return post("/v1/saga-replies?wait_ms=" + std::to_string(wait_ms), body_text,
                std::move(headers));
  }
  std::vector<SagaCommand> written() { return store_.saga_admin()->pending(id_, 100).value(); }
  /// As its owner answers what was written last.
  void answer(bool applied, std::string reason = {}) {
    hand_.write(hand_.load("s1"), {.applied = applied, .reason = std::move(reason)});
  }

  const SagaId id_ = SagaId::parse("s1").value();
  const std::string flight_ = reply_token("s1", "flight");
};

TEST_F(RestSagaReplies, TheTokenOfACallIsEnough) {
  EXPECT_EQ(get("/v1/sagas/s1").status, 401U) << "a key is needed for everything else";
  const auto answer = reply(flight_, R"({"output":{"seat":"12A"}})");
  EXPECT_EQ(answer.status, 202U) << answer.body;
  EXPECT_EQ(text(body(answer), "result"), "pending");
  const auto commands = written();
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].kind, SagaCommandKind::reply);
  EXPECT_EQ(commands[0].tenant, "default");
  EXPECT_NE(commands[0].body.find(R"("step":"flight","direction":"action","round":0)"),
            std::string::npos)
      << commands[0].body;
  EXPECT_NE(commands[0].body.find(R"("seat":"12A")"), std::string::npos);
}

TEST_F(RestSagaReplies, MayBeSentAgainWithAKey) {
  const Headers key{{"idempotency-key", "reply-1"}};
  EXPECT_EQ(reply(flight_, "{}", key).status, 202U);
  EXPECT_EQ(reply(flight_, "{}", key).status, 202U);
  const auto commands = written();
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_EQ(commands[0].id, commands[1].id) << "it is one command";
  const auto other = reply(flight_, "{}", {{"idempotency-key", "reply-2"}});
  EXPECT_NE(written().back().id, commands[0].id);
  (void)reply(flight_, R"({"result":"retry"})", key);
  EXPECT_NE(written().back().id, commands[0].id) << "another answer is another command";
}

TEST_F(RestSagaReplies, ThatWaitLeaveTheWaitsOfOperatorsAlone) {
  api_ = make_api(nullptr);
  const auto soon = [&](std::size_t commands) {
    while (written().size() < commands) std::this_thread::sleep_for(1ms);
  };
  std::vector<std::jthread> participants;
  for (int number = 0; number < 3; ++number) {
    participants.emplace_back([&] { (void)reply(flight_, "{}", {}, 5000); });
  }
  soon(3);
  std::atomic<unsigned> status = 0;
  std::jthread person([&] {
    status = post("/v1/sagas/s1/commands?wait_ms=5000", R"({"command":"pause"})").status;
  });
  soon(4);
  // One that does not wait is answered at once.
  for (int look = 0; look < 20 && status == 0; ++look) std::this_thread::sleep_for(5ms);
  answer(true);
  person.join();
  EXPECT_EQ(status, 200U) << "202: it was pending, as if too many acts waited";
}

TEST_F(RestSagaReplies, MayComeWithATokenOfTheSecretBefore) {
  replies_.secret_before = std::exchange(replies_.secret, "the secret of this year");
  api_ = make_api(nullptr);
  EXPECT_EQ(reply(flight_, "{}").status, 202U);
  replies_.secret_before.clear();
  api_ = make_api(nullptr);
  EXPECT_EQ(reply(flight_, "{}").status, 403U);
}

TEST_F(RestSagaReplies, SaysWhatBecameOfIt) {
  const Headers key{{"idempotency-key", "reply-1"}};
  EXPECT_EQ(text(body(reply(flight_, "{}", key)), "result"), "pending");
  answer(true);
  const auto applied = reply(flight_, "{}", key);
  EXPECT_EQ(applied.status, 200U);
  EXPECT_EQ(text(body(applied), "result"), "applied");
}

TEST_F(RestSagaReplies, ToAStepThatIsNoLongerCurrentIsTakenAndIgnored) {
  const Headers key{{"idempotency-key", "late"}};
  EXPECT_EQ(reply(flight_, "{}", key).status, 202U);
  answer(false, "TX.INVALID_STATE: step \"flight\" does not wait for one; the reply is ignored");
  const auto late = reply(flight_, "{}", key);
  EXPECT_EQ(late.status, 200U) << late.body;
  EXPECT_EQ(late.body, "{\"result\":\"ignored\"}\n") << "and says nothing of the saga";
  const auto gone = reply(reply_token("purged", "flight"), "{}");
  EXPECT_EQ(text(body(gone), "result"), "ignored");
}

TEST_F(RestSagaReplies, WithoutARightTokenIsRefusedInTheSameWordsAndWritesNothing) {
  auto forged = flight_;
  forged.back() = forged.back() == '0' ? '1' : '0';
  auto other_step = flight_;
  other_step[30] = other_step[30] == 'A' ? 'B' : 'A';
  const auto expired = reply_token("s1", "flight", 0s);
  replies_.secret = "the secret of another service";
  const auto foreign = reply_token("s1", "flight");
  std::set<std::string> said;
  for (const auto& token : {std::string(), std::string("abc"), forged, other_step, expired, foreign,
                            std::string(5000, 'a')}) {
    said.insert(refusal(reply(token, R"({"output":1})")));
  }
  EXPECT_EQ(said, std::set<std::string>{
                      "403 AUTH.DENIED this is not a reply token of ours; pass on the one that "
                      "came with the call, as it was"});
  EXPECT_TRUE(written().empty());
  replies_ = {};
  api_ = make_api(nullptr);
  EXPECT_EQ(reply(flight_, "{}").status, 403U) << "this daemon runs no sagas";
}

TEST_F(RestSagaReplies, IsRefusedByTheHeaderBeforeTheBodyComes) {
  Request request{.method = "POST", .target = "/v1/saga-replies"};
  request.headers = {{"host", "localhost:8700"}, {"content-length", "10"}};
  EXPECT_EQ(api_->admit(request).refused.value().status, 403U);
  request.headers.emplace_back("saga-reply-token", flight_);
  EXPECT_FALSE(api_->admit(request).refused);
  request.headers[1].second = "999999999";
  EXPECT_EQ(api_->admit(request).refused.value().status, 413U);
  const auto large = reply(flight_, "{\"output\":\"" + std::string(400 * 1024, 'x') + "\"}");
  EXPECT_EQ(large.status, 413U) << "whatever its length was said to be";
}

TEST_F(RestSagaReplies, AreBoundedForEachStep) {
  int taken = 0;
  for (int sent = 0; sent < 50; ++sent) taken += reply(flight_, "{}").status == 202U ? 1 : 0;
  EXPECT_EQ(taken, 10);
  const auto refused = reply(flight_, "{}");
  EXPECT_EQ(refused.status, 429U);
  EXPECT_EQ(refusal(refused).substr(0, 15), "429 SERVER.BUSY");
  EXPECT_EQ(reply(reply_token("s1", "approve"), "{}").status, 202U) << "others may";
  clock_.advance(1s);
  EXPECT_EQ(reply(flight_, "{}").status, 202U);
}

TEST_F(RestSagaReplies, SaysWhatIsWrongWithTheAnswer) {
  EXPECT_EQ(refusal(reply(flight_, R"({"result":"perhaps"})")),
            "400 REQUEST.INVALID result: \"perhaps\"; give ok, retry or fail");
  EXPECT_EQ(reply(flight_, R"({"step":"hotel"})").status, 400U) << "the token says which";
  EXPECT_EQ(reply(flight_, "no json").status, 400U);
  EXPECT_EQ(reply(flight_, "").status, 202U) << "done, without an output";
  EXPECT_EQ(
      reply(flight_, R"({"result":"retry","error":"closed","retry_after_seconds":90})").status,
      202U);
  EXPECT_NE(written().back().body.find(R"("retry_after_ms":90000)"), std::string::npos);
}

}  // namespace
}  // namespace sagabox::server
