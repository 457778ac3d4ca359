#pragma once

#include <sagabox/admin.hpp>
#include <sagabox/random.hpp>
#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// A table with messages in every state, without a running relay: what would deliver them is done
/// by hand.
namespace sagabox::integration {

using namespace std::chrono_literals;

inline MessageId id_of(std::string_view text) { return MessageId::parse(text).value(); }

template <class T>
std::string why_not(const Result<T>& result) {
  return result.ok() ? "accepted" : result.error().text();
}

/// What differs between the messages of these tests.
struct Draft {
  std::string id{};
  std::string key{};
  std::string tenant{tenant_default};
  std::string topic = "orders.order.placed.v1";
  std::optional<WallTime> not_before{};
};

class AdminTest : public ::testing::Test {
 protected:
  AdminTest() {
    EXPECT_TRUE(store_.outbox().prepare(orders_).ok());
    const std::vector<spi::Scope> scopes{"outbox:orders"};
    EXPECT_TRUE(store_.ownership().join(relay_, 15s, scopes, 16).ok());
    for (const auto& shard : store_.ownership().take("outbox:orders", relay_, 16).value()) {
      epochs_[shard.shard.value] = shard.epoch;
    }
  }

  Admin admin(std::optional<std::string> tenant = {}, std::string actor = "ann") {
    return Admin::open(store_, {.actor = std::move(actor),
                                .tenant = std::move(tenant),
                                .metrics = &metrics_,
                                .audit = &audit_,
                                .log = &log_,
                                .clock = &clock_})
        .value();
  }

  /// Committed and pending; its payload is `payload_`.
  MessageId write(Draft draft) {
    NewMessage message{.topic = draft.topic,
                       .key = draft.key,
                       .payload = json(payload_),
                       .tenant = draft.tenant,
                       .not_before = draft.not_before,
                       .id = draft.id};
    auto built = std::make_shared<const Message>(
        Message::build(std::move(message), {}, ids_, clock_).value());
    const std::vector messages{built};
    const auto written = store_.transaction(
        [&](OwnedTransaction& tx) { return tx.outbox().insert(orders_, messages); });
    return written.value().front().id;
  }

  void settle(const MessageId& id, spi::Verdict verdict, std::uint32_t attempts = 1,
              Code code = Code::provider_rejected) {
    const auto row = record(id);
    const std::vector<spi::Fence> fences{{row.shard, epochs_.at(row.shard.value)}};
    const std::vector<spi::Settlement> items{{.sequence = row.sequence,
                                              .shard = row.shard,
                                              .id = id,
                                              .verdict = verdict,
                                              .attempts = attempts,
                                              .delay = 10s,
                                              .code = code,
                                              .error = "422 from hooks.example.com"}};
    const auto reply = store_.outbox().settle(
        {.table = orders_, .fencing = {"outbox:orders", relay_, fences}, .items = items});
    ASSERT_EQ(reply.value().parts.front().rows, 1U) << id.view();
  }

  MessageId dead(std::string id, Draft draft = {}, Code code = Code::provider_rejected) {
    draft.id = std::move(id);
    const MessageId written = write(draft);
    settle(written, spi::Verdict::dead, 3, code);
    return written;
  }
  MessageId done(std::string id, Draft draft = {}) {
    draft.id = std::move(id);
    const MessageId written = write(draft);
    settle(written, spi::Verdict::done);
    return written;
  }

  /// Whatever tenant it has.
  MessageRecord record(const MessageId& id) {
    return store_.outbox_admin().find({.table = orders_, .id = id}).value().value();
  }
  MessageState state(const MessageId& id) { return record(id).state; }

  std::vector<AuditEntry> audit_log() { return store_.audit().read(0, 10'000).value(); }
  /// The newest entry of the log.
  AuditEvent last_audit() {
    const auto entries = audit_log();
    EXPECT_FALSE(entries.empty());
    return entries.empty() ? AuditEvent{} : entries.back().event;
  }

  const std::string payload_ = R"({"card":"4111-1111-1111-1111"})";
  testing::FakeClock clock_;
  testing::RecordingMetrics metrics_;
  testing::RecordingAudit audit_;
  testing::RecordingLogger log_;
  memory::MemoryStore store_{{.clock = &clock_}};
  TableName orders_ = TableName::parse("orders").value();
  TableName nowhere_ = TableName::parse("nowhere").value();
  UlidSource ids_{clock_, system_random()};
  WorkerId relay_ = WorkerId::parse("relay-b").value();
  std::map<std::uint16_t, Epoch> epochs_;
};

}  // namespace sagabox::integration
