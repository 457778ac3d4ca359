#include "stores/sqlite/insert.hpp"

#include "core/headers_text.hpp"
#include "core/stored_message.hpp"
#include "stores/sqlite/counts.hpp"
#include "stores/sqlite/places.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace sagabox::sqlite {
namespace {

using Messages = std::span<const std::shared_ptr<const Message>>;

bool is_delayed(const Message& message, WallTime now) {
  return message.not_before() && *message.not_before() > now;
}

/// True if `InsertStatements::plain` can insert it, and it cannot exist already.
bool is_plain(const Message& message) {
  return message.has_fresh_id() && message.has_usual_details() &&
         message.priority() == Priority::normal && message.payload().form() == PayloadForm::json;
}

void bind_plain(Run& run, const Message& message, Place place, WallTime now) {
  run.with(place).with(message.id().view()).with(now).with(message.topic());
  run.with_or_null(message.key()).with_blob(bytes_of(message.digest()));
  run.with(message.occurred_at()).with_blob(message.payload().view());
}

Status insert_one(Run& run, const Message& message, Place place, WallTime now) {
  const std::string headers =
      message.headers().empty() ? std::string() : headers_text(message.headers());
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

Result<std::optional<Sequence>> known_sequence(Run run, const Message& message) {
  auto row = run.with(message.id().view()).with(message.tenant()).step();
  if (!row.ok()) return row.error();
  if (!*row) return std::optional<Sequence>();
  return std::optional(Sequence{run.natural(0)});
}

/// The messages of one insert into an outbox.
class Batch {
 public:
  Batch(Link& link, const TableName& table, const InsertStatements& statements, Messages messages,
        WallTime now)
      : link_(link), table_(table), statements_(statements), messages_(messages), now_(now) {}

  Result<std::vector<Written>> insert() {
    if (auto locked = lock(); !locked.ok()) return locked.error();
    auto last = last_sequence(link_, table_, statements_);
    if (!last.ok()) return last.error();
    last_ = *last;
    written_.reserve(messages_.size());
    inserted_.reserve(messages_.size());
    for (auto rest = messages_; !rest.empty();) {
      auto side_by_side = insert_plains(rest);
      if (!side_by_side.ok()) return side_by_side.error();
      const auto count = *side_by_side ? plains_together : 1;
      if (count == 1) {
        if (auto one = insert_next(*rest.front()); !one.ok()) return one.error();
      }
      rest = rest.subspan(count);
    }
    if (auto noted = note(); !noted.ok()) return noted.error();
    return std::move(written_);
  }

  /// A caller that commits in spite of the error commits nothing of the batch.
  void undo() {
    if (!link_.in_transaction()) return;
    for (const auto& row : inserted_) (void)remove(row);
  }

 private:
  struct Inserted {
    Place place;
    const Message* message;
  };

  /// Gets the write lock after a plain BEGIN. SQLite does not let a transaction that has read wait
  /// for that lock.
  Status lock() {
    if (sqlite3_txn_state(link_.handle(), "main") == SQLITE_TXN_WRITE) return {};
    auto locked = link_.run(statements_.lock).with(table_.str()).finish();
    // The next statement reports any other error, with a better message.
    if (!locked.ok() && locked.error().code == Code::storage_conflict) return locked.error();
    return {};
  }

  /// Most batches need to write nothing besides their messages.
  Status note() {
    std::int64_t waiting = 0;
    Sequence last{};
    for (const auto& [place, message] : inserted_) {
      if (place >= normal_from) continue;
      waiting += waits(place) ? 1 : 0;
      last = sequence_of(place);
    }
    if (last == Sequence{}) return {};
    auto run = link_.run(statements_.note);
    return run.with(table_.str()).with(waiting).with(last.value).finish();
  }

  /// Returns false if the next messages have to be inserted one by one.
  Result<bool> insert_plains(Messages rest) {
    if (rest.size() < plains_together) return false;
    const auto plains = rest.first(plains_together);
    if (!std::ranges::all_of(plains, [](const auto& message) { return is_plain(*message); })) {
      return false;
    }
    auto run = link_.run(statements_.plains);
    auto sequence = last_;
    for (const auto& message : plains) {
      ++sequence.value;
      inserted_.push_back({place_of(normal_from, sequence), message.get()});
      bind_plain(run, *message, inserted_.back().place, now_);
    }
    if (auto done = run.finish(); !done.ok()) return done.error();
    // One of the ids exists already, though it was generated for this message.
    if (link_.changes() != std::int64_t{plains_together}) return take_back_plains();
    for (const auto& message : plains) {
      ++last_.value;
      written_.push_back({message->id(), last_, Shard{}, false});
    }
    return true;
  }

  Result<bool> take_back_plains() {
    for (std::size_t row = 0; row < plains_together; ++row) {
      if (auto gone = remove(inserted_.back()); !gone.ok()) return gone.error();
      inserted_.pop_back();
    }
    return false;
  }

  Status remove(const Inserted& row) {
    auto run = link_.run(statements_.remove);
    return run.with(row.place).with(row.message->id().view()).finish();
  }

  Status insert_next(const Message& message) {
    auto first = ended(message);
    if (!first.ok()) return first.error();
    if (!*first) {
      first = insert_one_of(message);
      if (!first.ok()) return first.error();
    } else {
      // A pending message with the id takes precedence over those that have ended.
      auto pending = known_sequence(link_.run(statements_.pending), message);
      if (!pending.ok()) return pending.error();
      if (*pending) first = pending;
    }
    const bool known = first->has_value();
    written_.push_back({message.id(), known ? **first : last_, Shard{}, known});
    return {};
  }

  /// The sequence of the tenant's ended message with this id.
  Result<std::optional<Sequence>> ended(const Message& message) {
    if (message.has_fresh_id()) return std::optional<Sequence>();
    return known_sequence(link_.run(statements_.ended), message);
  }

  /// Inserts the message. Returns the sequence of the tenant's pending message with this id, or
  /// nullopt if the message was inserted.
  Result<std::optional<Sequence>> insert_one_of(const Message& message) {
    const bool waits = is_delayed(message, now_);
    const auto place = place_of(waits ? waiting_from : lane_from(spi::lane_of(message)),
                                Sequence{last_.value + 1});
    if (auto done = insert_at(place, message); !done.ok()) return done.error();
    if (link_.changes() == 0) return known_sequence(link_.run(statements_.pending), message);
    ++last_.value;
    inserted_.push_back({place, &message});
    return std::optional<Sequence>();
  }

  Status insert_at(Place place, const Message& message) {
    if (!is_plain(message)) {
      auto run = link_.run(statements_.insert);
      return insert_one(run, message, place, now_);
    }
    auto run = link_.run(statements_.plain);
    bind_plain(run, message, place, now_);
    return run.finish();
  }

  Link& link_;
  const TableName& table_;
  const InsertStatements& statements_;
  Messages messages_;
  WallTime now_;
  Sequence last_{};
  std::vector<Written> written_;
  std::vector<Inserted> inserted_;
};

}  // namespace

Result<Sequence> last_sequence(Link& link, const TableName& table,
                               const InsertStatements& statements) {
  auto run = link.run(statements.last);
  auto row = run.step();
  if (row.ok() && *row) return Sequence{run.natural(0)};
  // If the outbox does not exist, its tables do not either, and SQLite's error names only those.
  auto known = link.run(statements.known).with(table.str()).step();
  if (known.ok() && !*known) return no_table(table.str());
  return row.ok() ? no_table(table.str()) : row.error();
}

Result<std::vector<Written>> insert_messages(Link& link, const TableName& table,
                                             const InsertStatements& statements, Messages messages,
                                             WallTime now) {
  if (messages.empty()) return std::vector<Written>();
  Batch batch(link, table, statements, messages, now);
  auto written = batch.insert();
  if (!written.ok()) batch.undo();
  return written;
}

}  // namespace sagabox::sqlite
