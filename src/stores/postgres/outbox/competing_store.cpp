#include "stores/postgres/outbox/competing_store.hpp"

#include "stores/postgres/outbox/decode.hpp"
#include "stores/postgres/outbox/pages.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace sagabox::postgres {
namespace {

/// So many of a shard's rows are looked at: some have a key, or are claimed.
constexpr std::int64_t look_rows_max = 1000;
/// How many other shards one read inspects.
constexpr std::int64_t other_shards_max = 4;
constexpr std::int64_t no_stop = INT64_MAX;

/// Makes a gate for every shard, whatever the number of shards was before, and deletes claims of
/// rows that operators or relays of another mode have removed.
constexpr std::string_view make_ready = R"sql(
INSERT INTO "{schema}".counter (outbox, name, slot)
SELECT '{table}', 'gate', shard
FROM generate_series(0, (SELECT shards - 1 FROM "{schema}".outbox WHERE name = '{table}')) AS shard
ON CONFLICT DO NOTHING;
DELETE FROM "{schema}"."{table}_claim" AS c
WHERE NOT EXISTS (SELECT FROM "{schema}"."{table}_outbox" AS o WHERE o.seq = c.seq);
)sql";

std::int16_t int2_of(Shard shard) { return static_cast<std::int16_t>(shard.value); }

/// Returns one range of each lane that wants rows of other shards too.
std::vector<spi::Range> looking_at_others(std::span<const spi::Range> ranges) {
  std::vector<spi::Range> looking;
  for (const auto& range : ranges) {
    if (range.others_too &&
        std::ranges::find(looking, range.lane, &spi::Range::lane) == looking.end()) {
      looking.push_back(range);
    }
  }
  return looking;
}

void add_ranges(Params& params, std::span<const spi::Range> ranges) {
  params.array(Type::int2, ranges, [](const spi::Range& r) { return int2_of(r.shard); });
  params.array(Type::int2, ranges, [](const spi::Range& r) { return std::int16_t{r.lane.value}; });
  params.array(Type::int8, ranges, [](const spi::Range& r) { return int8_of(r.after.value); });
  params.array(Type::int8, ranges, [](const spi::Range& r) { return std::int64_t{r.rows_max}; });
}

}  // namespace

spi::Capabilities CompetingOutbox::capabilities() const {
  auto capabilities = PostgresOutbox::capabilities();
  capabilities.claims = true;
  return capabilities;
}

Status CompetingOutbox::prepare(const TableName& table) {
  if (auto made = PostgresOutbox::prepare(table); !made.ok()) return made;
  auto connection = context().relay.take();
  if (!connection.ok()) return connection.error();
  return (*connection)->script(context().names.fill(make_ready, table));
}

Result<CompetingOutbox::Claimed> CompetingOutbox::claim(Connection& connection,
                                                        const TableName& table,
                                                        std::span<const spi::Range> ranges) {
  const auto& statements = statements_.of(table);
  const auto looking = looking_at_others(ranges);
  Params wanted;
  add_ranges(wanted, ranges);
  if (looking.empty() && quiet_.load(std::memory_order_relaxed)) {
    auto rows = connection.run(statements.look_for_free, wanted, Effect::none);
    if (!rows.ok()) return rows.error();
    auto found = decode(*rows, ranges.size());
    if (found.rows == 0) return found;
  }
  const auto shard = [](const spi::Range& r) { return int2_of(r.shard); };
  const auto lane = [](const spi::Range& r) { return std::int16_t{r.lane.value}; };
  Params own;
  own.text(table.str()).array(Type::int2, ranges, shard);
  Params others = own;
  others.int8(looking.empty() ? 0 : other_shards_max);
  wanted.array(Type::int2, looking, lane).array(Type::int2, looking, shard);
  wanted.array(Type::int8, looking, [](const spi::Range& r) { return int8_of(r.after.value); });
  wanted.array(Type::int8, looking, [](const spi::Range& r) { return std::int64_t{r.rows_max}; });
  wanted.int8(look_rows_max).int8(std::int64_t{context().claim_rows_max});
  const std::array calls{Call{&statements.own_gates, &own}, Call{&statements.other_gates, &others},
                         Call{&statements.claim, &wanted}};
  auto answers = connection.run(calls, Effect::commits);
  if (!answers.ok()) return answers.error();
  auto claimed = decode(answers->back(), ranges.size());
  quiet_.store(claimed.rows == 0, std::memory_order_relaxed);
  return claimed;
}

CompetingOutbox::Claimed CompetingOutbox::decode(const Rows& rows, std::size_t ranges) {
  constexpr int rows_column = 1;
  constexpr int snapshot_column = 2;
  constexpr int text_column = 3;
  constexpr int own_column = 4;
  Claimed claimed{.rows = rows.int8(0, rows_column),
                  .horizon = std::string(rows.text(0, snapshot_column)),
                  .snapshot = std::string(rows.text(0, text_column)),
                  .own = std::nullopt,
                  .stops = std::vector(ranges, no_stop)};
  if (!rows.is_null(0, own_column)) claimed.own = TransactionId{rows.uint8(0, own_column)};
  for (int row = 1; row < rows.size(); ++row) {
    claimed.stops[static_cast<std::size_t>(rows.int8(row, 0) - 1)] = rows.int8(row, 1);
  }
  return claimed;
}

Result<spi::ReadReply> CompetingOutbox::read_fresh(const TableName& table,
                                                   std::span<const spi::Range> ranges,
                                                   std::size_t bytes_max) {
  auto connection = context().relay.take();
  if (!connection.ok()) return connection.error();
  for (bool named = false;; named = true) {
    auto claimed = claim(**connection, table, ranges);
    if (!claimed.ok()) return claimed.error();
    auto answer = read_claimed(**connection, table, ranges, *claimed, bytes_max);
    if (!answer.ok() || answer->horizon) return answer;
    if (named) return too_many_transactions();
    auto drawn = (*connection)->run(statements_.of(table).draw_transaction, {}, Effect::none);
    if (!drawn.ok()) return drawn.error();
  }
}

Result<spi::ReadReply> CompetingOutbox::read_claimed(Connection& connection, const TableName& table,
                                                     std::span<const spi::Range> ranges,
                                                     const Claimed& claimed,
                                                     std::size_t bytes_max) {
  const auto& statements = statements_.of(table);
  Params params;
  params.int8(payload_share(ranges, bytes_max));
  add_ranges(params, ranges);
  params.array(Type::int8, claimed.stops, [](std::int64_t stop) { return stop; });
  params.text(claimed.snapshot);
  const Params none;
  const std::array calls{Call{&statements.next_transaction, &none},
                         Call{&statements.read_claimed, &params}};
  auto answers = connection.run(calls, Effect::none);
  if (!answers.ok()) return answers.error();
  if (auto known = check_shards(table, answers->front().text(0, 2)); !known.ok()) {
    return known.error();
  }
  Pages pages(bytes_max);
  pages.take(std::move(answers->back()), ranges);
  auto answer = pages.finish(connection, statements.payloads);
  if (!answer.ok()) return answer;
  // This number was drawn after the claim's snapshot, so every transaction that began before it has
  // a lower one.
  constexpr std::uint32_t counted_from = 3;
  const auto next = static_cast<std::uint32_t>(answers->front().int8(0, 0)) + counted_from;
  answer->horizon = decode_horizon(claimed.horizon, next, answers->front().text(0, 1));
  // The claim's own transaction writes no message, so reads need not wait for it.
  if (answer->horizon && claimed.own) std::erase(answer->horizon->in_progress, *claimed.own);
  auto row = answer->rows.begin();
  for (std::size_t i = 0; i < answer->parts.size(); ++i) {
    auto& part = answer->parts[i];
    if (claimed.stops[i] != no_stop) part.exhausted = false;
    // A row is settled in the shard that claimed it, not in the one that it was written to.
    for (std::uint32_t n = 0; n < part.rows; ++n, ++row) row->shard = ranges[i].shard;
  }
  return answer;
}

}  // namespace sagabox::postgres
