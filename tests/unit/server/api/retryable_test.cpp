#include "core/http_status.hpp"
#include "server/api/problem.hpp"
#include "unit/server/world.hpp"

namespace sagabox::server {
namespace {

/// `retryable` is what a client goes by when nobody looks: true where the same request may be
/// sent again and can succeed, false where it would be refused for ever.
class RestRetryable : public ApiTest {
 protected:
  struct Asked {
    std::string method;
    std::string target;
    std::string body{};
  };

  static bool retryable(const Response& response) {
    return body(response).at("retryable").as_bool();
  }
  Response ask(const Asked& asked) {
    return send({.method = asked.method, .target = asked.target, .body = asked.body});
  }
  /// Refused however often it is sent, and said so.
  void expect_final(unsigned status, const Asked& asked) {
    for (int again = 0; again < 3; ++again) {
      const auto response = ask(asked);
      ASSERT_EQ(response.status, status) << asked.target << " " << response.body;
      EXPECT_FALSE(retryable(response)) << response.body;
    }
  }
};

TEST_F(RestRetryable, WhatCannotSucceedIsNot) {
  const std::string orders = "/v1/tables/orders";
  const auto pending = enqueue("");
  dead();
  // 400, 404, 405
  expect_final(400, {"POST", orders + "/messages", R"({"topic":7,"payload":1})"});
  expect_final(400, {"POST", orders + "/messages", "no JSON"});
  expect_final(400, {"POST", orders + "/replays", R"({"from":"pending"})"});
  expect_final(400, {"POST", orders + "/purge", R"({"state":"pending","older_than_seconds":0})"});
  expect_final(400, {"GET", orders + "/messages?limit=0"});
  expect_final(404, {"GET", "/v1/tables/nowhere"});
  expect_final(404, {"GET", "/v1/nothing"});
  expect_final(404, {"GET", orders + "/messages/unknown"});
  expect_final(404, {"POST", orders + "/replays/9/stop"});
  expect_final(404, {"GET", "/v1/stores/none/findings"});
  expect_final(405, {"DELETE", orders});
  // 409
  expect_final(409, {"POST", orders + "/dead-letters/" + pending + "/replay"});
  const auto started = body(post(orders + "/replays", R"({"all":true})"));
  const auto job = orders + "/replays/" + std::to_string(started.at("job").to_number<int>());
  EXPECT_EQ(post(job + "/stop", "").status, 200U);
  expect_final(409, {"POST", job + "/stop"});
  EXPECT_EQ(post(job + "/resume", "").status, 200U);
  expect_final(409, {"POST", job + "/resume"});
  // 415
  const auto form =
      api_->handle({.method = "POST",
                    .target = orders + "/messages",
                    .headers = {{"host", "localhost"}, {"content-type", "text/plain"}},
                    .body = "x"});
  EXPECT_EQ(form.status, 415U);
  EXPECT_FALSE(retryable(form));
}

TEST_F(RestRetryable, EachKindOfRefusalHasItsCode) {
  const std::string orders = "/v1/tables/orders";
  const auto code = [&](const Asked& asked) { return text(body(ask(asked)), "code"); };
  const auto pending = enqueue("");
  EXPECT_EQ(code({"GET", orders + "/messages?limit=0"}), "REQUEST.INVALID");
  EXPECT_EQ(code({"POST", orders + "/messages", "no JSON"}), "REQUEST.INVALID");
  EXPECT_EQ(code({"POST", orders + "/messages", R"({"payload":1})"}), "SCHEMA.VALIDATION_FAILED");
  EXPECT_EQ(code({"GET", "/v1/nothing"}), "REQUEST.NOT_FOUND");
  EXPECT_EQ(code({"GET", "/v1/tables/nowhere"}), "REQUEST.NOT_FOUND");
  EXPECT_EQ(code({"GET", orders + "/messages/unknown"}), "REQUEST.NOT_FOUND");
  EXPECT_EQ(code({"GET", orders + "/replays/9"}), "REQUEST.NOT_FOUND");
  EXPECT_EQ(code({"DELETE", orders}), "REQUEST.METHOD_NOT_ALLOWED");
  EXPECT_EQ(code({"POST", orders + "/dead-letters/" + pending + "/replay"}), "TX.INVALID_STATE");
}

TEST_F(RestRetryable, WhatPassesIs) {
  // Another transaction writes the same id, and has not ended yet.
  auto other = store_.connect();
  ASSERT_TRUE(other.begin().ok());
  auto open = memory::enlist(other).value();
  ASSERT_TRUE(
      orders_.write(open, {.topic = "t", .payload = sagabox::json("1"), .id = "same"}).ok());
  const Asked same{"POST", "/v1/tables/orders/messages",
                   R"({"topic":"t","payload":1,"id":"same"})"};
  const auto conflict = ask(same);
  EXPECT_EQ(refusal(conflict).substr(0, 20), "409 STORAGE.CONFLICT");
  EXPECT_TRUE(retryable(conflict));
  ASSERT_TRUE(other.commit().ok());
  EXPECT_EQ(ask(same).status, 200U) << "as was promised";

  // The store is away for a while.
  store_.set_faults([](memory::Operation) { return memory::Fault::refused; });
  const Asked count{"GET", "/v1/tables/orders/count?state=dead"};
  const auto away = ask(count);
  EXPECT_EQ(away.status, 503U);
  EXPECT_TRUE(retryable(away));
  store_.set_faults({});
  EXPECT_EQ(ask(count).status, 200U);
}

TEST_F(RestRetryable, WhatIsInDoubtIsLookedAtFirst) {
  store_.set_faults([](memory::Operation operation) {
    return operation == memory::Operation::set_pause ? memory::Fault::lost_after
                                                     : memory::Fault::none;
  });
  const auto doubtful = ask({"POST", "/v1/tables/orders/pause"});
  EXPECT_EQ(doubtful.status, 500U);
  EXPECT_FALSE(retryable(doubtful));
}

/// A client's own fault stays one, whatever it is; only what passes by itself is excepted.
TEST(Problems, OnlyWhatPassesIsRetryableAmongTheRefusals) {
  for (std::size_t at = 0; at < code_count; ++at) {
    const auto code = static_cast<Code>(at);
    const auto status = http_status_of(code);
    if (status >= 500) continue;
    const bool passes = code == Code::storage_conflict || code == Code::tx_idempotent_busy ||
                        code == Code::tx_no_subscribers;
    EXPECT_EQ(is_retry_safe(code), passes) << code_name(code);
  }
}

}  // namespace
}  // namespace sagabox::server
