#include "stores/memory/inbox.hpp"

#include "stores/memory/database.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace sagabox::memory {
namespace {

Error other_has_it() {
  return {Code::storage_conflict,
          "another open transaction has the same key; roll back and try again when it has ended"};
}

Error inbox_aborted() {
  return {Code::storage_unavailable,
          "the transaction was aborted by a fail-over; roll back and begin again"};
}

const BarrierRow* find_barrier(const InboxRows& rows, const BarrierKey& key) {
  const auto found = rows.barriers.find(key);
  return found == rows.barriers.end() ? nullptr : &found->second;
}

/// The oldest that match, at most `rows_max`.
template <class Rows, class Time>
std::uint64_t remove_oldest(Rows& rows, WallTime until, std::uint32_t rows_max, Time&& time) {
  std::vector<std::pair<WallTime, typename Rows::key_type>> old;
  for (const auto& [key, row] : rows) {
    if (time(row) <= until) old.emplace_back(time(row), key);
  }
  std::ranges::sort(old);
  if (old.size() > rows_max) old.resize(rows_max);
  for (const auto& [at, key] : old) rows.erase(key);
  return old.size();
}

}  // namespace

void InboxRows::add(InboxRows other) {
  for (auto& [key, at] : other.keys) keys.insert_or_assign(key, at);
  for (auto& [key, row] : other.barriers) barriers.insert_or_assign(key, row);
}

Result<bool> MemoryInbox::first_time(OpenTransaction& transaction, const IdempotencyKey& key) {
  if (auto valid = key.check(); !valid.ok()) return valid.error();
  return database_.faulty(Operation::inbox, [&]() -> Result<bool> {
    const std::lock_guard lock(database_.mutex_);
    if (transaction.aborted) return inbox_aborted();
    if (transaction.inbox.keys.contains(key)) return false;
    const auto known = database_.state_.inbox.keys.find(key);
    if (known != database_.state_.inbox.keys.end()) {
      const auto now = database_.now();
      if (known->second <=
          now - std::chrono::floor<WallTime::duration>(spi::inbox_renewal_interval)) {
        transaction.inbox.keys.emplace(key, now);
      }
      return false;
    }
    for (const auto& open : database_.open_) {
      if (open->inbox.keys.contains(key)) return other_has_it();
    }
    transaction.inbox.keys.emplace(key, database_.now());
    return true;
  });
}

Result<BarrierAnswer> MemoryInbox::barrier(OpenTransaction& transaction, const BarrierCall& call) {
  if (auto valid = spi::check_barrier(call); !valid.ok()) return valid.error();
  return database_.faulty(Operation::inbox, [&]() -> Result<BarrierAnswer> {
    const BarrierKey key{call.tenant, call.saga, call.step, call.round};
    const std::lock_guard lock(database_.mutex_);
    if (transaction.aborted) return inbox_aborted();
    for (const auto& open : database_.open_) {
      if (open.get() != &transaction && open->inbox.barriers.contains(key)) return other_has_it();
    }
    const BarrierRow* known = find_barrier(transaction.inbox, key);
    if (known == nullptr) known = find_barrier(database_.state_.inbox, key);
    const auto step = spi::decide_barrier(
        known != nullptr ? std::optional(known->state) : std::nullopt, call.direction);
    auto keep_until = call.deadline + std::chrono::ceil<WallTime::duration>(call.retention);
    if (known != nullptr) keep_until = std::max(keep_until, known->keep_until);
    transaction.inbox.barriers.insert_or_assign(key, BarrierRow{step.after, keep_until});
    return step.answer;
  });
}

Status MemoryInbox::prepare() {
  return database_.faulty(Operation::inbox, [] { return Status(); });
}

Result<std::vector<bool>> MemoryInbox::taken(std::span<const IdempotencyKey> keys) {
  return database_.faulty(Operation::inbox, [&]() -> Result<std::vector<bool>> {
    std::vector<bool> taken;
    const std::lock_guard lock(database_.mutex_);
    for (const auto& key : keys) taken.push_back(database_.state_.inbox.keys.contains(key));
    return taken;
  });
}

Result<spi::InboxPurgeReply> MemoryInbox::purge(const spi::InboxPurge& request) {
  return database_.faulty(Operation::inbox, [&]() -> Result<spi::InboxPurgeReply> {
    const std::lock_guard lock(database_.mutex_);
    auto& rows = database_.state_.inbox;
    const auto now = database_.now();
    const auto until = now - std::chrono::floor<WallTime::duration>(request.older_than);
    return spi::InboxPurgeReply{
        remove_oldest(rows.keys, until, request.rows_max, [](WallTime at) { return at; }),
        remove_oldest(rows.barriers, now, request.rows_max,
                      [](const BarrierRow& row) { return row.keep_until; })};
  });
}

}  // namespace sagabox::memory
