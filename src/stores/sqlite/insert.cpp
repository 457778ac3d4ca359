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

/// ?1 outbox, ?2 how many, ?3 how many of them wait. Answers with the last of the sequences.
constexpr std::string_view draw_sql = R"sql(
UPDATE sagabox_outbox SET seq = seq + ?2, pending = pending + ?2, waiting = waiting + ?3
WHERE name = ?1
RETURNING seq
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

/// No id above this one has ended. New ids mostly are: they need not be looked for one by one.
constexpr std::string_view highest_ended_sql = R"sql(
SELECT max((SELECT coalesce(max(id), '') FROM "{table}_archive"),
           (SELECT coalesce(max(id), '') FROM "{table}_dead"))
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

/// ?1 outbox, ?2 how many, ?3 how many of them wait.
constexpr std::string_view undraw_sql = R"sql(
UPDATE sagabox_outbox SET pending = pending - ?2, waiting = waiting - ?3 WHERE name = ?1
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

/// Messages on their way into one outbox: numbered and counted first, then inserted.
class Batch {
 public:
  Batch(Link& link, const InsertStatements& statements, Messages messages, WallTime now)
      : link_(link), statements_(statements), messages_(messages), now_(now) {}

  Status draw() {
    const auto delayed = std::ranges::count_if(
        messages_, [&](const auto& message) { return is_delayed(*message, now_); });
    auto run = link_.run(statements_.draw);
    auto row = run.with(statements_.name).with(messages_.size()).with(delayed).step();
    if (!row.ok()) return row.error();
    if (!*row) return no_table(statements_.name);
    next_ = Sequence{run.natural(0) - messages_.size() + 1};
    return run.finish();
  }

  Result<std::vector<Written>> insert() {
    if (auto known = find_highest_ended(); !known.ok()) return known.error();
    std::vector<Written> written;
    written.reserve(messages_.size());
    inserted_.reserve(messages_.size());
    auto run = link_.run(statements_.insert);
    for (const auto& message : messages_) {
      auto first = ended(message->id());
      if (!first.ok()) return first.error();
      if (!*first) first = insert_one_of(run, *message);
      if (!first.ok()) return first.error();
      if (!*first) {
        written.push_back({message->id(), next_, Shard{}, false});
        ++next_.value;
        continue;
      }
      written.push_back({message->id(), **first, Shard{}, true});
      ++known_;
      known_delayed_ += is_delayed(*message, now_) ? 1 : 0;
    }
    if (known_ == 0) return written;
    if (auto undone = uncount(known_, known_delayed_); !undone.ok()) return undone.error();
    return written;
  }

  /// Whoever commits in spite of the error finds nothing of the batch.
  void undo() {
    if (!link_.in_transaction()) return;
    for (const auto place : inserted_) (void)link_.run(statements_.remove).with(place).finish();
    const auto delayed = std::ranges::count_if(
        messages_, [&](const auto& message) { return is_delayed(*message, now_); });
    (void)uncount(static_cast<std::int64_t>(messages_.size()), delayed);
  }

 private:
  Status uncount(std::int64_t rows, std::int64_t delayed) {
    return link_.run(statements_.undraw).with(statements_.name).with(rows).with(delayed).finish();
  }

  Status find_highest_ended() {
    auto run = link_.run(statements_.highest_ended);
    auto row = run.step();
    if (!row.ok()) return row.error();
    highest_ended_ = run.text(0);
    return {};
  }

  /// Where the message is that has this id and has ended.
  Result<std::optional<Sequence>> ended(const MessageId& id) {
    if (id.view() > highest_ended_) return std::optional<Sequence>();
    return sequence_of(link_.run(statements_.ended), id);
  }

  /// Where the message is that has this id and is pending; nothing: it is this one.
  Result<std::optional<Sequence>> insert_one_of(Run& run, const Message& message) {
    const bool waits = is_delayed(message, now_);
    const auto place = place_of(waits ? waiting_from : lane_from(spi::lane_of(message)), next_);
    if (auto done = insert_one(run, message, place, now_); !done.ok()) return done.error();
    if (link_.changes() == 0) return sequence_of(link_.run(statements_.pending), message.id());
    inserted_.push_back(place);
    return std::optional<Sequence>();
  }

  Link& link_;
  const InsertStatements& statements_;
  Messages messages_;
  WallTime now_;
  Sequence next_{};
  std::string highest_ended_;
  std::vector<Place> inserted_;
  std::int64_t known_ = 0;
  std::int64_t known_delayed_ = 0;
};

}  // namespace

InsertStatements::InsertStatements(const TableName& table) : name(table.str()) {
  const Filler fill(table);
  draw = fill(draw_sql);
  insert = fill(insert_sql);
  highest_ended = fill(highest_ended_sql);
  ended = fill(ended_sql);
  pending = fill(pending_sql);
  undraw = fill(undraw_sql);
  remove = fill(remove_sql);
}

Result<std::vector<Written>> insert_messages(Link& link, const InsertStatements& statements,
                                             Messages messages, WallTime now) {
  if (messages.empty()) return std::vector<Written>();
  Batch batch(link, statements, messages, now);
  if (auto drawn = batch.draw(); !drawn.ok()) return drawn.error();
  auto written = batch.insert();
  if (!written.ok()) batch.undo();
  return written;
}

}  // namespace sagabox::sqlite
