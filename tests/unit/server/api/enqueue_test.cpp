#include "unit/server/world.hpp"

namespace sagabox::server {
namespace {

class RestEnqueue : public ApiTest {
 protected:
  std::string refused(const std::string& fields) {
    return refusal(post("/v1/tables/orders/messages", fields));
  }
};

TEST_F(RestEnqueue, WritesAMessageWithEveryField) {
  const auto response = post("/v1/tables/orders/messages", R"({
    "topic": "orders.order.placed.v1", "payload": {"n":  1.0, "é": "\u00e9"}, "id": "order-1",
    "key": "k1", "tenant": "acme", "aggregate_type": "order", "aggregate_id": "7",
    "priority": "high", "content_type": "application/vnd.order+json", "headers": {"a": "1"},
    "occurred_at": "2025-12-31T23:00:00+01:00", "not_before": "2026-01-01T01:00:00.5Z",
    "request_id": "r-1", "correlation_id": "c-1"})");
  ASSERT_EQ(response.status, 201U) << response.body;
  EXPECT_EQ(text(body(response), "id"), "order-1");
  EXPECT_FALSE(body(response).at("duplicate").as_bool());
  ASSERT_EQ(response.headers.size(), 1U);
  EXPECT_EQ(response.headers[0].second, "/v1/tables/orders/messages/order-1");

  const auto message = record("order-1").message;
  // Byte for byte as it was sent.
  EXPECT_EQ(message->payload().view(), R"({"n":  1.0, "é": "\u00e9"})");
  EXPECT_EQ(message->tenant(), "acme");
  EXPECT_EQ(message->key(), "k1");
  EXPECT_EQ(message->priority(), Priority::high);
  EXPECT_EQ(message->headers(), (Headers{{"a", "1"}}));
  EXPECT_EQ(message->occurred_at(), WallTime{1'767'218'400s});
  EXPECT_EQ(message->not_before(), WallTime{1'767'229'200'500ms});
  EXPECT_EQ(message->trace().correlation_id, "c-1");
}

TEST_F(RestEnqueue, TakesBytesAsBase64) {
  enqueue(R"("id":"j1")");
  const auto response =
      post("/v1/tables/orders/messages", R"({"topic":"t","payload_base64":"AAH/","id":"b1"})");
  ASSERT_EQ(response.status, 201U) << response.body;
  EXPECT_EQ(record("b1").message->payload().view(), std::string("\0\1\xff", 3));
}

TEST_F(RestEnqueue, RefusesAtOnceWhatTheSchemaOfItsRouteRefuses) {
  tables_[0].check_payload = [](const std::string& topic, const Payload& payload) -> Status {
    if (topic != "t" || payload.view() == "[]") return {};
    return Error{Code::schema_validation_failed, "payload breaks rule type"};
  };
  api_ = make_api(nullptr);
  EXPECT_EQ(refused(R"({"topic":"t","payload":{}})"),
            "400 SCHEMA.VALIDATION_FAILED payload breaks rule type");
  EXPECT_EQ(
      refusal(post("/v1/tables/orders/messages/batch",
                   R"({"messages":[{"topic":"t","payload":[]},{"topic":"t","payload":{}}]})")),
      "400 SCHEMA.VALIDATION_FAILED messages[1].payload breaks rule type");
  EXPECT_EQ(post("/v1/tables/orders/messages", R"({"topic":"t","payload":[]})").status, 201U);
}

TEST_F(RestEnqueue, TheSameIdAgainIsNoSecondMessage) {
  enqueue(R"("id":"once")");
  const auto again = post("/v1/tables/orders/messages", R"({"topic":"t","payload":1,"id":"once"})");
  EXPECT_EQ(again.status, 200U);
  EXPECT_TRUE(body(again).at("duplicate").as_bool());
}

TEST_F(RestEnqueue, KeepsTheTraceOfTheRequest) {
  const std::string parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const auto trace_of = [&](Headers headers, const std::string& fields = "") {
    const auto response = post("/v1/tables/orders/messages",
                               R"({"topic":"t","payload":1)" + fields + "}", std::move(headers));
    return record(text(body(response), "id")).message->trace();
  };
  const auto trace =
      trace_of({{"traceparent", parent}, {"tracestate", "a=1"}, {"x-request-id", "req-9"}});
  EXPECT_EQ(trace.traceparent, parent);
  EXPECT_EQ(trace.tracestate, "a=1");
  EXPECT_EQ(trace.request_id, "req-9");
  EXPECT_EQ(trace_of({{"x-request-id", "req-9"}}, R"(,"request_id":"own")").request_id, "own");
  // A broken one is left out, as W3C has it; the write goes on.
  const auto broken = trace_of({{"traceparent", "nonsense"}, {"tracestate", "a=1"}});
  EXPECT_EQ(broken, TraceContext{});
}

TEST_F(RestEnqueue, SaysWhichFieldIsWrongAndWhatWouldBeRight) {
  const std::string code = "400 REQUEST.INVALID ";
  EXPECT_EQ(refused(R"({"topic":7,"payload":1})"), code + "topic: is a number; give a string");
  EXPECT_EQ(refused(R"({"topic":"t"})"),
            code + "payload: missing; give any JSON value, or payload_base64");
  EXPECT_EQ(refused(R"({"topic":"t","payload":1,"payload_base64":"AA=="})"),
            code + "payload_base64: payload is given too; give one of them");
  EXPECT_EQ(refused(R"({"topic":"t","payload_base64":"*"})"),
            code + "payload_base64: is not base64 with its padding (RFC 4648)");
  EXPECT_EQ(refused(R"({"topic":"t","payload":1,"tpoic":"t"})").substr(0, 55),
            (code + "tpoic: unknown; the fields are topic, payload").substr(0, 55));
  EXPECT_EQ(refused(R"({"topic":"t","payload":1,"priority":"urgent"})"),
            code + "priority: \"urgent\"; give high, normal or low");
  EXPECT_EQ(refused(R"({"topic":"t","payload":1,"not_before":"tomorrow"})"),
            code +
                "not_before: \"tomorrow\" is not a time; give a time like "
                "\"2026-01-01T00:00:00Z\"");
  EXPECT_EQ(refused(R"({"topic":"t","payload":1,"headers":{"a":1}})"),
            code + "headers.a: is a number; give a string");
  EXPECT_EQ(refused(R"({"topic":"t","payload":1,"topic":"u"})"),
            code + "topic: given twice; give it once");
  EXPECT_EQ(refused("[1]"), code + "the body is an array; give an object");
  EXPECT_EQ(refused(R"({"topic":)"),
            code +
                "the body is not valid JSON at byte 10: the value is not complete; give a JSON "
                "object");
  EXPECT_EQ(refused(" "), code + "the body is empty; give a JSON object");
  const auto response = post("/v1/tables/orders/messages", R"({"topic":7,"payload":1})");
  EXPECT_EQ(text(body(response), "field"), "topic");
  EXPECT_TRUE(store_.inspect(tables_[0].table).empty());
}

TEST_F(RestEnqueue, SaysWhichRuleOfMessagesIsBroken) {
  const std::string code = "400 SCHEMA.VALIDATION_FAILED ";
  EXPECT_EQ(refused(R"({"payload":1})"), code + "topic: empty; give 1 to 128 printable characters");
  EXPECT_EQ(refused(R"({"topic":"t","payload":1,"id":"with space"})").substr(0, 32), code + "id:");
  const auto response = post("/v1/tables/orders/messages", R"({"payload":1})");
  EXPECT_EQ(text(body(response), "field"), "topic");
}

TEST_F(RestEnqueue, NeverRepeatsAPayload) {
  const auto response = post("/v1/tables/orders/messages",
                             R"({"topic":"t","payload":{"card":"4111"},"key":{"card":"4111"}})");
  EXPECT_EQ(response.status, 400U);
  EXPECT_EQ(response.body.find("4111"), std::string::npos);
}

TEST_F(RestEnqueue, ABodyOfAnotherTypeIsRefused) {
  const Request plain{.method = "POST",
                      .target = "/v1/tables/orders/messages",
                      .headers = {{"host", "localhost"}, {"content-type", "text/plain"}},
                      .body = R"({"topic":"t","payload":1})"};
  EXPECT_EQ(refusal(api_->handle(plain)),
            "415 REQUEST.UNSUPPORTED_MEDIA_TYPE Content-Type: \"text/plain\" is not taken; give "
            "application/json");
}

TEST_F(RestEnqueue, TheCaseOfAMediaTypeDoesNotMatter) {
  const Request shouted{
      .method = "POST",
      .target = "/v1/tables/orders/messages",
      .headers = {{"host", "localhost"}, {"content-type", "Application/JSON; charset=utf-8"}},
      .body = R"({"topic":"t","payload":1})"};
  EXPECT_NE(api_->handle(shouted).status, 415U);
}

TEST_F(RestEnqueue, ABodyWithoutATypeIsTakenForJson) {
  const Request silent{.method = "POST",
                       .target = "/v1/tables/orders/messages",
                       .headers = {{"host", "localhost"}},
                       .body = R"({"topic":"t","payload":1})"};
  EXPECT_EQ(api_->handle(silent).status, 201U);
}

TEST_F(RestEnqueue, WhatCurlSaysUnlessToldIsTaken) {
  const Request curl{
      .method = "POST",
      .target = "/v1/tables/orders/messages",
      .headers = {{"host", "localhost"}, {"content-type", "application/x-www-form-urlencoded"}},
      .body = R"({"topic":"t","payload":1})"};
  EXPECT_EQ(api_->handle(curl).status, 201U);
}

TEST_F(RestEnqueue, TheFirstTableIsMeantWhenNoneIsNamed) {
  const auto written = post("/v1/messages", R"({"topic":"t","payload":1,"id":"m1"})");
  ASSERT_EQ(written.status, 201U) << written.body;
  EXPECT_EQ(text(body(written), "table"), "orders");
  EXPECT_EQ(get("/v1/messages/m1").status, 200U);
  EXPECT_EQ(get("/v1/dead-letters").status, 200U);
  EXPECT_EQ(get("/v1/nonsense").status, 404U);
  EXPECT_EQ(send({.method = "DELETE", .target = "/v1/messages"}).status, 405U);
}

TEST_F(RestEnqueue, ABatchIsWrittenAsAWhole) {
  const auto response = post("/v1/tables/orders/messages/batch", R"({"messages":[
    {"topic":"t","payload":1,"id":"a"}, {"topic":"t","payload":[2],"id":"b"}]})");
  ASSERT_EQ(response.status, 201U) << response.body;
  EXPECT_EQ(body(response).at("written").as_int64(), 2);
  EXPECT_EQ(record("b").message->payload().view(), "[2]");

  const auto mixed = post("/v1/tables/orders/messages/batch", R"({"messages":[
    {"topic":"t","payload":1,"id":"a"}, {"topic":"t","payload":1,"id":"c"}]})");
  EXPECT_EQ(mixed.status, 201U);
  EXPECT_EQ(body(mixed).at("duplicates").as_int64(), 1);
  const auto known = post("/v1/tables/orders/messages/batch",
                          R"({"messages":[{"topic":"t","payload":1,"id":"a"}]})");
  EXPECT_EQ(known.status, 200U);

  EXPECT_EQ(refusal(post("/v1/tables/orders/messages/batch", R"({"messages":[
    {"topic":"t","payload":1,"id":"d"}, {"topic":7,"payload":1}]})")),
            "400 REQUEST.INVALID messages[1].topic: is a number; give a string");
  EXPECT_EQ(refusal(post("/v1/tables/orders/messages/batch", R"({"messages":[1]})")),
            "400 REQUEST.INVALID messages[0]: is a number; give an object");
  EXPECT_EQ(refusal(post("/v1/tables/orders/messages/batch", R"({"messages":[]})")),
            "400 REQUEST.INVALID messages: 0 given; give an array of 1 to 1000 messages");
  EXPECT_EQ(store_.inspect(tables_[0].table).size(), 3U);
}

TEST_F(RestEnqueue, SaysWhenTheStoreIsAwayOrInDoubt) {
  store_.set_faults([](memory::Operation operation) {
    return operation == memory::Operation::commit ? memory::Fault::lost_after : memory::Fault::none;
  });
  const auto doubtful = post("/v1/tables/orders/messages", R"({"topic":"t","payload":1})");
  EXPECT_EQ(doubtful.status, 500U);
  EXPECT_EQ(text(body(doubtful), "code"), "STORAGE.IN_DOUBT");
  EXPECT_FALSE(body(doubtful).at("retryable").as_bool());
  EXPECT_EQ(store_.inspect(tables_[0].table).size(), 1U);

  store_.set_faults([](memory::Operation) { return memory::Fault::refused; });
  const auto away = post("/v1/tables/orders/messages", R"({"topic":"t","payload":1})");
  EXPECT_EQ(away.status, 503U);
  EXPECT_EQ(away.headers, (Headers{{"Retry-After", "1"}}));
}

TEST_F(RestEnqueue, TablesHaveTheirOwnMessages) {
  EXPECT_EQ(post("/v1/tables/events/messages", R"({"topic":"t","payload":1})").status, 201U);
  EXPECT_TRUE(store_.inspect(tables_[0].table).empty());
  EXPECT_EQ(refusal(post("/v1/tables/nowhere/messages", R"({"topic":"t","payload":1})")),
            "404 REQUEST.NOT_FOUND table \"nowhere\" is not served here; /v1/tables lists "
            "those that are");
}

}  // namespace
}  // namespace sagabox::server
