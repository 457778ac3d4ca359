#pragma once

#include "server/api/api.hpp"

#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>
#include <sagabox/testing/recording.hpp>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::server {

using namespace std::chrono_literals;
namespace json = boost::json;

/// Two tables on a store in memory, without a relay: what would deliver is done by hand.
class ApiTest : public ::testing::Test {
 protected:
  ApiTest() {
    for (auto* outbox : {&orders_, &events_}) {
      tables_.push_back(
          {.table = TableName::parse(outbox == &orders_ ? "orders" : "events").value(),
           .store = &store_,
           .outbox = always(*outbox)});
    }
    const std::vector<spi::Scope> scopes{"outbox:orders"};
    EXPECT_TRUE(store_.ownership().join(relay_, 15s, scopes, 16).ok());
    for (const auto& shard : store_.ownership().take("outbox:orders", relay_, 16).value()) {
      epochs_[shard.shard.value] = shard.epoch;
    }
    api_ = make_api(nullptr);
  }

  std::unique_ptr<Api> make_api(std::unique_ptr<KeyRing> keys) {
    ApiOptions options{.tables = tables_};
    options.exposition = prometheus_.get();
    options.metrics = &metrics_;
    options.audit = &audit_;
    options.log = &log_;
    options.clock = &clock_;
    options.destinations = [this] { return destinations_; };
    options.saga_findings = [this](const Store&) { return saga_findings_; };
    options.idempotency = idempotency_;
    options.saga_replies = replies_;
    options.hub = hub_;
    return std::make_unique<Api>(std::move(options), std::move(keys));
  }

  Response send(Request request) {
    request.headers.emplace_back("host", "localhost:8700");
    if (!request.body.empty()) request.headers.emplace_back("content-type", "application/json");
    if (!key_.empty()) request.headers.emplace_back("authorization", "Bearer " + key_);
    return api_->handle(request);
  }
  Response get(std::string target) { return send({.method = "GET", .target = std::move(target)}); }
  Response post(std::string target, std::string body, Headers headers = {}) {
    return send({.method = "POST",
                 .target = std::move(target),
                 .headers = std::move(headers),
                 .body = std::move(body)});
  }
  static json::object body(const Response& response) {
    return json::parse(response.body).as_object();
  }
  static std::string text(const json::object& object, std::string_view name) {
    const auto* found = object.if_contains({name.data(), name.size()});
    return found == nullptr ? "(none)" : std::string(found->as_string());
  }
  /// "400 REQUEST.INVALID topic: what is wrong with it".
  static std::string refusal(const Response& response) {
    EXPECT_EQ(response.content_type, "application/problem+json") << response.body;
    if (response.content_type != "application/problem+json") return response.body;
    const auto problem = body(response);
    EXPECT_EQ(problem.at("status").to_number<unsigned>(), response.status);
    return std::to_string(response.status) + " " + text(problem, "code") + " " +
           text(problem, "detail");
  }

  /// Of the first call of a step.
  [[nodiscard]] std::string reply_token(const std::string& saga, const std::string& step,
                                        Duration ttl = 1h) const {
    return saga::reply_token(
        {.saga = SagaId::parse(saga).value(),
         .definition = "travel",
         .tenant = "default",
         .step = step,
         .expires_at = clock_.wall_now() + std::chrono::floor<WallTime::duration>(ttl)},
        replies_.secret);
  }

  std::string enqueue(const std::string& fields) {
    const auto response = post("/v1/tables/orders/messages",
                               R"({"topic":"orders.order.placed.v1","payload":{"n":1})" +
                                   (fields.empty() ? "" : "," + fields) + "}");
    EXPECT_EQ(response.status, 201U) << response.body;
    return text(body(response), "id");
  }
  void settle(const std::string& id, spi::Verdict verdict, std::uint32_t attempts = 3) {
    const auto row = record(id);
    const std::vector<spi::Fence> fences{{row.shard, epochs_.at(row.shard.value)}};
    const std::vector<spi::Settlement> items{{.sequence = row.sequence,
                                              .shard = row.shard,
                                              .id = row.id,
                                              .verdict = verdict,
                                              .attempts = attempts,
                                              .delay = 10s,
                                              .code = Code::provider_rejected,
                                              .error = "422 from hooks.example.com"}};
    const auto reply = store_.outbox().settle(
        {.table = tables_[0].table, .fencing = {"outbox:orders", relay_, fences}, .items = items});
    ASSERT_EQ(reply.value().parts.front().rows, 1U) << id;
  }
  std::string dead(const std::string& fields = "") {
    auto id = enqueue(fields);
    settle(id, spi::Verdict::dead);
    return id;
  }
  /// Writes it again, as a plain INSERT may once it has ended; returns the new sequence.
  Sequence write_again(const std::string& id) {
    const auto message = record(id).message;
    return store_
        .transaction([&](OwnedTransaction& tx) {
          return tx.outbox().insert(tables_[0].table, std::span(&message, 1));
        })
        .value()
        .front()
        .sequence;
  }
  MessageRecord record(const std::string& id) {
    return store_.outbox_admin()
        .find({.table = tables_[0].table, .id = MessageId::parse(id).value(), .with_payload = true})
        .value()
        .value();
  }

  testing::FakeClock clock_;
  testing::RecordingMetrics metrics_;
  testing::RecordingAudit audit_;
  testing::RecordingLogger log_;
  std::unique_ptr<PrometheusMetrics> prometheus_ = PrometheusMetrics::create();
  memory::MemoryStore store_{{.clock = &clock_}};
  Outbox orders_ = Outbox::writer_only(store_, outbox_options("orders")).value();
  Outbox events_ = Outbox::writer_only(store_, outbox_options("events")).value();
  WorkerId relay_ = WorkerId::parse("relay-b").value();
  std::map<std::uint16_t, Epoch> epochs_;
  std::vector<ServedTable> tables_;
  std::vector<DestinationState> destinations_;
  std::vector<SagaFinding> saga_findings_;
  std::optional<HttpIdempotencyOptions> idempotency_;
  std::optional<ServedHub> hub_;
  SagaReplyOptions replies_{.store = &store_, .secret = "a secret of this test"};
  std::unique_ptr<Api> api_;
  std::string key_;

 private:
  OutboxOptions outbox_options(std::string table) {
    OutboxOptions options;
    options.table = std::move(table);
    options.clock = &clock_;
    options.metrics = &metrics_;
    return options;
  }
};

}  // namespace sagabox::server
