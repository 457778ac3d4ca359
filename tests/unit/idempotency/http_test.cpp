#include <sagabox/idempotency_http.hpp>
#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <variant>

namespace sagabox {
namespace {

using namespace std::chrono_literals;

class HttpIdempotencyTest : public ::testing::Test {
 protected:
  HttpKeyedRequest order(std::string_view key, std::string_view body = R"({"what":"chairs"})") {
    HttpKeyedRequest request{.method = "POST", .target = "/orders", .body = body};
    if (!key.empty()) request.keys = {key};
    request.caller = "shop";
    return request;
  }
  HttpIdempotency::Pass let_through(const HttpKeyedRequest& request) {
    auto begun = keys.begin(request);
    EXPECT_TRUE(begun.ok()) << begun.error().text();
    EXPECT_TRUE(std::holds_alternative<HttpIdempotency::Pass>(*begun));
    return std::get<HttpIdempotency::Pass>(*begun);
  }
  std::optional<HttpAnswer> kept(const HttpKeyedRequest& request) {
    auto begun = keys.begin(request);
    if (!begun.ok() || !std::holds_alternative<HttpAnswer>(*begun)) return std::nullopt;
    return std::get<HttpAnswer>(*begun);
  }
  Code refused(const HttpKeyedRequest& request) {
    const auto begun = keys.begin(request);
    EXPECT_FALSE(begun.ok());
    return begun.ok() ? Code::unknown_internal : begun.error().code;
  }

  testing::FakeClock clock;
  memory::MemoryStore store{{.clock = &clock}};
  HttpIdempotency keys{*store.idempotency(),
                       {.lease = 2min, .ttl = 1h, .answer_bytes_max = 200, .clock = &clock}};
  const HttpAnswer created{
      .status = 201,
      .headers = {{"Content-Type", "application/json"}, {"Location", "/orders/7"}},
      .body = std::string("{\"id\":7}\n\0\r\n\n", 13)};
};

TEST_F(HttpIdempotencyTest, RepetitionGetsTheFirstAnswerByteForByte) {
  const auto pass = let_through(order("k-1"));
  ASSERT_TRUE(keys.finish(pass, created).ok());
  EXPECT_EQ(kept(order("k-1")), created);
  EXPECT_EQ(kept(order("\"k-1\"")), created) << "with quotes it is the same key";
}

TEST_F(HttpIdempotencyTest, LostAnswersOfTheStoreAreAskedForAgain) {
  std::map<memory::Operation, int> asked;
  store.set_faults([&](memory::Operation operation) {
    return ++asked[operation] == 1 ? memory::Fault::lost_after : memory::Fault::none;
  });
  const auto pass = let_through(order("k-1"));
  ASSERT_TRUE(keys.finish(pass, created).ok());
  EXPECT_EQ(asked[memory::Operation::idempotency_end], 2);
  EXPECT_EQ(kept(order("k-1")), created);
}

TEST_F(HttpIdempotencyTest, AStoreThatTakesAllItsTimeIsAskedOnce) {
  std::map<memory::Operation, int> asked;
  store.set_faults([&](memory::Operation operation) {
    ++asked[operation];
    clock.advance(10s);
    return memory::Fault::lost_after;
  });
  EXPECT_EQ(refused(order("k-1")), Code::storage_in_doubt);
  EXPECT_EQ(asked[memory::Operation::idempotency_check], 1) << "it would hold its worker twice";
}

TEST_F(HttpIdempotencyTest, WhatRunsNowIsBusyAndTakenOverOnceAfterItsLease) {
  const auto first = let_through(order("k-1"));
  EXPECT_EQ(refused(order("k-1")), Code::tx_idempotent_busy);
  clock.advance(2min + 1ms);
  const auto second = let_through(order("k-1"));
  EXPECT_EQ(second.first_at, first.first_at) << "what is made from it stays the same";
  EXPECT_EQ(refused(order("k-1")), Code::tx_idempotent_busy);
  EXPECT_EQ(keys.finish(first, {.status = 200, .body = "late"}).error().code, Code::tx_lease_lost);
  ASSERT_TRUE(keys.finish(second, created).ok());
  EXPECT_EQ(kept(order("k-1")), created);
}

TEST_F(HttpIdempotencyTest, AnotherRequestWithTheKeyIsRefused) {
  const auto pass = let_through(order("k-1"));
  EXPECT_EQ(refused(order("k-1", R"({"what":"tables"})")), Code::tx_idempotent_mismatch);
  ASSERT_TRUE(keys.finish(pass, created).ok());
  EXPECT_EQ(refused(order("k-1", R"({"what":"tables"})")), Code::tx_idempotent_mismatch);
  auto elsewhere = order("k-1");
  elsewhere.target = "/orders?dry=1";
  EXPECT_EQ(refused(elsewhere), Code::tx_idempotent_mismatch);
  elsewhere = order("k-1");
  elsewhere.method = "PUT";
  EXPECT_EQ(refused(elsewhere), Code::tx_idempotent_mismatch);
}

TEST_F(HttpIdempotencyTest, CallersAndTenantsHaveKeysOfTheirOwn) {
  ASSERT_TRUE(keys.finish(let_through(order("k-1")), created).ok());
  auto other = order("k-1");
  other.caller = "office";
  let_through(other);
  other = order("k-1");
  other.tenant = "acme";
  let_through(other);
}

TEST_F(HttpIdempotencyTest, AnAnswerForNowLetsTheRequestThroughAgain) {
  for (const unsigned status : {500U, 503U, 429U, 409U, 408U, 425U}) {
    ASSERT_TRUE(keys.finish(let_through(order("k-1")), {.status = status}).ok()) << status;
  }
  const HttpAnswer refusal{.status = 422, .body = "no such thing"};
  ASSERT_TRUE(keys.finish(let_through(order("k-1")), refusal).ok());
  EXPECT_EQ(kept(order("k-1")), refusal) << "the same request would be refused again";
}

TEST_F(HttpIdempotencyTest, AnswerTooLargeToKeepIsGivenOnceAndNeverRunAgain) {
  ASSERT_TRUE(
      keys.finish(let_through(order("k-1")), {.status = 200, .body = std::string(201, 'x')}).ok());
  EXPECT_EQ(
      kept(order("k-1")),
      (HttpAnswer{.status = 200,
                  .headers = {{"Content-Type", "application/json"}},
                  .body = R"({"detail":"done before; the answer was too large to be kept"})"}));
}

TEST_F(HttpIdempotencyTest, WhatDescribedABodyThatIsTooLargeIsNotKept) {
  HttpAnswer large{.status = 201, .headers = {{"Location", "/orders/7"}}};
  for (const auto* name :
       {"content-type", "Content-Encoding", "CONTENT-LENGTH", "Content-Range", "Content-MD5",
        "Content-Language", "Content-Location", "Content-Disposition", "Content-Digest",
        "Repr-Digest", "Digest", "ETag", "Last-Modified", "Transfer-Encoding", "Trailer"}) {
    large.headers.emplace_back(name, "x");
  }
  large.headers.emplace_back("Content-Security-Policy", "default-src 'self'");
  large.body = std::string(201, 'x');
  ASSERT_TRUE(keys.finish(let_through(order("k-1")), large).ok());
  const auto again = kept(order("k-1"));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->headers, (Headers{{"Location", "/orders/7"},
                                     {"Content-Security-Policy", "default-src 'self'"},
                                     {"Content-Type", "application/json"}}));
}

TEST_F(HttpIdempotencyTest, AnswerThatCannotBeKeptIsNeverRunAgain) {
  ASSERT_TRUE(
      keys.finish(let_through(order("k-1")), {.status = 200, .headers = {{"a", "b\nc"}}}).ok());
  EXPECT_EQ(refused(order("k-1")), Code::tx_idempotent_hit);
}

TEST_F(HttpIdempotencyTest, CountsWhatBecameOfRequests) {
  testing::RecordingMetrics metrics;
  HttpIdempotency counted(*store.idempotency(), {.service = "shop", .metrics = &metrics});
  const auto pass = std::get<HttpIdempotency::Pass>(counted.begin(order("k-1")).value());
  EXPECT_FALSE(counted.begin(order("k-1")).ok());
  EXPECT_FALSE(counted.begin(order("k-1", "other")).ok());
  ASSERT_TRUE(counted.finish(pass, created).ok());
  EXPECT_TRUE(counted.begin(order("k-1")).ok());
  EXPECT_EQ(metrics.counter_sum("idempotency_hits_total"), 1);
  EXPECT_EQ(metrics.counter_sum("idempotency_conflicts_total"), 2);
  EXPECT_EQ(metrics.counter_sum("idempotency_runs_total"), 1);
}

TEST_F(HttpIdempotencyTest, CallerThatIsNoNameIsRefused) {
  auto request = order("k-1");
  request.caller = "a\nb";
  EXPECT_EQ(refused(request), Code::schema_validation_failed);
}

TEST_F(HttpIdempotencyTest, KeyIsForgottenAfterItsTime) {
  ASSERT_TRUE(keys.finish(let_through(order("k-1")), created).ok());
  clock.advance(1h);
  let_through(order("k-1", R"({"what":"tables"})"));
}

TEST_F(HttpIdempotencyTest, WithoutAKeyEverythingRunsUnlessOneIsRequired) {
  for (int i = 0; i < 2; ++i) {
    const auto pass = let_through(order(""));
    EXPECT_FALSE(pass.key);
    EXPECT_TRUE(keys.finish(pass, created).ok());
  }
  HttpIdempotency strict(*store.idempotency(), {.required = true});
  const auto begun = strict.begin(order(""));
  ASSERT_FALSE(begun.ok());
  EXPECT_EQ(begun.error().code, Code::request_invalid);
  EXPECT_EQ(begun.error().message,
            "Idempotency-Key: missing, and this request needs one; give 1 to 255 printable ASCII "
            "characters, for instance a UUID, with or without quotes");
}

TEST_F(HttpIdempotencyTest, WrongKeysAreNamed) {
  auto twice = order("a");
  twice.keys.emplace_back("b");
  EXPECT_EQ(refused(twice), Code::request_invalid);
  const auto problem = [](std::string_view value) {
    const auto key = parse_idempotency_key(value);
    EXPECT_FALSE(key.ok()) << value;
    return key.ok() ? "" : key.error().message.substr(0, key.error().message.find(';'));
  };
  EXPECT_EQ(problem(""), "Idempotency-Key: empty");
  EXPECT_EQ(problem("\"\""), "Idempotency-Key: empty");
  EXPECT_EQ(problem("\"a"), "Idempotency-Key: its closing quote is missing");
  EXPECT_EQ(problem("\""), "Idempotency-Key: its closing quote is missing");
  EXPECT_EQ(problem("\"a\"b\""), "Idempotency-Key: something follows its closing quote");
  EXPECT_EQ(problem("\"a\\b\""),
            "Idempotency-Key: a backslash in it must be followed by a quote or a backslash");
  EXPECT_EQ(problem("a b"), "Idempotency-Key: character 2 is not allowed");
  EXPECT_EQ(problem(std::string(256, 'a')), "Idempotency-Key: 256 characters");
  EXPECT_EQ(parse_idempotency_key(R"("a\"b\\c")").value(), R"(a"b\c)");
  EXPECT_EQ(parse_idempotency_key(std::string(255, 'a')).value(), std::string(255, 'a'));
}

TEST_F(HttpIdempotencyTest, ProblemsSayTheStatusAndWhetherToComeBack) {
  const auto busy = http_problem({Code::tx_idempotent_busy, "wait"});
  EXPECT_EQ(busy.status, 409U);
  EXPECT_EQ(busy.headers.back(), (std::pair<std::string, std::string>("Retry-After", "1")));
  EXPECT_EQ(http_problem({Code::tx_idempotent_mismatch, "no"}).status, 422U);
  EXPECT_EQ(http_problem({Code::request_invalid, "no"}).status, 400U);
  const auto down = http_problem({Code::storage_unavailable, "host db-7 refused"});
  EXPECT_EQ(down.status, 503U);
  EXPECT_EQ(down.body.find("db-7"), std::string::npos) << "what is ours is not told to strangers";
}

TEST(HttpIdempotencyOptions, NameWhatIsWrong) {
  EXPECT_TRUE(HttpIdempotencyOptions{}.check().ok());
  EXPECT_EQ(HttpIdempotencyOptions{.service = ""}.check().error().message,
            "service must have 1 to 32 letters, digits, _ and -; it is part of every key");
  EXPECT_FALSE(HttpIdempotencyOptions{.service = "shop:eu"}.check().ok())
      << "it would be the key of service shop and a caller eu:…";
  EXPECT_EQ(HttpIdempotencyOptions{.lease = 0s}.check().error().message,
            "lease must be more than 0; give for instance 2m");
  EXPECT_EQ((HttpIdempotencyOptions{.lease = 2min, .ttl = 1min}.check().error().message),
            "ttl must be at least as long as lease; give for instance 24h");
}

}  // namespace
}  // namespace sagabox
