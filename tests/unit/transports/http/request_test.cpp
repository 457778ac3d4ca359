#include "transports/http/request.hpp"

#include "unit/transports/http/webhook_key.hpp"

#include <sagabox/random.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace sagabox::http {
namespace {

constexpr WallTime now{std::chrono::seconds(1614265330)};

class RequestTest : public ::testing::Test {
 protected:
  std::vector<std::string> lines(NewMessage draft, const spi::AddressSettings& settings = {},
                                 const Headers& credentials = {}) {
    const auto guard = AddressGuard::make({}).value();
    address_ = parse_address("https://host/", settings, {guard, 64, 64}).value();
    if (!draft.payload.given()) draft.payload = json("{}");
    if (draft.topic.empty()) draft.topic = "orders.order.placed.v1";
    message_ = std::make_shared<const Message>(
        Message::build(std::move(draft), {}, ids_, system_clock()).value());
    const spi::Parcel parcel{.message = message_, .table = &table_, .attempt = 2};
    request_.prepare({parcel, *address_, credentials, now});
    std::vector<std::string> all;
    for (const auto* line = request_.headers(); line != nullptr; line = line->next) {
      all.emplace_back(line->data);
    }
    return all;
  }

  static std::size_t count(const std::vector<std::string>& lines, const std::string& line) {
    return static_cast<std::size_t>(std::count(lines.begin(), lines.end(), line));
  }

  Request request_;
  std::shared_ptr<const Message> message_;

 private:
  TableName table_ = TableName::parse("orders").value();
  UlidSource ids_{system_clock(), system_random()};
  std::shared_ptr<HttpAddress> address_;
};

TEST_F(RequestTest, BinaryModeSaysEverythingInHeaders) {
  const auto all =
      lines({.key = "k 1%\"é",
             .payload = bytes("abc"),
             .tenant = "acme",
             .content_type = "text/plain",
             .trace = {.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                       .tracestate = "a=b",
                       .request_id = "r 1",
                       .correlation_id = "c-1"}});
  for (const auto* line :
       {"Content-Type: text/plain", "ce-specversion: 1.0", "ce-type: orders.order.placed.v1",
        "ce-source: /sagabox/orders", "ce-tenant: acme", "ce-outboxattempt: 2",
        "ce-partitionkey: k%201%25%22%C3%A9", "ce-requestid: r%201",
        "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate: a=b",
        "X-Request-Id: r 1", "X-Correlation-Id: c-1", "Expect:"}) {
    EXPECT_EQ(count(all, line), 1U) << line;
  }
  EXPECT_EQ(request_.body(), "abc");
  EXPECT_EQ(request_.body().data(), message_->payload().view().data()) << "it was copied";
}

TEST_F(RequestTest, StructuredModeSaysItInTheBody) {
  const auto all =
      lines({.payload = json("[1, 2]"), .trace = {.request_id = "r-1"}}, {{"mode", "structured"}});
  EXPECT_EQ(count(all, "Content-Type: application/cloudevents+json; charset=utf-8"), 1U);
  EXPECT_EQ(count(all, "X-Request-Id: r-1"), 1U);
  EXPECT_TRUE(std::none_of(all.begin(), all.end(),
                           [](const std::string& line) { return line.starts_with("ce-"); }));
  const auto event = boost::json::parse(request_.body()).as_object();
  EXPECT_EQ(event.at("type").as_string(), "orders.order.placed.v1");
  EXPECT_EQ(event.at("data").as_array().size(), 2U);
}

TEST_F(RequestTest, HeadersOfTheAuthorTravelWhereHttpAllowsIt) {
  const auto all = lines({.headers = {{"x-shop", "Bücher"},
                                      {"x-empty", ""},
                                      {"x space", "no"},
                                      {"x:colon", "no"},
                                      {"Host", "no"},
                                      {"Expect", "no"},
                                      {"Upgrade", "no"},
                                      {"Proxy-Authorization", "no"},
                                      {"ce-id", "no"},
                                      {"größe", "no"}}});
  EXPECT_EQ(count(all, "x-shop: Bücher"), 1U);
  EXPECT_EQ(count(all, "x-empty;"), 1U);
  for (const auto& line : all) EXPECT_EQ(line.find(": no"), std::string::npos) << line;
}

TEST_F(RequestTest, NothingCanBeginALineOfItsOwn) {
  // A row that no check has seen.
  StoredMessage stored{.id = MessageId::parse("1").value()};
  stored.fields = {.topic = "t\r\nx-a: 1",
                   .payload = bytes(""),
                   .tenant = "t\nx-b: 1",
                   .content_type = "text/plain\r\nx-c: 1",
                   .headers = {{"x-d", "1\r\nx-e: 1"}, {"x-f\r\nx-g", "1"}},
                   .occurred_at = now,
                   .trace = {.request_id = "1\r\nx-h: 1"}};
  const auto guard = AddressGuard::make({}).value();
  const auto address = parse_address("https://host/", {}, {guard, 64, 64}).value();
  const auto table = TableName::parse("orders").value();
  const spi::Parcel parcel{
      .message = std::make_shared<const Message>(Message::restore(std::move(stored))),
      .table = &table};
  request_.prepare({parcel, *address, {}, now});
  for (const auto* line = request_.headers(); line != nullptr; line = line->next) {
    EXPECT_EQ(std::string(line->data).find_first_of("\r\n"), std::string::npos) << line->data;
  }
}

TEST_F(RequestTest, RouteStandsAboveTheAuthorAndTheCredentialAboveBoth) {
  const auto all = lines({.headers = {{"x-api-key", "author"}, {"x-other", "author"}}},
                         {{"header.X-Api-Key", "route"}, {"header.X-Other", "route"}},
                         {{"X-API-KEY", "credential"}});
  EXPECT_EQ(count(all, "X-API-KEY: credential"), 1U);
  EXPECT_EQ(count(all, "X-Other: route"), 1U);
  for (const auto& line : all) EXPECT_EQ(line.find("author"), std::string::npos) << line;
  EXPECT_EQ(count(all, "X-Api-Key: route"), 0U);
}

TEST_F(RequestTest, SignedOverIdTimeAndTheBodyAsItIsSent) {
  const auto all =
      lines({.payload = json("{\"test\": 2432232314}"), .id = "msg_p5jXN8AQM9LWM0D4loKWxJek"},
            {{"secret", webhook_key}});
  EXPECT_EQ(count(all, "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek"), 1U);
  EXPECT_EQ(count(all, "webhook-timestamp: 1614265330"), 1U);
  EXPECT_EQ(count(all, "webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="), 1U);
}

TEST_F(RequestTest, WithoutASecretNothingIsSigned) {
  for (const auto& line : lines({})) EXPECT_FALSE(line.starts_with("webhook-")) << line;
}

TEST_F(RequestTest, UsedAgainItForgetsWhatItHad) {
  lines({.payload = json("\"" + std::string(200'000, 'x') + "\""), .headers = {{"x-shop", "1"}}},
        {{"mode", "structured"}, {"secret", webhook_key}});
  request_.clear();
  const auto all = lines({.payload = bytes("2")});
  EXPECT_EQ(request_.body(), "2");
  EXPECT_EQ(count(all, "x-shop: 1"), 0U);
  EXPECT_EQ(count(all, "Content-Type: application/octet-stream"), 1U);
}

}  // namespace
}  // namespace sagabox::http
