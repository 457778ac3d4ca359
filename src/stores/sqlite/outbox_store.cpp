#include "stores/sqlite/outbox_store.hpp"

#include "core/key_hash.hpp"
#include "stores/sqlite/decode.hpp"
#include "stores/sqlite/places.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::sqlite {
namespace {

/// The number that a relay with default options requests; memory for them is reserved.
constexpr std::uint32_t rows_usual = 1000;

/// Collects rows range by range until the limit of bytes is reached.
class Collected {
 public:
  explicit Collected(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Takes the rows of the next range, which has one row more than requested if there are more.
  /// Returns false if there is no room for more.
  Result<bool> take(Run run, std::uint32_t rows_max) {
    spi::ReadReply::Part part{0, true};
    bool room = true;
    for (;;) {
      auto row = run.step();
      if (!row.ok()) return row.error();
      if (!*row) break;
      part.exhausted = part.rows < rows_max;
      if (!part.exhausted) break;
      if (reply_.rows.empty()) reply_.rows.reserve(std::min(rows_max, rows_usual));
      auto decoded = decode_row(run);
      const auto more = bytes_of_row(run, decoded);
      room = reply_.rows.empty() || (more <= bytes_max_ && bytes_ <= bytes_max_ - more);
      part.exhausted = room;
      if (!room) break;
      bytes_ += more;
      reply_.rows.push_back(std::move(decoded));
      ++part.rows;
    }
    reply_.parts.push_back(part);
    return room;
  }

  spi::ReadReply reply() { return std::move(reply_); }

 private:
  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  spi::ReadReply reply_;
};

/// Relays use only one shard; others have no rows.
template <class Range>
bool is_ours(const Range& range) {
  return range.shard == Shard{};
}

}  // namespace

Status SqliteOutbox::prepare(const TableName& table) {
  auto reader = context_.readers.take();
  if (!reader.ok()) return reader.error();
  return context_.migrations.prepare(**reader, *context_.writer, table);
}

Result<spi::ReadReply> SqliteOutbox::durable(const TableName& table, Result<spi::ReadReply> reply) {
  if (!reply.ok() || reply->rows.empty()) return reply;
  const auto last = std::ranges::max(reply->rows, {}, &spi::Row::sequence).sequence;
  if (auto synced = context_.durable.require(table, last); !synced.ok()) return synced.error();
  return reply;
}

Result<spi::ReadReply> SqliteOutbox::read(const TableName& table,
                                          std::span<const spi::Range> ranges,
                                          std::size_t bytes_max) {
  auto reader = context_.readers.take();
  if (!reader.ok()) return reader.error();
  const auto& statements = statements_.of(table);
  Collected collected(bytes_max);
  for (const auto& range : ranges) {
    const auto from = lane_from(range.lane);
    auto run = (*reader)->run(statements.read);
    run.with(place_of(from, range.after)).with(is_ours(range) ? last_of(from) : 0);
    run.with(range.rows_max);
    auto room = collected.take(std::move(run), range.rows_max);
    if (!room.ok()) return room.error();
    if (!*room) break;
  }
  return durable(table, collected.reply());
}

Result<spi::ReadReply> SqliteOutbox::read_due(const TableName& table,
                                              std::span<const spi::DueRange> ranges,
                                              std::size_t bytes_max) {
  auto reader = context_.readers.take();
  if (!reader.ok()) return reader.error();
  const auto& statements = statements_.of(table);
  const auto now = context_.clock.wall_now();
  Collected collected(bytes_max);
  for (const auto& range : ranges) {
    auto run = (*reader)->run(statements.read_due);
    run.with(range.after_due).with(place_of(waiting_from, range.after));
    run.with(is_ours(range) ? now : WallTime::min()).with(range.rows_max);
    auto room = collected.take(std::move(run), range.rows_max);
    if (!room.ok()) return room.error();
    if (!*room) break;
  }
  return durable(table, collected.reply());
}

Result<spi::RetryingKeysReply> SqliteOutbox::read_retrying_keys(const TableName& table, Shard shard,
                                                                Sequence after,
                                                                std::uint32_t rows_max) {
  auto reader = context_.readers.take();
  if (!reader.ok()) return reader.error();
  auto run = (*reader)->run(statements_.of(table).retrying_keys);
  run.with(place_of(waiting_from, after)).with(shard == Shard{} ? last_of(waiting_from) : 0);
  run.with(rows_max);
  spi::RetryingKeysReply reply;
  for (;;) {
    auto row = run.step();
    if (!row.ok()) return row.error();
    reply.exhausted = !*row;
    if (!*row || reply.keys.size() == rows_max) return reply;
    reply.keys.push_back({key_hash(run.text(2), run.text(1)), sequence_of(run.integer(0))});
  }
}

}  // namespace sagabox::sqlite
