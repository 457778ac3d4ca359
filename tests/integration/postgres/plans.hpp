#pragma once

#include "integration/postgres/world.hpp"
#include "stores/postgres/driver/connection.hpp"
#include "stores/postgres/outbox/insert.hpp"
#include "stores/postgres/outbox/statements.hpp"
#include "stores/postgres/sql_files.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::integration {

using postgres::Effect;
using postgres::Params;
using postgres::Statement;
using postgres::Type;

inline constexpr std::int64_t rows_in_batch = 500;

/// Plans of the statements that run all day, on a table that is empty or full.
class PlansWorld : public PostgresWorld {
 protected:
  explicit PlansWorld(std::int64_t rows) : rows_in_table(rows) {}

  void SetUp() override {
    PostgresWorld::SetUp();
    if (IsSkipped()) return;
    store->outbox().prepare(table).value();
    connection = postgres::Connection::open({.url = database->url()}).value();
    const auto names = postgres::Names::parse(database->schema()).value();
    auto sections = sql::Sections::parse(postgres::sql_files, database->schema()).value();
    outbox = sql::PerTable<postgres::OutboxStatements>(sections).of(table);
    competing = sql::PerTable<postgres::CompetingStatements>(sections).of(table);
    ASSERT_TRUE(store->claim_roles(ClaimMode::competing)->outbox.prepare(table).ok());
    insert.emplace(names, table);
    for (std::int16_t shard = 0; shard < 16; ++shard) shards.push_back(shard);
  }

  /// No ANALYZE: the first rows come sooner than the server's own.
  void fill() {
    database->sql("INSERT INTO " + outbox_table() +
                  " (topic, payload, key, due, retrying, written_at, occurred_at) "
                  "SELECT 'a.b.c.v1', '{}', CASE WHEN n % 2 = 0 THEN 'key ' || n END, "
                  "CASE WHEN n % 10 = 0 THEN at END, n % 10 = 0, at, at "
                  "FROM (SELECT clock_timestamp() AS at) AS now, generate_series(1, " +
                  std::to_string(rows_in_table) + ") AS n");
  }

  void fill_claims() {
    database->sql("INSERT INTO " + claim_table() +
                  " (seq, shard, lane) SELECT n, n % 16, 1 FROM generate_series(1, 20000) AS n");
  }
  std::string claim_table() const { return database->schema() + ".orders_claim"; }

  static std::string lines_of(const postgres::Rows& rows) {
    std::string text;
    for (int row = 0; row < rows.size(); ++row) text += std::string(rows.text(row, 0)) + "\n";
    return text;
  }
  [[nodiscard]] Statement of_kit(const std::string& name) const {
    auto sections = sql::Sections::parse(postgres::sql_files, database->schema()).value();
    return sections.take(name).for_table(table).parts().front();
  }
  std::string plan(const Statement& statement, const Params& params) {
    const Statement explain{"", "EXPLAIN (COSTS OFF) " + statement.sql};
    return lines_of(connection->run(explain, params, Effect::none).value());
  }
  /// As `plan`, in a transaction in which `before` was run.
  std::string plan_after(const Statement& before, const Statement& statement,
                         const Params& params) {
    const Statement explain{"", "EXPLAIN (COSTS OFF) " + statement.sql};
    const Params none;
    const std::array calls{postgres::Call{&before, &none}, postgres::Call{&explain, &params}};
    return lines_of(connection->run(calls, Effect::none).value()[1]);
  }
  /// As it would be kept if it were made now, in a transaction in which `before` was run.
  std::string kept_plan(const Statement& before, const Statement& statement) {
    std::string nulls;
    for (int number = 1; statement.sql.find("$" + std::to_string(number)) != std::string::npos;
         ++number) {
      nulls += number == 1 ? "NULL" : ", NULL";
    }
    const Statement prepare{"", "PREPARE kept AS " + statement.sql};
    const Statement explain{"", "EXPLAIN (COSTS OFF) EXECUTE kept (" + nulls + ")"};
    const Statement forget{"", "DEALLOCATE kept"};
    const Params none;
    const std::array calls{postgres::Call{&before, &none}, postgres::Call{&prepare, &none},
                           postgres::Call{&explain, &none}, postgres::Call{&forget, &none}};
    return lines_of(connection->run(calls, Effect::none).value()[2]);
  }
  std::string kept_plan_of_read(const Statement& statement) {
    return kept_plan(outbox->keep_plan, statement);
  }
  /// Runs them as the relay does, by the plans that this connection has kept.
  postgres::Rows read_by_kept_plan(const Statement& statement, const Params& params) {
    return run_after(outbox->keep_plan, statement, params);
  }
  void settle_by_kept_plan(const Statement& statement, const Params& params) {
    (void)run_after(outbox->keep_settle_plan, statement, params);
  }
  /// Every statement that settles, with the one that it comes after.
  template <class Settle>
  void each_settle(Settle&& settle) {
    const std::array<const postgres::OutboxStatements*, 2> modes{&*outbox, &*competing};
    for (const auto* statements : modes) {
      const auto& before = outbox->keep_settle_plan;
      settle(before, statements->delete_done, delete_params());
      settle(before, statements->delete_uncounted, delete_params());
      settle(before, statements->archive_done, archive_params());
      settle(before, statements->retry, kept_params());
      settle(before, statements->bury, buried_params());
    }
    settle(outbox->keep_dense_plan, outbox->delete_dense, dense_params(false));
    settle(outbox->keep_dense_plan, outbox->archive_dense, dense_params(true));
  }
  postgres::Rows run_after(const Statement& before, const Statement& statement,
                           const Params& params) {
    const Params none;
    const std::array calls{postgres::Call{&before, &none}, postgres::Call{&statement, &params}};
    return std::move(connection->run(calls, Effect::commits).value()[1]);
  }
  void uses_only(const std::string& index, const std::string& text) {
    EXPECT_NE(text.find(index), std::string::npos) << text;
    EXPECT_EQ(text.find("Seq Scan on orders_outbox"), std::string::npos) << text;
    EXPECT_EQ(text.find("Sort Key: o.shard, o."), std::string::npos) << text;
  }

  Params read_params() const {
    Params params;
    params.int8(65'536);
    params.array(Type::int2, shards, [](std::int16_t shard) { return shard; });
    params.array(Type::int2, shards, [](std::int16_t) { return std::int16_t{1}; });
    params.array(Type::int8, shards, [this](std::int16_t) { return rows_in_table / 2; });
    params.array(Type::int8, shards, [](std::int16_t) { return std::int64_t{64}; });
    return params;
  }
  Params due_params() const {
    Params params;
    params.int8(65'536);
    params.array(Type::int2, shards, [](std::int16_t shard) { return shard; });
    params.array(Type::timestamptz, shards, [](std::int16_t) { return WallTime{}; });
    params.array(Type::int8, shards, [](std::int16_t) { return std::int64_t{0}; });
    params.array(Type::int8, shards, [](std::int16_t) { return std::int64_t{64}; });
    params.int8(static_cast<std::int64_t>(shards.size()));
    return params;
  }
  Params fence_params() const {
    Params params;
    params.text("outbox:orders").text("me");
    params.array(Type::int2, shards, [](std::int16_t shard) { return shard; });
    params.array(Type::int8, shards, [](std::int16_t) { return std::int64_t{1}; });
    return params;
  }
  void add_batch(Params& params) const {
    std::vector<std::int64_t> batch(rows_in_batch);
    std::iota(batch.begin(), batch.end(), 1);
    params.array(Type::int8, batch, [](std::int64_t sequence) { return sequence; });
    params.array(Type::int2, batch,
                 [](std::int64_t sequence) { return static_cast<std::int16_t>(sequence % 16); });
    params.array(Type::text, batch, [](std::int64_t) { return std::string_view("some id"); });
    params.array(Type::int4, batch, [](std::int64_t) { return std::int32_t{1}; });
    texts = std::vector<std::string_view>(batch.size(), "x");
  }
  Params kept_params() const {
    auto params = fence_params();
    params.int8(20);
    add_batch(params);
    params.array(Type::boolean, texts, [](std::string_view) { return true; });
    params.array(Type::int8, texts, [](std::string_view) { return std::int64_t{1}; });
    params.array(Type::boolean, texts, [](std::string_view) { return true; });
    params.array(Type::text, texts, [](std::string_view text) { return text; });
    params.array(Type::text, texts, [](std::string_view text) { return text; });
    params.array(Type::int8, texts, [](std::string_view) { return std::int64_t{0}; });
    return params;
  }
  Params buried_params() const {
    auto params = fence_params();
    params.int8(20);
    add_batch(params);
    for (int i = 0; i < 3; ++i) {
      params.array(Type::text, texts, [](std::string_view text) { return text; });
    }
    params.array(Type::boolean, texts, [](std::string_view) { return true; });
    params.array(Type::text, texts, [](std::string_view) { return std::string_view(); });
    return params;
  }
  Params archive_params() const {
    auto params = fence_params();
    add_batch(params);
    return params;
  }
  Params delete_params() const {
    auto params = fence_params();
    std::vector<std::int64_t> batch(rows_in_batch, 1);
    params.array(Type::int8, batch, [](std::int64_t sequence) { return sequence; });
    params.array(Type::int2, batch, [](std::int64_t) { return std::int16_t{1}; });
    params.array(Type::text, batch, [](std::int64_t) { return std::string_view("some id"); });
    return params;
  }

  Params dense_params(bool archives) const {
    auto params = fence_params();
    std::vector<std::int64_t> batch(rows_in_batch);
    std::iota(batch.begin(), batch.end(), 1);
    params.array(Type::int8, batch, [](std::int64_t sequence) { return sequence; });
    params.array(Type::text, batch, [](std::int64_t) { return std::string_view("some id"); });
    params.int8(batch.front()).int8(batch.back()).int2(1);
    if (archives) params.array(Type::int4, batch, [](std::int64_t) { return std::int32_t{1}; });
    return params;
  }

  void add_ranges(Params& params) const {
    params.array(Type::int2, shards, [](std::int16_t shard) { return shard; });
    params.array(Type::int2, shards, [](std::int16_t) { return std::int16_t{1}; });
    params.array(Type::int8, shards, [this](std::int16_t) { return rows_in_table / 2; });
    params.array(Type::int8, shards, [](std::int16_t) { return std::int64_t{64}; });
  }
  Params gates_params() const {
    Params params;
    params.text(table.str());
    params.array(Type::int2, shards, [](std::int16_t shard) { return shard; });
    return params;
  }
  Params look_params() const {
    Params params;
    add_ranges(params);
    return params;
  }
  Params claim_params() const {
    Params params;
    add_ranges(params);
    const std::vector<std::int16_t> one{1};
    params.array(Type::int2, one, [](std::int16_t lane) { return lane; });
    params.array(Type::int2, one, [](std::int16_t shard) { return shard; });
    params.array(Type::int8, one, [this](std::int16_t) { return rows_in_table / 2; });
    params.array(Type::int8, one, [](std::int16_t) { return std::int64_t{64}; });
    params.int8(1'000).int8(50);
    return params;
  }
  Params claimed_params() {
    Params params;
    params.int8(65'536);
    add_ranges(params);
    params.array(Type::int8, shards, [](std::int16_t) { return INT64_MAX; });
    snapshot = database->sql("SELECT pg_current_snapshot()::text")[0];
    params.text(snapshot);
    return params;
  }
  /// As the gates before a claim do; a claim looks at the shards that they locked.
  void set_gates() {
    static const Statement set{"", "SELECT set_config('sagabox.gates', '3,4,5,6', false)"};
    (void)connection->run(set, {}, Effect::none).value();
  }
  void look_at_competing_plans() {
    set_gates();
    const auto gates = plan(competing->own_gates, gates_params());
    EXPECT_EQ(gates.find("orders_outbox"), std::string::npos) << gates;
    for (const auto& text :
         {plan(competing->look_for_free, look_params()), plan(competing->claim, claim_params()),
          plan(competing->read_claimed, claimed_params())}) {
      uses_only("orders_outbox_fresh", text);
      EXPECT_EQ(text.find("Seq Scan on orders_claim"), std::string::npos) << text;
    }
  }

  static void joins_by_hash(const std::string& text) {
    EXPECT_EQ(text.find("Nested Loop"), std::string::npos) << text;
    EXPECT_EQ(text.find("Merge Join"), std::string::npos) << text;
  }
  /// Each row is found by the primary key, for a list, and never compared each with each. So are
  /// claims.
  static void looks_by_key(const std::string& text) {
    joins_by_hash(text);
    int scans = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const bool of_outbox = line.find("Scan") != std::string::npos &&
                             line.find(" on orders_outbox t") != std::string::npos;
      const bool of_claim = line.find("Scan") != std::string::npos &&
                            line.find(" on orders_claim claim") != std::string::npos;
      if (!of_outbox && !of_claim) continue;
      ++scans;
      const auto* index = of_outbox ? "Index Scan using orders_outbox_pkey on "
                                    : "Index Scan using orders_claim_pkey on ";
      EXPECT_NE(line.find(index), std::string::npos) << text;
      std::getline(lines, line);
      EXPECT_NE(line.find("Index Cond: (seq = ANY ("), std::string::npos) << text;
    }
    EXPECT_GT(scans, 0) << text;
  }
  /// Rows are found by one index and these conditions.
  static void looks_by(const std::string& index, const std::vector<std::string_view>& conditions,
                       const std::string& text) {
    joins_by_hash(text);
    EXPECT_EQ(text.find("Seq Scan on orders_outbox"), std::string::npos) << text;
    int scans = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.find("Index Scan") == std::string::npos ||
          line.find(" orders_outbox_") == std::string::npos) {
        continue;
      }
      ++scans;
      EXPECT_NE(line.find(index), std::string::npos) << text;
      std::getline(lines, line);
      for (const auto condition : conditions) {
        EXPECT_NE(line.find(condition), std::string::npos) << condition << " of\n" << text;
      }
    }
    EXPECT_EQ(scans, 1) << text;
  }
  /// As they are kept, and with values.
  template <class Look>
  void look_at(const Statement& before, const Statement& statement, const Params& params,
               Look&& look) {
    look(kept_plan(before, statement));
    look(plan_after(before, statement, params));
  }
  void look_at_settle_plans() {
    each_settle([&](const Statement& before, const Statement& statement, const Params& params) {
      look_at(before, statement, params, [&](const std::string& text) {
        if (&before == &outbox->keep_settle_plan) return looks_by_key(text);
        looks_by("Bitmap Index Scan on orders_outbox_fresh",
                 {"(shard = ANY (", "(lane = ", "(seq >= ", "(seq <= "}, text);
      });
    });
  }

  void look_at_every_plan() {
    uses_only("orders_outbox_fresh", kept_plan_of_read(outbox->read));
    uses_only("orders_outbox_waiting", kept_plan_of_read(outbox->read_due));
    // Behind a pooler.
    uses_only("orders_outbox_fresh", plan(outbox->read, read_params()));
    uses_only("orders_outbox_waiting", plan(outbox->read_due, due_params()));
    Params keys;
    keys.int2(3).int8(0).int8(100);
    uses_only("orders_outbox_keys", plan(outbox->retrying_keys, keys));
    look_at_settle_plans();
    Params exact;
    exact.int8(10'000);
    uses_only("orders_outbox_waiting", plan(of_kit("admin_stats"), exact));
    Params strays;
    strays.int8(10);
    uses_only("orders_outbox_fresh", plan(of_kit("strays"), strays));
  }

  std::unique_ptr<postgres::Connection> connection;
  std::optional<postgres::OutboxStatements> outbox;
  std::optional<postgres::CompetingStatements> competing;
  std::optional<postgres::InsertStatements> insert;
  const std::int64_t rows_in_table;
  std::vector<std::int16_t> shards;
  mutable std::vector<std::string_view> texts;
  std::string snapshot;
};

}  // namespace sagabox::integration
