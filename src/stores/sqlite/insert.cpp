#include "stores/sqlite/insert.hpp"

#include "core/headers_text.hpp"
#include "core/stored_message.hpp"
#include "stores/sqlite/counts.hpp"
#include "stores/sqlite/fragments.hpp"
#include "stores/sqlite/places.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace sagabox::sqlite {
namespace {

/// ?1 outbox.
constexpr std::string_view lock_sql = R"sql(
UPDATE sagabox_outbox SET seq = seq WHERE name = ?1
)sql";

constexpr std::string_view last_sql = R"sql(
SELECT {last} FROM sagabox_outbox WHERE name = '{table}'
)sql";

/// ?1 outbox.
constexpr std::string_view known_sql = R"sql(
SELECT 1 FROM sagabox_outbox WHERE name = ?1
)sql";

/// ?1 place, ?2 id, ?3 due, ?4 written_at, then what it carries.
constexpr std::string_view insert_sql = R"sql(
INSERT INTO "{table}_pending" (
  place, id, due, written_at, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json,
  digest, content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
  correlation_id, payload)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
        ?20, ?21)
ON CONFLICT (id) DO NOTHING
)sql";

/// ?1 id.
constexpr std::string_view ended_sql = R"sql(
SELECT seq FROM "{table}_archive" WHERE id = ?1
UNION ALL
SELECT seq FROM "{table}_dead" WHERE id = ?1
)sql";

/// ?1 id.
constexpr std::string_view pending_sql = R"sql(
SELECT seq FROM "{table}_pending" WHERE id = ?1
)sql";

/// ?1 outbox, ?2 how many wait, ?3 the last sequence of what is not in the normal lane.
constexpr std::string_view note_sql = R"sql(
UPDATE sagabox_outbox SET waiting = waiting + ?2, seq = max(seq, ?3) WHERE name = ?1
)sql";

/// ?1 place.
constexpr std::string_view remove_sql = R"sql(
DELETE FROM "{table}_pending" WHERE place = ?1
)sql";

using Messages = std::span<const std::shared_ptr<const Message>>;

bool is_delayed(const Message& message, WallTime now) {
  return message.not_before() && *message.not_before() > now;
}

Status insert_one(Run& run, const Message& message, Place place, WallTime now) {
  const std::string headers =
      message.headers().empty() ? std::string() : headers_text(message.headers());
  run.reset();
  run.with(place).with(message.id().view());
  run.with(waits(place) ? message.not_before() : std::nullopt).with(now);
  run.with(message.tenant()).with(message.topic()).with(message.aggregate_type());
  run.with_or_null(message.aggregate_id()).with_or_null(message.key());
  run.with(static_cast<int>(message.priority()))
      .with(message.payload().form() == PayloadForm::json)
      .with_blob(bytes_of(message.digest()))
      .with(message.content_type())
      .with_or_null(headers)
      .with(message.occurred_at())
      .with(message.not_before());
  const auto& trace = message.trace();
  run.with_or_null(trace.traceparent).with_or_null(trace.tracestate);
  run.with_or_null(trace.request_id).with_or_null(trace.correlation_id);
  run.with_blob(message.payload().view());
  return run.finish();
}

Result<std::optional<Sequence>> sequence_of(Run run, const MessageId& id) {
  auto row = run.with(id.view()).step();
  if (!row.ok()) return row.error();
  if (!*row) return std::optional<Sequence>();
  return std::optional(Sequence{run.natural(0)});
}

/// Messages on their way into one outbox.
class Batch {
 public:
  Batch(Link& link, const InsertStatements& statements, Messages messages, WallTime now)
      : link_(link), statements_(statements), messages_(messages), now_(now) {}

  Result<std::vector<Written>> insert() {
    if (auto locked = lock(); !locked.ok()) return locked.error();
    auto last = last_sequence(link_, statements_);
    if (!last.ok()) return last.error();
    last_ = *last;
    std::vector<Written> written;
    written.reserve(messages_.size());
    inserted_.reserve(messages_.size());
    auto run = link_.run(statements_.insert);
    for (const auto& message : messages_) {
      auto first = ended(*message);
      if (!first.ok()) return first.error();
      if (!*first) first = insert_one_of(run, *message);
      if (!first.ok()) return first.error();
      const bool known = first->has_value();
      written.push_back({message->id(), known ? **first : last_, Shard{}, known});
    }
    if (auto noted = note(); !noted.ok()) return noted.error();
    return written;
  }

  /// Whoever commits in spite of the error finds nothing of the batch.
  void undo() {
    if (!link_.in_transaction()) return;
    for (const auto place : inserted_) (void)link_.run(statements_.remove).with(place).finish();
  }

 private:
  /// After a plain BEGIN. One that has read first is not waited for when it wants to write.
  Status lock() {
    if (sqlite3_txn_state(link_.handle(), "main") == SQLITE_TXN_WRITE) return {};
    auto locked = link_.run(statements_.lock).with(statements_.name).finish();
    // Any other error is told by what comes next, which knows what it means.
    if (!locked.ok() && locked.error().code == Code::storage_conflict) return locked.error();
    return {};
  }

  /// Most batches write nothing beside their messages.
  Status note() {
    std::int64_t waiting = 0;
    Sequence last{};
    for (const auto place : inserted_) {
      if (place >= normal_from) continue;
      waiting += waits(place) ? 1 : 0;
      last = sqlite::sequence_of(place);
    }
    if (last == Sequence{}) return {};
    auto run = link_.run(statements_.note);
    return run.with(statements_.name).with(waiting).with(last.value).finish();
  }

  /// Where the message is that has this id and has ended.
  Result<std::optional<Sequence>> ended(const Message& message) {
    if (message.has_fresh_id()) return std::optional<Sequence>();
    return sequence_of(link_.run(statements_.ended), message.id());
  }

  /// Where the message is that has this id and is pending; nothing: it is this one.
  Result<std::optional<Sequence>> insert_one_of(Run& run, const Message& message) {
    const bool waits = is_delayed(message, now_);
    const auto place = place_of(waits ? waiting_from : lane_from(spi::lane_of(message)),
                                Sequence{last_.value + 1});
    if (auto done = insert_one(run, message, place, now_); !done.ok()) return done.error();
    if (link_.changes() == 0) return sequence_of(link_.run(statements_.pending), message.id());
    ++last_.value;
    inserted_.push_back(place);
    return std::optional<Sequence>();
  }

  Link& link_;
  const InsertStatements& statements_;
  Messages messages_;
  WallTime now_;
  Sequence last_{};
  std::vector<Place> inserted_;
};

}  // namespace

InsertStatements::InsertStatements(const TableName& table) : name(table.str()) {
  const Filler fill(table);
  lock = fill(lock_sql);
  last = fill(last_sql);
  known = fill(known_sql);
  insert = fill(insert_sql);
  ended = fill(ended_sql);
  pending = fill(pending_sql);
  note = fill(note_sql);
  remove = fill(remove_sql);
}

Result<Sequence> last_sequence(Link& link, const InsertStatements& statements) {
  auto run = link.run(statements.last);
  auto row = run.step();
  if (row.ok() && *row) return Sequence{run.natural(0)};
  // Without the outbox its tables are not there either, and SQLite speaks of those.
  auto known = link.run(statements.known).with(statements.name).step();
  if (known.ok() && !*known) return no_table(statements.name);
  return row.ok() ? no_table(statements.name) : row.error();
}

Result<std::vector<Written>> insert_messages(Link& link, const InsertStatements& statements,
                                             Messages messages, WallTime now) {
  if (messages.empty()) return std::vector<Written>();
  Batch batch(link, statements, messages, now);
  auto written = batch.insert();
  if (!written.ok()) batch.undo();
  return written;
}

}  // namespace sagabox::sqlite
