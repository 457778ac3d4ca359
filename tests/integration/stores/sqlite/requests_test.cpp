#include "integration/stores/sqlite/world.hpp"
#include "spi/barrier_rules.hpp"
#include "stores/sqlite/sql_files.hpp"
#include "support/places.hpp"

#include <sagabox/idempotency.hpp>
#include <sagabox/outbox.hpp>
#include <sagabox/transports/bus.hpp>
#include <sagabox/transports/custom.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace sagabox::sqlite {
namespace {

using sagabox::testing::run_sql;

struct SagaCall {
  std::string saga;
  BarrierDirection direction = BarrierDirection::action;
  WallTime deadline{};
};

Status add_to_balance(Transaction& tx, int by) {
  run_sql(connection_of(tx), "UPDATE balance SET value = value + " + std::to_string(by));
  return {};
}

Result<GuardedResult> call_the_provider(const std::string& body, const std::stop_token&) {
  return GuardedResult{"charged " + body};
}

Status book(Store& store, const std::string& message_id) {
  return store.transaction([&](OwnedTransaction& tx) -> Status {
    const auto first = tx.inbox().first_time("acme", "billing", "acme:" + message_id);
    if (!first.ok()) return first.error();
    if (!*first) return {};  // done before
    return add_to_balance(tx, 5);
  });
}

Status register_handlers(Outbox& outbox, Functions& functions, Bus& bus, Store& billing) {
  const auto add = [](const Delivery&, OwnedTransaction& tx) {
    return add_to_balance(tx, 5).ok() ? done() : retry("the balance is locked");
  };
  auto status = outbox.listen("orders.order.placed.v1", {.store = billing, .handle = add});
  if (status.ok()) status = functions.add("book", {.store = billing, .handle = add});
  if (!status.ok()) return status;
  return bus.subscribe("orders", {.store = billing, .handle = add, .consumer = "billing"});
}

Result<BarrierAnswer> reserve(Store& store, const SagaCall& call) {
  return store.transaction([&](OwnedTransaction& tx) -> Result<BarrierAnswer> {
    const auto answer = tx.inbox().barrier({.tenant = "acme",
                                            .saga = call.saga,
                                            .step = "reserve",
                                            .direction = call.direction,
                                            .deadline = call.deadline});
    if (!answer.ok() || !runs(*answer)) return answer;
    const int by = call.direction == BarrierDirection::action ? 1 : -1;
    if (auto added = add_to_balance(tx, by); !added.ok()) return added.error();
    return answer;
  });
}

Result<Guarded> charge(Guard& guard, const std::string& key, const std::string& body) {
  return guard.run("acme", key, sha256(body),
                   [&](const std::stop_token& stop) { return call_the_provider(body, stop); });
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The code blocks of docs/idempotency.md in this language.
std::vector<std::string> documented(const std::string& language) {
  const auto page = text_of(sagabox::testing::project_folder() / "docs/idempotency.md");
  const auto begin = "```" + language + "\n";
  std::vector<std::string> blocks;
  for (auto at = page.find(begin); at != std::string::npos; at = page.find(begin, at)) {
    at += begin.size();
    blocks.push_back(page.substr(at, page.find("```\n", at) - at));
  }
  return blocks;
}

/// The one that has this text.
std::string documented_sql(std::string_view text) {
  const auto blocks = documented("sql");
  const auto found = std::ranges::find_if(
      blocks, [&](const std::string& block) { return block.find(text) != std::string::npos; });
  return found == blocks.end() ? "no block with " + std::string(text) : *found;
}

/// What docs/idempotency.md shows.
class SqliteRequests : public SqliteTest {
 protected:
  void SetUp() override {
    store_ = open_store();
    store_->inbox()->prepare().value();
    store_->idempotency()->prepare().value();
    run_sql(user_.get(), "CREATE TABLE balance (value INTEGER); INSERT INTO balance VALUES (0)");
  }
  std::string balance() { return run_sql(user_.get(), "SELECT value FROM balance").at(0); }

  std::unique_ptr<Store> store_;
  sagabox::testing::SqliteConnection user_ =
      sagabox::testing::connect_sqlite(path(), std::chrono::seconds(5));
};

TEST_F(SqliteRequests, DocumentShowsTheCodeThatIsTestedHere) {
  const auto tested = text_of(sagabox::testing::project_folder() /
                              "tests/integration/stores/sqlite/requests_test.cpp");
  const auto blocks = documented("cpp");
  EXPECT_EQ(blocks.size(), 4U);
  for (const auto& block : blocks) EXPECT_NE(tested.find(block), std::string::npos) << block;
}

TEST_F(SqliteRequests, MessageThatComesTwiceIsBookedOnce) {
  book(*store_, "m1").value();
  book(*store_, "m1").value();
  book(*store_, "m2").value();
  EXPECT_EQ(balance(), "10");
}

TEST_F(SqliteRequests, HandlersThatDeclareAStoreBookAMessageOnce) {
  auto options = OutboxOptions{.table = "orders"};
  auto outbox = Outbox::single_process(*store_, options).value();
  Functions functions;
  Bus bus;
  register_handlers(outbox, functions, bus, *store_).value();
  outbox.start().value();
  const auto written = store_->transaction([&](OwnedTransaction& tx) {
    return outbox.write(tx, {.topic = "orders.order.placed.v1", .payload = json("{}")});
  });
  const auto table = TableName::parse("orders").value();
  const auto done = [&](std::uint32_t replays) {
    for (int look = 0; look < 6000; ++look) {
      const auto found = store_->outbox_admin().list({.table = table, .state = MessageState::done});
      if (found.ok() && !found->rows.empty() && found->rows[0].replays == replays) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  };
  ASSERT_TRUE(done(0));
  EXPECT_EQ(balance(), "5");
  const std::vector ids{(*written)->id};
  const auto replay = [&](bool as_new) {
    return store_->outbox_admin().move(
        {.table = table, .ids = ids, .actor = "ann", .as_new = as_new});
  };
  EXPECT_TRUE(replay(false)->items[0].moved);
  ASSERT_TRUE(done(1));
  EXPECT_EQ(balance(), "5") << "handled before";
  EXPECT_TRUE(replay(true)->items[0].moved);
  ASSERT_TRUE(done(2));
  EXPECT_EQ(balance(), "10") << "handled as new";
  EXPECT_TRUE(replay(false)->items[0].moved);
  ASSERT_TRUE(done(3));
  EXPECT_EQ(balance(), "10") << "handled before, as new";
}

TEST_F(SqliteRequests, StepAndItsCompensationLeaveNothingInAnyOrder) {
  using enum BarrierDirection;
  const auto deadline = system_clock().wall_now() + std::chrono::hours(1);
  const auto call = [&](const std::string& saga, BarrierDirection direction) {
    return reserve(*store_, {saga, direction, deadline}).value();
  };
  EXPECT_EQ(call("s1", action), BarrierAnswer::run);
  EXPECT_EQ(call("s1", action), BarrierAnswer::repeated);
  EXPECT_EQ(balance(), "1");
  EXPECT_EQ(call("s1", compensation), BarrierAnswer::run);
  EXPECT_EQ(call("s2", compensation), BarrierAnswer::nothing_to_undo);
  EXPECT_EQ(call("s2", action), BarrierAnswer::too_late);
  EXPECT_EQ(balance(), "0");
}

TEST_F(SqliteRequests, RequestIsChargedOnce) {
  const auto guard = Guard::create(*store_, {.consumer = "charges"}).value();
  EXPECT_EQ(charge(*guard, "k1", "5 EUR").value().result, "charged 5 EUR");
  EXPECT_TRUE(charge(*guard, "k1", "5 EUR").value().replayed);
  EXPECT_EQ(charge(*guard, "k1", "6 EUR").error().code, Code::tx_idempotent_mismatch);
}

TEST_F(SqliteRequests, DocumentedInsertAndTheLibraryShareOneInbox) {
  const auto insert = documented_sql("INSERT INTO sagabox_inbox");
  EXPECT_EQ(run_sql(user_.get(), insert), std::vector<std::string>{"1"});
  EXPECT_EQ(run_sql(user_.get(), insert), std::vector<std::string>{});
  book(*store_, "01J9ZQ3K4M").value();
  EXPECT_EQ(balance(), "0") << "it was done before";
  EXPECT_EQ(store_->inbox()->purge({}).value().keys, 0U) << "taken just now";
  EXPECT_EQ(store_->inbox()->purge({.older_than = -std::chrono::hours(1)}).value().keys, 1U);
}

TEST_F(SqliteRequests, DocumentedUpdateKeepsAKeyThatIsAskedForAgain) {
  const auto update = documented_sql("UPDATE sagabox_inbox");
  book(*store_, "01J9ZQ3K4M").value();
  const auto taken_at = [&] { return run_sql(user_.get(), "SELECT taken_at FROM sagabox_inbox"); };
  const auto before = taken_at();
  run_sql(user_.get(), update);
  EXPECT_EQ(taken_at(), before) << "once an hour";
  run_sql(user_.get(), "UPDATE sagabox_inbox SET taken_at = taken_at - 7 * 86400000000");
  run_sql(user_.get(), update);
  EXPECT_EQ(store_->inbox()->purge({.older_than = std::chrono::hours(1)}).value().keys, 0U);
}

// All orders of up to five calls, against the pure decision.
TEST_F(SqliteRequests, DocumentedBarrierDecidesAsTheRulesDo) {
  const auto statement = documented_sql("sagabox_barrier");
  const auto keep_until =
      std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(
                         (system_clock().wall_now() + std::chrono::hours(1)).time_since_epoch())
                         .count());
  const auto call = [&](const std::string& direction) {
    auto sql = statement;
    const std::vector<std::pair<std::string, std::string>> values{
        {":tenant", "'acme'"},
        {":saga", "'s1'"},
        {":step", "'reserve'"},
        {":round", "0"},
        {":direction", "'" + direction + "'"},
        {":keep_until", keep_until}};
    for (const auto& [name, value] : values) {
      for (auto at = sql.find(name); at != std::string::npos; at = sql.find(name, at)) {
        sql.replace(at, name.size(), value);
      }
    }
    return run_sql(user_.get(), sql).at(0);
  };
  constexpr unsigned calls = 5;
  for (unsigned order = 0; order < (1U << calls); ++order) {
    run_sql(user_.get(), "DELETE FROM sagabox_barrier");
    std::optional<spi::BarrierState> state;
    for (unsigned nth = 0; nth < calls; ++nth) {
      const auto direction =
          (order >> nth & 1U) == 0 ? BarrierDirection::action : BarrierDirection::compensation;
      const auto step = spi::decide_barrier(state, direction);
      ASSERT_EQ(call(std::string(barrier_direction_name(direction))),
                barrier_answer_name(step.answer))
          << "order " << order << ", call " << nth;
      state = step.after;
    }
  }
  EXPECT_THROW(call("undo"), std::runtime_error);
  run_sql(user_.get(), "ROLLBACK; DELETE FROM sagabox_barrier");
  EXPECT_EQ(call("action"), "run");
  const auto deadline = system_clock().wall_now() + std::chrono::hours(1);
  EXPECT_EQ(reserve(*store_, {"s1", BarrierDirection::action, deadline}).value(),
            BarrierAnswer::repeated)
      << "one barrier for all";
  EXPECT_EQ(reserve(*store_, {"s1", BarrierDirection::compensation, deadline}).value(),
            BarrierAnswer::run);
  EXPECT_EQ(call("action"), "too_late");
}

TEST_F(SqliteRequests, StatementsFindTheirRowsByIndexes) {
  auto sections = sql::Sections::parse(sql_files).value();
  for (const auto* name :
       {"idempotency_take", "idempotency_look", "idempotency_finish", "idempotency_fail",
        "idempotency_renew", "idempotency_purge_expired", "idempotency_purge_key",
        "idempotency_list", "idempotency_list_of_tenant", "idempotency_list_of_consumer",
        "idempotency_get", "inbox_first_time", "inbox_renew", "inbox_barrier", "inbox_taken",
        "inbox_purge_keys", "inbox_purge_barriers"}) {
    const auto statement = sections.take(name);
    std::string plan;
    for (const auto& part : statement.parts()) {
      const auto rows = sagabox::testing::rows_of(user_.get(), "EXPLAIN QUERY PLAN " + part.sql);
      for (const auto& row : rows) plan += row.at(3) + "\n";
    }
    EXPECT_EQ(plan.find("SCAN sagabox_"), std::string::npos) << name << "\n" << plan;
    EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << name << "\n" << plan;
  }
}

}  // namespace
}  // namespace sagabox::sqlite
