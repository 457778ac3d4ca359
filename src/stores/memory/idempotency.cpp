#include "stores/memory/idempotency.hpp"

#include "observe/audit_events.hpp"
#include "spi/idempotency_rules.hpp"
#include "stores/memory/database.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::memory {

using CheckReplies = std::vector<spi::IdempotencyCheckReply>;

Result<CheckReplies> Idempotency::check(std::span<const spi::IdempotencyCheck> checks) {
  return database_.faulty(Operation::idempotency_check, [&]() -> Result<CheckReplies> {
    CheckReplies replies;
    const std::lock_guard lock(database_.mutex_);
    auto& records = database_.state_.idempotency;
    for (const auto& check : checks) {
      const auto known = records.find(check.key);
      auto reply = spi::after_check(known == records.end() ? nullptr : &known->second, check,
                                    database_.now());
      if (reply.taken) records.insert_or_assign(check.key, reply.record);
      replies.push_back(std::move(reply));
    }
    return replies;
  });
}

template <class Change>
std::vector<bool> Idempotency::apply_all(std::span<const Change> changes) {
  std::vector<bool> held;
  const std::lock_guard lock(database_.mutex_);
  auto& records = database_.state_.idempotency;
  for (const auto& change : changes) {
    const auto known = records.find(change.key);
    held.push_back(known != records.end() && spi::apply(change, known->second, database_.now()));
  }
  return held;
}

Result<std::vector<bool>> Idempotency::finish(std::span<const spi::IdempotencyFinish> finished) {
  return database_.faulty(Operation::idempotency_end,
                          [&]() -> Result<std::vector<bool>> { return apply_all(finished); });
}

Result<std::vector<bool>> Idempotency::fail(std::span<const spi::IdempotencyFail> failed) {
  return database_.faulty(Operation::idempotency_end,
                          [&]() -> Result<std::vector<bool>> { return apply_all(failed); });
}

Result<std::vector<bool>> Idempotency::renew(std::span<const spi::IdempotencyRenew> renewals) {
  return database_.faulty(Operation::idempotency_renew,
                          [&]() -> Result<std::vector<bool>> { return apply_all(renewals); });
}

std::uint64_t Idempotency::remove_expired(std::uint32_t rows_max) {
  auto& records = database_.state_.idempotency;
  std::vector<const IdempotencyRecord*> expired;
  for (const auto& [key, record] : records) {
    if (spi::is_expired(record, database_.now())) expired.push_back(&record);
  }
  std::ranges::stable_sort(expired, {}, &IdempotencyRecord::expires_at);
  if (expired.size() > rows_max) expired.resize(rows_max);
  for (const auto* record : expired) records.erase(IdempotencyKey(record->key));
  return expired.size();
}

Result<std::uint64_t> Idempotency::purge(const spi::IdempotencyPurge& request) {
  return database_.faulty(Operation::idempotency_purge, [&]() -> Result<std::uint64_t> {
    const std::lock_guard lock(database_.mutex_);
    const auto removed = request.key ? database_.state_.idempotency.erase(*request.key)
                                     : remove_expired(request.rows_max);
    if (removed > 0 && !request.actor.empty()) {
      database_.state_.audit.append(idempotency_purge_event(request.key, removed, request.actor,
                                                            request.note, database_.now()));
    }
    return removed;
  });
}

Result<std::vector<IdempotencyRecord>> Idempotency::list(
    const spi::IdempotencyListRequest& request) {
  using Records = std::vector<IdempotencyRecord>;
  return database_.faulty(Operation::idempotency_look, [&]() -> Result<Records> {
    Records found;
    const std::lock_guard lock(database_.mutex_);
    const auto& records = database_.state_.idempotency;
    for (auto at = records.upper_bound(request.after); at != records.end(); ++at) {
      if (found.size() >= request.rows_max) break;
      const auto& [key, record] = *at;
      if (request.tenant && key.tenant != *request.tenant) continue;
      if (request.consumer && key.consumer != *request.consumer) continue;
      if (request.state && record.state != *request.state) continue;
      found.push_back(record);
    }
    return found;
  });
}

Result<std::optional<IdempotencyRecord>> Idempotency::get(const IdempotencyKey& key) {
  using Found = std::optional<IdempotencyRecord>;
  return database_.faulty(Operation::idempotency_look, [&]() -> Result<Found> {
    const std::lock_guard lock(database_.mutex_);
    const auto& records = database_.state_.idempotency;
    const auto known = records.find(key);
    return known == records.end() ? Found() : Found(known->second);
  });
}

}  // namespace sagabox::memory
