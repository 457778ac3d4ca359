#include "server/api/openapi_document.hpp"
#include "unit/server/world.hpp"

#include <map>
#include <sstream>

namespace sagabox::server {
namespace {

/// A null must not widen an act to everything, nor leave out what somebody meant to say.
class RestNulls : public ApiTest {
 protected:
  RestNulls() {
    dead(R"("id":"D1","key":"a")");
    dead(R"("id":"D2","key":"b")");
    enqueue(R"("id":"P1")");
  }

  static const json::value& resolved(const json::value& schema) {
    const auto* const reference = schema.as_object().if_contains("$ref");
    if (reference == nullptr) return schema;
    const std::string name(reference->as_string());
    return document()
        .at("components")
        .at("schemas")
        .at(json::string(name.substr(name.rfind('/') + 1)));
  }
  static const json::object& document() {
    static const auto parsed = [] {
      const auto text = openapi_document();
      return json::parse({text.data(), text.size()}).as_object();
    }();
    return parsed;
  }

  /// With null at a place like "/messages/0/topic"; objects on the way are made.
  static json::value with_null(json::value whole, const std::string& pointer) {
    json::value* at = &whole;
    std::istringstream names(pointer.substr(1));
    for (std::string name; std::getline(names, name, '/');) {
      if (at->is_array()) {
        at = &at->as_array().at(0);
        continue;
      }
      if (!at->is_object()) *at = json::object();
      at = &at->as_object()[name];
    }
    *at = nullptr;
    return whole;
  }

  /// Everything that an act could change.
  std::string state() {
    std::string all;
    for (const auto& table : tables_) {
      for (const auto& row : store_.inspect(table.table)) {
        all += row.row.id.str() + " " + std::to_string(static_cast<int>(row.state)) + "\n";
      }
      const auto controls = store_.control().controls(table.table).value();
      all += std::to_string(controls.pauses.size()) + " pauses\n";
      all += std::to_string(store_.control().jobs(table.table).value().size()) + " jobs\n";
    }
    return all + std::to_string(store_.audit().head().value().number) + " acts\n";
  }

  void expect_refused(const std::string& path, const std::string& sent) {
    const auto before = state();
    const auto response = post(path, sent, {{"saga-reply-token", reply_token("s1", "flight")}});
    EXPECT_EQ(response.status, 400U) << path << " " << sent << " " << response.body;
    EXPECT_EQ(state(), before) << path << " " << sent;
  }

  /// Each field of the object that `schema` describes, and of those in it, is null in turn.
  void try_fields(const std::string& path, const json::value& whole, const std::string& pointer,
                  const json::value& schema) {
    const auto& object = resolved(schema).as_object();
    if (const auto* const items = object.if_contains("items")) {
      expect_refused(path, json::serialize(with_null(whole, pointer + "/0")));
      return try_fields(path, whole, pointer + "/0", *items);
    }
    if (!object.contains("properties")) return;
    for (const auto& [name, inner] : object.at("properties").as_object()) {
      const auto field = pointer + "/" + std::string(name);
      // Any JSON value is one of these.
      if (name != "payload" && name != "input" && name != "output") {
        expect_refused(path, json::serialize(with_null(whole, field)));
        ++tried_;
      }
      try_fields(path, whole, field, inner);
    }
  }

  std::size_t tried_ = 0;
};

TEST_F(RestNulls, AreRefusedForEveryFieldOfEveryRequest) {
  // Bodies that are right but for the null.
  const std::map<std::string, std::string> bodies{
      {"pause", R"({"topic":"t","note":"n"})"},
      {"resume", R"({"topic":"t"})"},
      {"purge", R"({"state":"dead","older_than_seconds":0})"},
      {"enqueue", R"({"topic":"t","payload":1})"},
      {"enqueueBatch", R"({"messages":[{"topic":"t","payload":1}]})"},
      {"replayDeadLetters", R"({"ids":["D1"]})"},
      {"quarantineMessages", R"({"ids":["D1"],"note":"n"})"},
      {"releaseMessages", R"({"ids":["D1"]})"},
      {"previewReplay", R"({"from":"dead","filter":{"topic":"t"}})"},
      {"startReplay", R"({"from":"dead","filter":{"topic":"t"}})"},
      {"purgeIdempotencyKeys", R"({"consumer":"c","key":"k"})"},
      {"startSaga", R"({"definition":"travel"})"},
      {"commandSaga", R"({"command":"pause"})"},
      {"purgeSagas", R"({"definition":"travel","older_than_seconds":0})"},
      {"replyToSaga", R"({"result":"ok"})"},
      {"defineSaga", R"({"definition":{}})"},
      {"publishEvent", R"({"type":"a.b.c.v1","payload":1})"},
      {"publishEvents", R"({"events":[{"type":"a.b.c.v1","payload":1}]})"},
      {"createSubscription", R"({"target":"https://example.com/","types":["**"]})"},
      {"changeSubscription", R"({"name":"n"})"},
      {"pauseSubscription", R"({"note":"n"})"},
      {"resumeSubscription", R"({"note":"n"})"},
      {"disableSubscription", R"({"note":"n"})"},
      {"enableSubscription", R"({"note":"n"})"},
      {"verifySubscription", R"({"verify":"challenge"})"},
      {"rotateSecret", R"({"overlap_seconds":1})"},
      {"requeueDeliveries", R"({"ids":["d1"]})"},
      {"requeueMatching", R"({"all":true})"}};
  std::size_t operations = 0;
  for (const auto& [path, methods] : document().at("paths").as_object()) {
    for (const auto& [method, operation] : methods.as_object()) {
      if (method == "get") continue;
      ASSERT_EQ(std::string(method), "post") << "this test must learn of it";
      ++operations;
      std::string target(path);
      for (const auto& [name, value] : std::map<std::string, std::string>{
               {"{table}", "orders"}, {"{id}", "D1"}, {"{job}", "1"}}) {
        if (const auto at = target.find(name); at != std::string::npos) {
          target.replace(at, name.size(), value);
        }
      }
      expect_refused(target, "null");
      expect_refused(target, R"({"unheard_of":null})");
      const auto* const body = operation.as_object().if_contains("requestBody");
      if (body == nullptr) continue;
      const std::string id(operation.at("operationId").as_string());
      ASSERT_TRUE(bodies.contains(id)) << id;
      try_fields(target, json::parse(bodies.at(id)), "",
                 body->at("content").at("application/json").at("schema"));
    }
  }
  EXPECT_GE(operations, 13U);
  EXPECT_GE(tried_, 60U);
}

TEST_F(RestNulls, SayWhichFieldAndWhatToDo) {
  EXPECT_EQ(refusal(post("/v1/tables/orders/pause", R"({"topic":null})")),
            "400 REQUEST.INVALID topic: is null; give a value, or leave it out");
  EXPECT_EQ(refusal(post("/v1/tables/orders/replays", R"({"from":"dead","filter":null})")),
            "400 REQUEST.INVALID filter: is null; give a value, or leave it out");
  EXPECT_EQ(refusal(post("/v1/tables/orders/replays", R"({"filter":{"key":null}})")),
            "400 REQUEST.INVALID filter.key: is null; give a value, or leave it out");
  const auto written = post("/v1/tables/orders/messages", R"({"topic":"t","payload":null})");
  EXPECT_EQ(written.status, 201U) << "null is a payload";
}

/// Also without a null everything must be said, not left out.
TEST_F(RestNulls, AReplayOfEverythingIsSaid) {
  for (const auto* order :
       {"{}", R"({"from":"dead"})", R"({"from":"dead","filter":{}})", R"({"from":"quarantined"})",
        R"({"from":"dead","all":false})", R"({"from":"dead","filter":{"topic":""}})",
        R"({"filter":{"key":""}})", R"({"all":true,"filter":{"key":"a"}})", R"({"all":"yes"})"}) {
    expect_refused("/v1/tables/orders/replays", order);
  }
  EXPECT_EQ(refusal(post("/v1/tables/orders/replays", R"({"from":"dead","filter":{}})")),
            "400 REQUEST.INVALID filter: names no messages; give a topic, a code or another "
            "field of it, or \"all\": true for every message that is dead");
  for (const auto* order : {R"({"from":"dead","all":true})", R"({"all":true,"filter":{}})"}) {
    const auto started = post("/v1/tables/orders/replays", order);
    ASSERT_EQ(started.status, 201U) << started.body;
    EXPECT_EQ(body(started).at("matched").as_int64(), 2);
  }
  EXPECT_EQ(body(post("/v1/tables/orders/replays/preview", "{}")).at("matched").as_int64(), 2)
      << "a look changes nothing";
}

TEST_F(RestNulls, AnEmptyTopicIsNotTheTable) {
  expect_refused("/v1/tables/orders/pause", R"({"topic":""})");
  expect_refused("/v1/tables/orders/resume", R"({"topic":""})");
  EXPECT_EQ(post("/v1/tables/orders/pause", "").status, 200U) << "a topic that is left out is";
}

}  // namespace
}  // namespace sagabox::server
