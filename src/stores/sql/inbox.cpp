#include "stores/sql/inbox.hpp"

#include "spi/barrier_rules.hpp"

#include <array>
#include <optional>
#include <string_view>

namespace sagabox::sql {
namespace {

using spi::BarrierState;

constexpr std::array<std::string_view, 3> barrier_states{"acted", "undone", "refused"};

std::string_view name_of(BarrierState state) {
  return barrier_states[static_cast<std::size_t>(state)];
}

std::optional<BarrierState> barrier_state(const Row& row, int column) {
  for (const auto state : {BarrierState::acted, BarrierState::undone, BarrierState::refused}) {
    if (row.text(column) == name_of(state)) return state;
  }
  return std::nullopt;
}

}  // namespace

InboxStatements::InboxStatements(Sections& sections)
    : first_time(sections.take("inbox_first_time")),
      renew(sections.take("inbox_renew")),
      barrier(sections.take("inbox_barrier")) {}

InboxStoreStatements::InboxStoreStatements(Sections& sections)
    : is_made(sections.take("inbox_made")),
      taken(sections.take("inbox_taken")),
      purge_keys(sections.take("inbox_purge_keys")),
      purge_barriers(sections.take("inbox_purge_barriers")) {}

std::optional<WallTime> TransactionInbox::now() const {
  return clock_ == nullptr ? std::nullopt : std::optional(clock_->wall_now());
}

Result<bool> TransactionInbox::first_time(const IdempotencyKey& key) {
  if (auto valid = key.check(); !valid.ok()) return valid.error();
  auto session = open_();
  if (!session.ok()) return session.error();
  auto rows = (*session)->run(statements_->first_time, {key.tenant, key.consumer, key.key, now()});
  if (!rows.ok()) return rows.error();
  if (!rows->empty()) return true;
  // The message may come once more, as long from now on as after the first time.
  const auto age_min =
      std::chrono::floor<std::chrono::microseconds>(spi::inbox_renewal_interval).count();
  auto renewed =
      (*session)->run(statements_->renew, {key.tenant, key.consumer, key.key, age_min, now()});
  if (!renewed.ok()) return renewed.error();
  return false;
}

Result<BarrierAnswer> TransactionInbox::barrier(const BarrierCall& call) {
  if (auto valid = spi::check_barrier(call); !valid.ok()) return valid.error();
  auto session = open_();
  if (!session.ok()) return session.error();
  const auto first = spi::decide_barrier(std::nullopt, call.direction).after;
  const auto keep_until = call.deadline + std::chrono::ceil<WallTime::duration>(call.retention);
  auto rows = (*session)->run(statements_->barrier, {call.tenant, call.saga, call.step, call.round,
                                                     name_of(first), keep_until});
  if (!rows.ok()) return rows.error();
  return spi::decide_barrier(barrier_state(rows->front(), 0), call.direction).answer;
}

Result<std::vector<bool>> InboxStore::taken(std::span<const IdempotencyKey> keys) {
  std::vector<bool> taken;
  if (keys.empty()) return taken;
  auto session = parts_.sessions.reader();
  if (!session.ok()) return session.error();
  std::vector<Call> calls;
  for (const auto& key : keys) {
    calls.push_back({&statements_.taken, {key.tenant, key.consumer, key.key}});
  }
  auto answers = (*session)->run(calls);
  if (!answers.ok()) return answers.error();
  for (const auto& rows : *answers) taken.push_back(!rows.empty());
  return taken;
}

Result<spi::InboxPurgeReply> InboxStore::purge(const spi::InboxPurge& request) {
  const auto now = parts_.clock == nullptr ? std::nullopt : std::optional(parts_.clock->wall_now());
  const auto age = std::chrono::floor<std::chrono::microseconds>(request.older_than).count();
  auto session = parts_.sessions.autocommit();
  if (!session.ok()) return session.error();
  const std::array calls{Call{&statements_.purge_keys, {request.rows_max, age, now}},
                         Call{&statements_.purge_barriers, {request.rows_max, now}}};
  auto answers = (*session)->run(calls);
  if (!answers.ok()) return answers.error();
  return spi::InboxPurgeReply{answers->at(0).size(), answers->at(1).size()};
}

}  // namespace sagabox::sql
