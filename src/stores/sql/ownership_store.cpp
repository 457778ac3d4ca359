#include "stores/sql/ownership_store.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace sagabox::sql {
namespace {

std::int64_t microseconds_of(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

std::vector<std::string> list_of_scopes(std::span<const spi::Scope> scopes) {
  return {scopes.begin(), scopes.end()};
}

Shard shard_of(std::int64_t number) { return Shard{static_cast<std::uint16_t>(number)}; }

/// Empty for a shard without an owner.
WorkerId worker_id(std::string_view text) {
  auto id = WorkerId::parse(text);
  return id.ok() ? *id : WorkerId{};
}

/// Error unless all scopes have this number of shards.
Status check_counts(const Rows& scopes, std::uint16_t shards) {
  for (const auto row : scopes) {
    const auto has = row.integer(1);
    if (has == shards) continue;
    return Error{Code::config_invalid, std::string(row.text(0)) + " has " + std::to_string(has) +
                                           " shards, not " + std::to_string(shards) +
                                           " (a reshard changes it); start this process again "
                                           "with Options::shards = " +
                                           std::to_string(has)};
  }
  return {};
}

}  // namespace

std::vector<spi::OwnedShard> owned_shards(const Rows& rows) {
  std::vector<spi::OwnedShard> shards;
  for (const auto row : rows) {
    shards.push_back({shard_of(row.integer(0)), Epoch{row.natural(1)}, row.boolean(2)});
  }
  std::ranges::sort(shards, {}, &spi::OwnedShard::shard);
  return shards;
}

std::vector<std::int64_t> numbers_of(const Rows& rows) {
  std::vector<std::int64_t> numbers;
  for (const auto row : rows) numbers.push_back(row.integer(0));
  return numbers;
}

OwnershipStatements::OwnershipStatements(Sections& sections)
    : make_scopes(sections.take("scopes_make")),
      join(sections.take("worker_join")),
      renew(sections.take("worker_renew")),
      leave(sections.take("worker_leave")),
      withdraw(sections.take("member_withdraw")),
      members(sections.take("census_members")),
      shards(sections.take("census_shards")),
      lock_free(sections.take("shards_lock_free")),
      take(sections.take("shards_take")),
      release(sections.take("shards_release")) {}

Result<spi::LeaseReply> OwnershipStore::join(const WorkerId& worker, Duration ttl,
                                             std::span<const spi::Scope> scopes,
                                             std::uint16_t shards) {
  auto session = sessions_.begin();
  if (!session.ok()) return session.error();
  const auto names = list_of_scopes(scopes);
  const std::array calls{
      Call{&statements_.make_scopes, {names, shards}},
      Call{&statements_.join, {worker.view(), microseconds_of(ttl), names, shards}}};
  auto answers = (*session)->run(calls);
  if (!answers.ok()) return answers.error();
  if (auto checked = check_counts(answers->at(0), shards); !checked.ok()) return checked.error();
  spi::LeaseReply reply{!answers->at(1).empty(), (*session)->timeline()};
  // Without a commit nothing is kept if the lease has run out.
  if (!reply.live) return reply;
  if (auto committed = (*session)->commit(); !committed.ok()) return committed.error();
  return reply;
}

Result<spi::LeaseReply> OwnershipStore::renew(const WorkerId& worker, Duration ttl) {
  auto session = renewals_.autocommit();
  if (!session.ok()) return session.error();
  auto renewed = (*session)->run(statements_.renew, {worker.view(), microseconds_of(ttl)});
  if (!renewed.ok()) return renewed.error();
  return spi::LeaseReply{!renewed->empty(), (*session)->timeline()};
}

Result<spi::Census> OwnershipStore::census(const spi::Scope& scope) {
  auto session = sessions_.reader();
  if (!session.ok()) return session.error();
  const std::array calls{Call{&statements_.members, {scope}}, Call{&statements_.shards, {scope}}};
  auto answers = (*session)->run(calls);
  if (!answers.ok()) return answers.error();
  spi::Census census;
  census.timeline = (*session)->timeline();
  for (const auto row : answers->at(0)) census.live.push_back(worker_id(row.text(0)));
  for (const auto row : answers->at(1)) {
    census.shards.push_back({.shard = shard_of(row.integer(0)),
                             .owner = worker_id(row.text(1)),
                             .epoch = Epoch{row.natural(2)},
                             .lease_left = std::chrono::microseconds(row.integer(3))});
  }
  return census;
}

Result<std::vector<spi::OwnedShard>> OwnershipStore::apply_changes(Session& session,
                                                                   const spi::Scope& scope,
                                                                   const WorkerId& worker,
                                                                   std::uint16_t shards_max) {
  auto locked = session.run(statements_.lock_free, {scope, shards_max});
  if (!locked.ok()) return locked.error();
  if (locked->empty()) return std::vector<spi::OwnedShard>{};
  auto taken = session.run(statements_.take, {scope, worker.view(), numbers_of(*locked)});
  if (!taken.ok()) return taken.error();
  return owned_shards(*taken);
}

Result<std::vector<spi::OwnedShard>> OwnershipStore::take(const spi::Scope& scope,
                                                          const WorkerId& worker,
                                                          std::uint16_t shards_max) {
  return in_transaction(sessions_, [&](Session& session) {
    return apply_changes(session, scope, worker, shards_max);
  });
}

Status OwnershipStore::run_alone(const Statement& statement, Values values) {
  auto session = sessions_.autocommit();
  if (!session.ok()) return session.error();
  auto done = (*session)->run(statement, std::move(values));
  if (!done.ok()) return done.error();
  return {};
}

Status OwnershipStore::release(const spi::Scope& scope, const WorkerId& worker,
                               std::span<const spi::OwnedShard> shards) {
  std::vector<std::int64_t> numbers;
  std::vector<std::int64_t> epochs;
  std::vector<std::int64_t> unclean;
  for (const auto& shard : shards) {
    numbers.push_back(shard.shard.value);
    epochs.push_back(static_cast<std::int64_t>(shard.epoch.value));
    unclean.push_back(shard.unclean ? 1 : 0);
  }
  return run_alone(statements_.release,
                   {scope, worker.view(), std::move(numbers), std::move(epochs), std::move(unclean),
                    spi::unclean_owner().view()});
}

Status OwnershipStore::withdraw(const WorkerId& worker, std::span<const spi::Scope> scopes) {
  return run_alone(statements_.withdraw, {worker.view(), list_of_scopes(scopes)});
}

Status OwnershipStore::leave(const WorkerId& worker) {
  return run_alone(statements_.leave, {worker.view()});
}

}  // namespace sagabox::sql
