#include "spi/idempotency_rules.hpp"

#include <utility>

namespace sagabox::spi {
namespace {

using State = IdempotencyState;

/// Databases store microseconds.
WallTime after(WallTime now, Duration by) {
  return now + std::chrono::floor<WallTime::duration>(by);
}

/// Whether the holder with this ticket may change the state to `to`, or has done so before.
bool may_become(const IdempotencyRecord& record, IdempotencyTicket ticket, State to) {
  return record.ticket == ticket && (record.state == State::in_flight || record.state == to);
}

}  // namespace

bool is_expired(const IdempotencyRecord& record, WallTime now) noexcept {
  const bool held = record.state == State::in_flight && record.lease_until > now;
  return record.expires_at <= now && !held;
}

bool is_free(const IdempotencyRecord& record, const Digest& request_hash, WallTime now) noexcept {
  if (record.state == State::released || is_expired(record, now)) return true;
  return record.state == State::in_flight && record.lease_until <= now &&
         record.request_hash == request_hash;
}

IdempotencyCheckReply after_check(const IdempotencyRecord* known, const IdempotencyCheck& check,
                                  WallTime now) {
  const bool repeated =
      known != nullptr && known->state == State::in_flight && known->ticket == check.ticket;
  if (known != nullptr && !repeated && !is_free(*known, check.request_hash, now)) {
    return {false, *known};
  }
  IdempotencyRecord record;
  record.key = check.key;
  record.request_hash = check.request_hash;
  record.ticket = check.ticket;
  record.created_at = record.changed_at = now;
  record.lease_until = after(now, check.lease);
  record.expires_at = after(now, check.ttl);
  if (known != nullptr && !is_expired(*known, now)) {
    record.created_at = known->created_at;
    record.attempts = known->attempts + (repeated ? 0 : 1);
  }
  return {true, std::move(record)};
}

bool apply(const IdempotencyFinish& finish, IdempotencyRecord& record, WallTime now) {
  if (!may_become(record, finish.ticket, State::succeeded)) return false;
  record.state = State::succeeded;
  record.result = finish.result;
  record.result_digest = finish.result_digest;
  record.changed_at = now;
  return true;
}

bool apply(const IdempotencyFail& fail, IdempotencyRecord& record, WallTime now) {
  const auto to = fail.final ? State::failed : State::released;
  if (!may_become(record, fail.ticket, to)) return false;
  record.state = to;
  record.code = fail.code;
  record.error = fail.error;
  record.changed_at = now;
  return true;
}

bool apply(const IdempotencyRenew& renew, IdempotencyRecord& record, WallTime now) {
  if (!may_become(record, renew.ticket, State::in_flight)) return false;
  record.lease_until = after(now, renew.lease);
  return true;
}

std::optional<IdempotencyKey> first_after(const IdempotencyListRequest& request) {
  auto after = request.after;
  if (!request.tenant) return after;
  if (after.tenant > *request.tenant) return std::nullopt;
  if (after.tenant < *request.tenant) after = {.tenant = *request.tenant};
  if (!request.consumer) return after;
  if (after.consumer > *request.consumer) return std::nullopt;
  if (after.consumer < *request.consumer) {
    after = {.tenant = *request.tenant, .consumer = *request.consumer};
  }
  return after;
}

}  // namespace sagabox::spi
