#include "stores/postgres/outbox/outbox_store.hpp"

#include "core/key_hash.hpp"
#include "stores/postgres/outbox/pages.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace sagabox::postgres {
namespace {

/// Payloads up to an even share of `bytes_max` are sent with the rows, so that no read exceeds it.
template <class Range>
std::int64_t payload_max(std::span<const Range> ranges, std::size_t bytes_max) {
  return int8_of(bytes_max / std::max<std::uint64_t>(1, rows_asked(ranges)));
}

using Ranges = std::span<const spi::Range>;

Params read_params(Ranges ranges, std::int64_t payload_max) {
  Params params;
  params.int8(payload_max);
  params.array(Type::int2, ranges,
               [](const spi::Range& r) { return static_cast<std::int16_t>(r.shard.value); });
  params.array(Type::int2, ranges, [](const spi::Range& r) { return std::int16_t{r.lane.value}; });
  params.array(Type::int8, ranges, [](const spi::Range& r) { return int8_of(r.after.value); });
  params.array(Type::int8, ranges, [](const spi::Range& r) { return std::int64_t{r.rows_max}; });
  return params;
}

/// Runs one of the statements that need `keep_plan` before them. Behind a pooler no plan is kept.
Result<Rows> run_by_kept_plan(Connection& connection, const OutboxStatements& statements,
                              const Statement& statement, const Params& params) {
  if (connection.pooled()) return connection.run(statement, params, Effect::none);
  const Params none;
  const std::array calls{Call{&statements.keep_plan, &none}, Call{&statement, &params}};
  auto answers = connection.run(calls, Effect::none);
  if (!answers.ok()) return answers.error();
  return std::move(answers->back());
}

}  // namespace

Error PostgresOutbox::too_many_transactions() {
  return {Code::storage_unavailable,
          "more transactions began during one read than it can name; try again"};
}

Status PostgresOutbox::check_shards(const TableName& table, std::string_view now) const {
  if (now == std::to_string(context_.shards)) return {};
  return Error{Code::config_invalid, "outbox " + table.str() + " has " + std::string(now) +
                                         " shards now, not " + std::to_string(context_.shards) +
                                         ": it was resharded; start this process again"};
}

PostgresOutbox::PostgresOutbox(sql::Sections& sections, Context& context,
                               const sql::AuditChain& audit, Wake& wake)
    : context_(context), audit_(audit), wake_(wake), statements_(sections), reads_(sections) {}

spi::Capabilities PostgresOutbox::capabilities() const {
  return {.late_commits = spi::LateCommits::visible,
          .notifies = context_.notify,
          .shards = context_.shards};
}

Result<spi::ReadReply> PostgresOutbox::read(const TableName& table,
                                            std::span<const spi::Range> ranges,
                                            std::size_t bytes_max) {
  auto reply = read_fresh(table, ranges, bytes_max);
  if (!reply.ok()) return reply;
  wake_.looked(table, *reply->horizon, reply->rows.size());
  return reply;
}

Result<spi::ReadReply> PostgresOutbox::read_fresh(const TableName& table,
                                                  std::span<const spi::Range> ranges,
                                                  std::size_t bytes_max) {
  auto connection = context_.relay.take();
  if (!connection.ok()) return connection.error();
  auto reply = read_snapshot(**connection, table, ranges, bytes_max);
  if (reply.ok() && !reply->horizon) {
    auto drawn = (*connection)->run(statements_of(table).draw_transaction, {}, Effect::none);
    if (!drawn.ok()) return drawn.error();
    reply = read_snapshot(**connection, table, ranges, bytes_max);
    if (reply.ok() && !reply->horizon) return too_many_transactions();
  }
  if (reply.ok()) reads_.of(table).rows_last.store(reply->rows.size());
  return reply;
}

Result<spi::ReadReply> PostgresOutbox::read_snapshot(Connection& connection, const TableName& table,
                                                     std::span<const spi::Range> ranges,
                                                     std::size_t bytes_max) {
  // For few rows, several statements would only take longer.
  const bool worth_it = !connection.pooled() && reads_.of(table).rows_last >= 2 * part_rows_min;
  const auto parts = worth_it ? in_parts(ranges) : std::vector<Ranges>{ranges};
  const auto& statements = statements_of(table);
  const auto payload_max = payload_share(ranges, bytes_max);
  std::vector<Params> params;
  params.reserve(parts.size());
  for (const auto& part : parts) params.push_back(read_params(part, payload_max));

  Pages pages(bytes_max);
  std::optional<spi::Horizon> horizon;
  Status known;
  const auto take = [&](std::size_t part, Rows answer) {
    if (part == 0) {
      known = check_shards(table, shards_of(answer));
      horizon = horizon_of(answer);
    }
    if (known.ok() && horizon) pages.take(std::move(answer), parts[part]);
  };
  if (parts.size() == 1) {
    auto answer = run_by_kept_plan(connection, statements, statements.read, params.front());
    if (!answer.ok()) return answer.error();
    take(0, std::move(*answer));
  } else {
    const Params none;
    std::vector<Call> calls{{&statements.lock_to_read, &none}, {&statements.keep_plan, &none}};
    const auto before = calls.size();
    for (const auto& each : params) calls.push_back({&statements.read, &each});
    auto done = connection.run_on_snapshot(calls, [&](std::size_t call, Rows answer) {
      if (call >= before) take(call - before, std::move(answer));
    });
    if (!done.ok()) return done.error();
  }
  if (!known.ok()) return known.error();
  auto reply = pages.finish(connection, statements.payloads);
  if (reply.ok()) reply->horizon = std::move(horizon);
  return reply;
}

Result<spi::ReadReply> PostgresOutbox::read_due(const TableName& table,
                                                std::span<const spi::DueRange> ranges,
                                                std::size_t bytes_max) {
  auto connection = context_.relay.take();
  if (!connection.ok()) return connection.error();
  const auto& statements = statements_of(table);
  Params params;
  params.int8(payload_max(ranges, bytes_max));
  params.array(Type::int2, ranges,
               [](const spi::DueRange& r) { return static_cast<std::int16_t>(r.shard.value); });
  params.array(Type::timestamptz, ranges, [](const spi::DueRange& r) { return r.after_due; });
  params.array(Type::int8, ranges, [](const spi::DueRange& r) { return int8_of(r.after.value); });
  params.array(Type::int8, ranges, [](const spi::DueRange& r) { return std::int64_t{r.rows_max}; });
  params.int8(context_.shards);
  auto rows = run_by_kept_plan(**connection, statements, statements.read_due, params);
  if (!rows.ok()) return rows.error();
  Pages pages(bytes_max);
  pages.take(std::move(*rows), ranges);
  return pages.finish(**connection, statements.payloads);
}

std::int64_t PostgresOutbox::payload_share(std::span<const spi::Range> ranges,
                                           std::size_t bytes_max) {
  return postgres::payload_max(ranges, bytes_max);
}

Result<spi::RetryingKeysReply> PostgresOutbox::read_retrying_keys(const TableName& table,
                                                                  Shard shard, Sequence after,
                                                                  std::uint32_t rows_max) {
  auto connection = context_.relay.take();
  if (!connection.ok()) return connection.error();
  Params params;
  params.int2(static_cast<std::int16_t>(shard.value)).int8(int8_of(after.value)).int8(rows_max);
  auto rows = (*connection)->run(statements_of(table).retrying_keys, params, Effect::none);
  if (!rows.ok()) return rows.error();
  spi::RetryingKeysReply reply;
  reply.timeline = (*connection)->timeline();
  reply.exhausted = std::cmp_less_equal(rows->size(), rows_max);
  const auto count = std::min(static_cast<std::uint32_t>(rows->size()), rows_max);
  for (int row = 0; std::cmp_less(row, count); ++row) {
    reply.keys.push_back(
        {key_hash(rows->text(row, 2), rows->text(row, 1)), Sequence{rows->uint8(row, 0)}});
  }
  return reply;
}

}  // namespace sagabox::postgres
