#include "stores/sql/idempotency_store.hpp"

#include "core/stored_message.hpp"
#include "observe/audit_events.hpp"
#include "spi/idempotency_rules.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

namespace sagabox::sql {
namespace {

using CheckReplies = std::vector<spi::IdempotencyCheckReply>;

/// A check that was refused and then found nothing in its way is made again. Each time somebody
/// else must have come between.
constexpr int looks_max = 8;

std::int64_t microseconds(Duration duration) {
  return std::chrono::floor<std::chrono::microseconds>(duration).count();
}

/// From `column` on.
IdempotencyRecord idempotency_record(const Row& row, int column) {
  const auto text = [&](int at) { return std::string(row.text(column + at)); };
  IdempotencyRecord record;
  record.key = {text(0), text(1), text(2)};
  record.request_hash = digest_of(row.text(column + 3));
  record.state =
      idempotency_state_from_name(row.text(column + 4)).value_or(IdempotencyState::in_flight);
  record.ticket = IdempotencyTicket{row.natural(column + 5)};
  record.attempts = row.natural32(column + 6);
  record.created_at = row.time(column + 7);
  record.changed_at = row.time(column + 8);
  record.lease_until = row.time(column + 9);
  record.expires_at = row.time(column + 10);
  record.result = row.maybe_text(column + 11);
  if (!row.is_null(column + 12)) record.result_digest = digest_of(row.text(column + 12));
  if (!row.is_null(column + 13)) record.code = code_from_name(row.text(column + 13));
  record.error = text(14);
  return record;
}

Values values_of_take(const spi::IdempotencyCheck& check, std::optional<WallTime> now) {
  return {check.key.tenant,        check.key.consumer,
          check.key.key,           Bytes(bytes_of(check.request_hash)),
          check.ticket.value,      microseconds(check.lease),
          microseconds(check.ttl), now};
}

/// Of a request that was let through: what its record is now.
spi::IdempotencyCheckReply taken(const Row& row, const spi::IdempotencyCheck& check) {
  IdempotencyRecord record;
  record.key = check.key;
  record.request_hash = check.request_hash;
  record.ticket = check.ticket;
  record.attempts = row.natural32(0);
  record.created_at = row.time(1);
  record.changed_at = row.time(2);
  record.lease_until = record.changed_at + std::chrono::microseconds(microseconds(check.lease));
  record.expires_at = record.changed_at + std::chrono::microseconds(microseconds(check.ttl));
  return {true, std::move(record)};
}

/// Nullopt: what stood in the way does not any more; try again.
std::optional<spi::IdempotencyCheckReply> refused(const Rows& rows,
                                                  const spi::IdempotencyCheck& check) {
  if (rows.empty()) return std::nullopt;
  const auto row = rows.front();
  auto record = idempotency_record(row, 1);
  if (spi::is_free(record, check.request_hash, row.time(0))) return std::nullopt;
  return spi::IdempotencyCheckReply{false, std::move(record)};
}

Error changed_too_often(const IdempotencyKey& key) {
  return {Code::storage_conflict, "the record of a request of consumer " + key.consumer +
                                      " changed at every look; try again"};
}

/// Positions of `items` by key.
template <class Item>
std::vector<std::size_t> by_key(std::span<const Item> items) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t at) { return items[at].key; });
  return order;
}

}  // namespace

IdempotencyStatements::IdempotencyStatements(Sections& sections)
    : take(sections.take("idempotency_take")),
      look(sections.take("idempotency_look")),
      finish(sections.take("idempotency_finish")),
      fail(sections.take("idempotency_fail")),
      renew(sections.take("idempotency_renew")),
      purge_expired(sections.take("idempotency_purge_expired")),
      purge_key(sections.take("idempotency_purge_key")),
      is_made(sections.take("idempotency_made")),
      list(sections.take("idempotency_list")),
      list_of_tenant(sections.take("idempotency_list_of_tenant")),
      list_of_consumer(sections.take("idempotency_list_of_consumer")),
      get(sections.take("idempotency_get")) {}

std::optional<WallTime> IdempotencyStore::now() const {
  return parts_.clock == nullptr ? std::nullopt : std::optional(parts_.clock->wall_now());
}

Result<std::vector<Rows>> IdempotencyStore::run(Sessions& sessions, std::span<const Call> calls) {
  auto session = sessions.autocommit();
  if (!session.ok()) return session.error();
  return (*session)->run(calls);
}

// Most requests are new: one statement lets them through, in half the time of one that also shows
// what stands in the way. Repeats pay a second round trip.
Result<CheckReplies> IdempotencyStore::check(std::span<const spi::IdempotencyCheck> checks) {
  FoundReplies found(checks.size());
  auto open = by_key(checks);
  for (int look = 0; look < looks_max && !open.empty(); ++look) {
    for (const bool taking : {true, false}) {
      if (auto asked = ask(taking, checks, open, found); !asked.ok()) return asked.error();
      std::erase_if(open, [&](std::size_t at) { return found[at].has_value(); });
    }
  }
  if (!open.empty()) return changed_too_often(checks[open.front()].key);
  CheckReplies replies;
  for (auto& reply : found) replies.push_back(*std::move(reply));
  return replies;
}

Status IdempotencyStore::ask(bool taking, std::span<const spi::IdempotencyCheck> checks,
                             std::span<const std::size_t> open, FoundReplies& found) {
  if (open.empty()) return {};
  std::vector<Call> calls;
  for (const auto at : open) {
    const auto& key = checks[at].key;
    calls.push_back(taking ? Call{&statements_.take, values_of_take(checks[at], now())}
                           : Call{&statements_.look, {key.tenant, key.consumer, key.key, now()}});
  }
  auto answers = run(parts_.sessions, calls);
  if (!answers.ok()) return answers.error();
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto& rows = (*answers)[i];
    auto& reply = found[open[i]];
    if (!taking) {
      reply = refused(rows, checks[open[i]]);
    } else if (!rows.empty()) {
      reply = taken(rows.front(), checks[open[i]]);
    }
  }
  return {};
}

template <class Change, class ValuesOf>
Result<std::vector<bool>> IdempotencyStore::change(Sessions& sessions, const Statement& statement,
                                                   std::span<const Change> changes,
                                                   ValuesOf&& values_of) {
  std::vector<bool> held(changes.size());
  if (changes.empty()) return held;
  const auto order = by_key(changes);
  std::vector<Call> calls;
  for (const auto at : order) {
    const auto& one = changes[at];
    Values values{one.key.tenant, one.key.consumer, one.key.key, one.ticket.value, now()};
    for (auto& more : values_of(one)) values.push_back(std::move(more));
    calls.push_back({&statement, std::move(values)});
  }
  auto answers = run(sessions, calls);
  if (!answers.ok()) return answers.error();
  for (std::size_t i = 0; i < order.size(); ++i) held[order[i]] = !(*answers)[i].empty();
  return held;
}

Result<std::vector<bool>> IdempotencyStore::finish(
    std::span<const spi::IdempotencyFinish> finished) {
  return change(parts_.sessions, statements_.finish, finished,
                [](const spi::IdempotencyFinish& one) {
                  std::optional<Bytes> result;
                  if (one.result) result = Bytes(*one.result);
                  return Values{result, Bytes(bytes_of(one.result_digest))};
                });
}

Result<std::vector<bool>> IdempotencyStore::fail(std::span<const spi::IdempotencyFail> failed) {
  return change(parts_.sessions, statements_.fail, failed, [](const spi::IdempotencyFail& one) {
    const auto to = one.final ? IdempotencyState::failed : IdempotencyState::released;
    return Values{idempotency_state_name(to), code_name(one.code), one.error};
  });
}

Result<std::vector<bool>> IdempotencyStore::renew(std::span<const spi::IdempotencyRenew> renewals) {
  return change(parts_.lease_sessions, statements_.renew, renewals,
                [](const spi::IdempotencyRenew& one) { return Values{microseconds(one.lease)}; });
}

Result<std::uint64_t> IdempotencyStore::purge_in(Session& session,
                                                 const spi::IdempotencyPurge& request) {
  if (!request.actor.empty()) {
    // Before the row: a renewal of it must not wait for others who append.
    if (auto head = parts_.audit.append(session, {}); !head.ok()) return head.error();
  }
  Result<Rows> removed =
      request.key ? session.run(statements_.purge_key,
                                {request.key->tenant, request.key->consumer, request.key->key})
                  : session.run(statements_.purge_expired, {request.rows_max, now()});
  if (!removed.ok()) return removed.error();
  const std::uint64_t rows = removed->size();
  if (rows == 0 || request.actor.empty()) return rows;
  const auto at = session.now();
  if (!at.ok()) return at.error();
  const std::array events{
      idempotency_purge_event(request.key, rows, request.actor, request.note, *at)};
  if (auto head = parts_.audit.append(session, events); !head.ok()) return head.error();
  return rows;
}

Result<std::uint64_t> IdempotencyStore::purge(const spi::IdempotencyPurge& request) {
  return in_transaction(parts_.sessions,
                        [&](Session& session) { return purge_in(session, request); });
}

Result<std::vector<IdempotencyRecord>> IdempotencyStore::list(
    const spi::IdempotencyListRequest& request) {
  auto session = parts_.sessions.reader();
  if (!session.ok()) return session.error();
  std::optional<std::string_view> state;
  if (request.state) state = idempotency_state_name(*request.state);
  const auto after = spi::first_after(request);
  if (!after) return std::vector<IdempotencyRecord>();
  const auto& statement = !request.tenant     ? statements_.list
                          : !request.consumer ? statements_.list_of_tenant
                                              : statements_.list_of_consumer;
  auto rows = (*session)->run(statement, {after->tenant, after->consumer, after->key,
                                          request.consumer, state, request.rows_max});
  if (!rows.ok()) return rows.error();
  std::vector<IdempotencyRecord> records;
  for (const auto row : *rows) records.push_back(idempotency_record(row, 0));
  return records;
}

Result<std::optional<IdempotencyRecord>> IdempotencyStore::get(const IdempotencyKey& key) {
  auto session = parts_.sessions.reader();
  if (!session.ok()) return session.error();
  auto rows = (*session)->run(statements_.get, {key.tenant, key.consumer, key.key});
  if (!rows.ok()) return rows.error();
  if (rows->empty()) return std::optional<IdempotencyRecord>();
  return std::optional(idempotency_record(rows->front(), 0));
}

}  // namespace sagabox::sql
