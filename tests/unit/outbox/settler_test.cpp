#include "outbox/settler.hpp"

#include "outbox/relay.hpp"
#include "ownership/worker.hpp"
#include "support/forwarding.hpp"

#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace sagabox::outbox {
namespace {

using std::chrono::seconds;

/// Refuses every settle that has one of these messages in it, as a rule of a table would.
class RefusingStore final : public testing::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<spi::SettleReply> settle(const spi::SettleRequest& request) override {
    ++calls;
    for (const auto& item : request.items) {
      if (refuses_all || refused.contains(item.id.str())) {
        return Error{code, "value refused constraint only_even"};
      }
    }
    return ForwardingStore::settle(request);
  }

  std::set<std::string> refused;
  bool refuses_all = false;
  Code code = Code::schema_validation_failed;
  int calls = 0;
};

/// A relay that owns its shards; the test calls its steps and says what time it is.
class SettlerTest : public ::testing::Test {
 protected:
  static constexpr std::size_t messages = 200;

  void SetUp() override {
    store.outbox().prepare(table).value();
    relay.attach(worker);
    while (worker.step()) {
    }
    relay.controls().apply(relay.controls().perform(), now());
    auto writer = Outbox::writer_only(store, {.table = table.str()}).value();
    std::vector<NewMessage> drafts(messages, {.topic = "a.b.c.v1", .payload = json("{}")});
    written = store
                  .transaction(
                      [&](OwnedTransaction& tx) { return writer.write_all(tx, std::move(drafts)); })
                  .value();
    relay.wake();
    handle_everything();
  }
  void handle_everything() {
    while (const auto plan = relay.intake().plan(now())) {
      relay.intake().apply(*plan, relay.intake().perform(*plan), now());
    }
    auto& runner = relay.dispatcher().runner(0);
    while (relay.dispatcher().take(runner, now()) == Dispatcher::Took::handler) {
      relay.dispatcher().complete(runner, done(), now());
    }
  }
  /// All that is to be done at that time.
  void settle(BootTime at) {
    while (auto plan = relay.settler().plan(at)) {
      auto reply = relay.settler().perform(*plan);
      relay.settler().apply(std::move(*plan), std::move(reply), at);
    }
  }
  [[nodiscard]] BootTime now() const { return options.clock->boot_now(); }
  [[nodiscard]] std::uint64_t settled() { return store.outbox_admin().stats(table).value().done; }
  [[nodiscard]] std::vector<std::string> held_back() const {
    std::vector<std::string> named;
    for (const auto& line : log.lines()) {
      if (!line.event.starts_with("the store refuses")) continue;
      EXPECT_NE(line.fields.at("error").find("only_even"), std::string::npos);
      named.push_back(line.fields.at("message"));
    }
    return named;
  }

  memory::MemoryStore store;
  RefusingStore refusing{store.outbox()};
  testing::RecordingLogger log;
  TableName table = TableName::parse("orders").value();
  OutboxOptions options{.log = &log};
  Registry registry{no_metrics(), table.str()};
  Relay relay{refusing, store.control(), table, options, registry};
  UlidSource ids{*options.clock, *options.random};
  ownership::Worker worker{{.store = store.ownership(), .ids = ids, .clock = *options.clock},
                           {{.scope = Relay::scope_of(table),
                             .shards = store.outbox().capabilities().shards,
                             .share = ownership::Share::all,
                             .holder = &relay}}};
  std::vector<Written> written;
};

TEST_F(SettlerTest, RowThatTheStoreRefusesHoldsBackItselfAlone) {
  const auto& bad = written.at(77).id;
  refusing.refused = {bad.str()};
  const auto begin = now() + seconds(1);
  settle(begin);
  EXPECT_EQ(settled(), messages - 1);
  EXPECT_EQ(held_back(), std::vector{bad.str()});
  EXPECT_EQ(log.count("settle failed, will be sent again"), 0U);

  settle(begin + seconds(29));
  EXPECT_EQ(held_back().size(), 1U) << "it is not tried all the time";
  refusing.refused.clear();
  settle(begin + seconds(30));
  EXPECT_EQ(settled(), messages) << "it was not forgotten";
  EXPECT_EQ(relay.snapshot().unsettled, 0U);
}

TEST_F(SettlerTest, StoreThatRefusesEverythingIsNotAskedRowByRow) {
  refusing.refuses_all = true;
  const auto begin = now() + seconds(1);
  settle(begin);
  EXPECT_EQ(held_back().size(), 16U);
  EXPECT_LT(refusing.calls, 60);
  refusing.refuses_all = false;
  settle(begin + seconds(30));
  EXPECT_EQ(settled(), messages);
}

TEST_F(SettlerTest, RowRefusedForGoodDoesNotKeepTheOthersOnceTheStoreIsMended) {
  refusing.refuses_all = true;
  auto at = now() + seconds(1);
  settle(at);
  ASSERT_EQ(held_back().size(), 16U);
  refusing.refuses_all = false;
  refusing.refused = {written.back().id.str()};
  for (int i = 0; i < 3; ++i) settle(at += seconds(30));
  EXPECT_EQ(settled(), messages - 1);
}

TEST_F(SettlerTest, OutageIsNoRefusal) {
  refusing.refuses_all = true;
  refusing.code = Code::storage_unavailable;
  auto at = now() + seconds(1);
  for (int i = 0; i < 50; ++i) settle(at += seconds(2));
  EXPECT_TRUE(held_back().empty());
  EXPECT_EQ(refusing.calls, 50) << "the same batch each time";
  refusing.refuses_all = false;
  settle(at + seconds(2));
  EXPECT_EQ(settled(), messages);
}

TEST_F(SettlerTest, ConflictThatDoesNotEndIsARefusal) {
  refusing.refused = {written.at(3).id.str()};
  refusing.code = Code::storage_conflict;
  auto at = now() + seconds(1);
  for (int i = 0; i < 8; ++i) settle(at += seconds(2));
  EXPECT_EQ(settled(), messages - 1);
  EXPECT_EQ(held_back().size(), 1U);
}

TEST_F(SettlerTest, ShardOfARefusedRowCanBeHandedOver) {
  refusing.refused = {written.at(5).id.str()};
  const auto shard = written.at(5).shard;
  const auto begin = now() + seconds(1);
  settle(begin);
  EXPECT_FALSE(relay.idle(shard));
  relay.drain(shard);
  settle(begin);
  EXPECT_TRUE(relay.idle(shard));
  EXPECT_EQ(relay.snapshot().unsettled, 0U);
}

}  // namespace
}  // namespace sagabox::outbox
