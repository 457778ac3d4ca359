#include "stores/sql/replay.hpp"

#include <string>
#include <utility>

namespace sagabox::sql {

Error KnownOutbox::no_table(const TableName& table) {
  return {Code::config_invalid,
          "there is no outbox table \"" + table.str() + "\"; call prepare() for it first"};
}

Status KnownOutbox::check(Session& session, const TableName& table) const {
  auto rows = session.run(statement_, {table.str()});
  if (!rows.ok()) return rows.error();
  if (rows->empty()) return no_table(table);
  return {};
}

Values filter_values(const MessageFilter& filter) {
  std::optional<std::string_view> code;
  if (filter.code) code = code_name(*filter.code);
  return {filter.tenant, filter.topic, filter.aggregate_type, filter.key,  code,
          filter.first,  filter.last,  filter.retrying,       filter.from, filter.until};
}

std::vector<std::int64_t> numbers_of(std::span<const Sequence> sequences) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(sequences.size());
  for (const auto sequence : sequences) {
    numbers.push_back(static_cast<std::int64_t>(sequence.value));
  }
  return numbers;
}

std::vector<Sequence> sequences_of(const Rows& rows) {
  std::vector<Sequence> sequences;
  for (const auto row : rows) sequences.push_back(Sequence{row.natural(0)});
  return sequences;
}

const Statement& of_state(MessageState state, const Statement& pending, const Statement& ended,
                          const Statement& done) {
  if (state == MessageState::pending) return pending;
  return state == MessageState::done ? done : ended;
}

Result<Extent> Replay::extent(Session& session, const TableName& table, MessageState state,
                              const MessageFilter& filter) {
  const auto& all = statements_.of(table);
  auto values = filter_values(filter);
  values.emplace_back(state_name(state));
  auto rows = session.run(of_state(state, all.extent_pending, all.extent_ended, all.extent_done),
                          std::move(values));
  if (!rows.ok()) return rows.error();
  return Extent{rows->front().natural(0), Sequence{rows->front().natural(1)}};
}

Result<Replay::Next> Replay::next(Session& session, const TableName& table, const ReplayJob& job,
                                  std::uint32_t rows_max) {
  const auto& all = statements_.of(table);
  auto values = filter_values(job.filter);
  values.insert(values.end(), {job.cursor, job.last, rows_max, state_name(job.from)});
  auto rows = session.run(job.from == MessageState::done ? all.next_done : all.next_ended,
                          std::move(values));
  if (!rows.ok()) return rows.error();
  Next next{.sequences = sequences_of(*rows), .exhausted = rows->size() <= rows_max};
  if (!next.exhausted) next.sequences.resize(rows_max);
  return next;
}

Result<std::vector<Sequence>> Replay::replay(Session& session, const TableName& table,
                                             std::span<const Sequence> sequences, WallTime now,
                                             bool as_new) {
  if (sequences.empty()) return std::vector<Sequence>();
  auto rows = session.run(statements_.of(table).replay, {numbers_of(sequences), now, as_new});
  if (!rows.ok()) return rows.error();
  return sequences_of(*rows);
}

}  // namespace sagabox::sql
