#include "stores/postgres/outbox_store.hpp"

#include "stores/postgres/decode.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace sagabox::postgres {
namespace {

/// Of a read: the number of the range, from 1, or 0 for the snapshot, and the snapshot.
constexpr int range_column = 0;
constexpr int snapshot_column = 1;
constexpr int row_column = 2;

/// Sequences and counts have no values above.
std::int64_t int8_of(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX));
}

template <class Range>
std::uint64_t rows_asked(std::span<const Range> ranges) {
  std::uint64_t rows = 0;
  for (const auto& range : ranges) rows += std::uint64_t{range.rows_max} + 1;
  return rows;
}

/// Payloads up to an even share of `bytes_max` come along: no read exceeds it.
template <class Range>
std::int64_t payload_max(std::span<const Range> ranges, std::size_t bytes_max) {
  return int8_of(bytes_max / std::max<std::uint64_t>(1, rows_asked(ranges)));
}

template <class Range>
struct Selected {
  std::vector<int> rows;  ///< of the answer, in the order of the ranges
  std::vector<spi::ReadReply::Part> parts;
};

/// What of the answer is returned. Each range brought one row more than asked for, if there was
/// one.
template <class Range>
Selected<Range> select(const Rows& rows, std::span<const Range> ranges, std::size_t bytes_max) {
  std::vector<std::vector<int>> found(ranges.size());
  for (int row = 0; row < rows.size(); ++row) {
    const auto number = static_cast<std::size_t>(rows.int8(row, range_column));
    if (number > 0) found[number - 1].push_back(row);
  }
  Selected<Range> selected;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    spi::ReadReply::Part part{0, true};
    for (const int row : found[i]) {
      const auto more = bytes_of_row(rows, row, row_column);
      const bool fits = selected.rows.empty() || (more <= bytes_max && bytes <= bytes_max - more);
      if (part.rows == ranges[i].rows_max || !fits) {
        part.exhausted = false;
        selected.parts.push_back(part);
        if (!fits) return selected;
        break;
      }
      bytes += more;
      selected.rows.push_back(row);
      ++part.rows;
    }
    if (part.exhausted) selected.parts.push_back(part);
  }
  return selected;
}

/// Payloads that were too large to come along, by sequence. Those of rows that went since are not
/// there.
using Payloads = std::map<std::uint64_t, std::string_view>;

struct Fetched {
  Rows rows;
  Payloads payloads;
};

Result<Fetched> fetch_large(Connection& connection, const Statement& statement, const Rows& rows,
                            const std::vector<int>& selected) {
  Fetched fetched;
  std::vector<std::int64_t> sequences;
  for (const int row : selected) {
    if (rows.is_null(row, row_column + RowColumns::payload)) {
      sequences.push_back(rows.int8(row, row_column + RowColumns::sequence));
    }
  }
  if (sequences.empty()) return fetched;
  Params params;
  params.array(Type::int8, sequences, [](std::int64_t sequence) { return sequence; });
  auto answer = connection.run(statement, params, Effect::none);
  if (!answer.ok()) return answer.error();
  fetched.rows = std::move(*answer);
  for (int row = 0; row < fetched.rows.size(); ++row) {
    fetched.payloads[fetched.rows.uint8(row, 0)] = fetched.rows.text(row, 1);
  }
  return fetched;
}

template <class Range>
Result<spi::ReadReply> reply_of(Connection& connection, const OutboxStatements& statements,
                                const Rows& rows, std::span<const Range> ranges,
                                std::size_t bytes_max) {
  auto selected = select(rows, ranges, bytes_max);
  auto large = fetch_large(connection, statements.payloads, rows, selected.rows);
  if (!large.ok()) return large.error();
  spi::ReadReply reply;
  reply.timeline = connection.timeline();
  reply.rows.reserve(selected.rows.size());
  auto row = selected.rows.begin();
  for (std::size_t at = 0; at < selected.parts.size(); ++at) {
    auto& part = selected.parts[at];
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < part.rows; ++i, ++row) {
      auto payload = rows.text(*row, row_column + RowColumns::payload);
      if (rows.is_null(*row, row_column + RowColumns::payload)) {
        const auto fetched =
            large->payloads.find(rows.uint8(*row, row_column + RowColumns::sequence));
        if (fetched == large->payloads.end()) continue;
        payload = fetched->second;
      }
      reply.rows.push_back(decode_row(rows, *row, row_column, ranges[at].shard, payload));
      ++kept;
    }
    part.rows = kept;
  }
  reply.parts = std::move(selected.parts);
  return reply;
}

std::optional<spi::Horizon> horizon_of(const Rows& rows) {
  constexpr std::uint32_t counted_from = 3;
  const auto next = static_cast<std::uint32_t>(rows.int8(0, row_column)) + counted_from;
  return decode_horizon(rows.text(0, snapshot_column), next,
                        rows.text(0, row_column + RowColumns::id));
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

PostgresOutbox::PostgresOutbox(Context& context, const AuditChain& audit, Wake& wake)
    : context_(context), audit_(audit), wake_(wake), statements_(context.names) {}

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
  const auto& statements = statements_of(table);
  Params params;
  params.int8(payload_max(ranges, bytes_max));
  params.array(Type::int2, ranges,
               [](const spi::Range& r) { return static_cast<std::int16_t>(r.shard.value); });
  params.array(Type::int2, ranges, [](const spi::Range& r) { return std::int16_t{r.lane.value}; });
  params.array(Type::int8, ranges, [](const spi::Range& r) { return int8_of(r.after.value); });
  params.array(Type::int8, ranges, [](const spi::Range& r) { return std::int64_t{r.rows_max}; });
  for (bool named = false;; named = true) {
    auto rows = (*connection)->run(statements.read, params, Effect::none);
    if (!rows.ok()) return rows.error();
    const auto shards_now = rows->text(0, row_column + RowColumns::topic);
    if (auto known = check_shards(table, shards_now); !known.ok()) return known.error();
    auto horizon = horizon_of(*rows);
    if (!horizon && !named) {
      auto drawn = (*connection)->run(statements.draw_transaction, {}, Effect::none);
      if (!drawn.ok()) return drawn.error();
      continue;
    }
    if (!horizon) return too_many_transactions();
    auto reply = reply_of(**connection, statements, *rows, ranges, bytes_max);
    if (reply.ok()) reply->horizon = std::move(horizon);
    return reply;
  }
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
  auto rows = (*connection)->run(statements.read_due, params, Effect::none);
  if (!rows.ok()) return rows.error();
  return reply_of(**connection, statements, *rows, ranges, bytes_max);
}

std::int64_t PostgresOutbox::payload_share(std::span<const spi::Range> ranges,
                                           std::size_t bytes_max) {
  return postgres::payload_max(ranges, bytes_max);
}

Result<spi::ReadReply> PostgresOutbox::reply(Connection& connection, const TableName& table,
                                             const Rows& rows, std::span<const spi::Range> ranges,
                                             std::size_t bytes_max) {
  return reply_of(connection, statements_of(table), rows, ranges, bytes_max);
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
    reply.keys.push_back({stable_hash(rows->text(row, 1)), Sequence{rows->uint8(row, 0)}});
  }
  return reply;
}

}  // namespace sagabox::postgres
