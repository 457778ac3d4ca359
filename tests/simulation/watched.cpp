#include "simulation/watched.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::simulation {

Result<spi::ReadReply> Process::Watched::read(const TableName& table,
                                              std::span<const spi::Range> ranges,
                                              std::size_t bytes_max) {
  auto reply = ForwardingStore::read(table, ranges, bytes_max);
  world_.trace(What::read, process_, reply.ok() ? reply->rows.size() : 0,
               static_cast<std::uint64_t>(world_.last_fault()));
  if (reply.ok()) {
    for (const auto& row : reply->rows) world_.read_up_to(row.shard, row.sequence);
  }
  return reply;
}

Result<spi::ReadReply> Process::Watched::read_due(const TableName& table,
                                                  std::span<const spi::DueRange> ranges,
                                                  std::size_t bytes_max) {
  auto reply = ForwardingStore::read_due(table, ranges, bytes_max);
  world_.trace(What::read_due, process_, reply.ok() ? reply->rows.size() : 0,
               static_cast<std::uint64_t>(world_.last_fault()));
  return reply;
}

Result<spi::RetryingKeysReply> Process::Watched::read_retrying_keys(const TableName& table,
                                                                    Shard shard, Sequence after,
                                                                    std::uint32_t rows_max) {
  auto reply = ForwardingStore::read_retrying_keys(table, shard, after, rows_max);
  world_.trace(What::read_keys, process_, shard.value,
               static_cast<std::uint64_t>(world_.last_fault()));
  return reply;
}

Process::Watched::Rows Process::Watched::rows_of(const spi::SettleRequest& request,
                                                 const std::vector<bool>& stale) {
  Rows rows;
  for (const auto& item : request.items) {
    if (stale[item.shard.value]) rows.emplace(item.sequence, Touched{});
  }
  if (rows.empty()) return rows;
  for (const auto& row : world_.store().inspect(request.table)) {
    const auto found = rows.find(row.row.sequence);
    if (found == rows.end()) continue;
    found->second = {.settled = row.settled, .attempts = row.row.attempts, .there = true};
  }
  return rows;
}

bool Process::Watched::refuses(const spi::SettleRequest& request) {
  return std::ranges::any_of(request.items, [&](const spi::Settlement& item) {
    const auto number = Ledger::number_of(item.id);
    if (!number) return false;
    const auto& record = world_.ledger().at(*number);
    // A settle of a row that is not there changes nothing, which breaks no rule.
    if (record.state != Record::State::pending || record.sequence != item.sequence) return false;
    return record.refusal == Refusal::every_one ||
           (record.refusal == Refusal::result && item.note.empty());
  });
}

Result<spi::SettleReply> Process::Watched::settle(const spi::SettleRequest& request) {
  if (refuses(request)) {
    world_.statistics().count(Event::result_refused);
    return Error{Code::schema_validation_failed, "the value breaks a rule of the table"};
  }
  const bool in_part = request.fencing.fences.size() > 1 && !world_.quiet() &&
                       world_.chance(world_.settings().call_faults);
  return in_part ? settle_in_part(request) : settle_whole(request);
}

Result<spi::SettleReply> Process::Watched::settle_in_part(const spi::SettleRequest& request) {
  const auto fences =
      request.fencing.fences.first(1 + world_.below(request.fencing.fences.size() - 1));
  std::vector<spi::Settlement> items;
  for (const auto& item : request.items) {
    const bool named = std::ranges::any_of(
        fences, [&](const spi::Fence& fence) { return fence.shard == item.shard; });
    if (named) items.push_back(item);
  }
  const auto reply =
      settle_whole({.table = request.table,
                    .fencing = {request.fencing.scope, request.fencing.owner, fences},
                    .items = items,
                    .retain_done = request.retain_done});
  if (!reply.ok()) return reply.error();
  world_.statistics().count(Event::settled_in_part);
  return Error{world_.chance(5'000) ? Code::storage_in_doubt : Code::storage_unavailable,
               "some shards are settled, others are not"};
}

Result<spi::SettleReply> Process::Watched::settle_whole(const spi::SettleRequest& request) {
  const auto truth = world_.truth();
  std::vector<bool> stale(truth.shards.size(), true);
  for (const auto& fence : request.fencing.fences) {
    const auto& owner = truth.shards[fence.shard.value];
    stale[fence.shard.value] = owner.owner != request.fencing.owner || owner.epoch != fence.epoch;
  }
  const auto before = rows_of(request, stale);
  auto reply = ForwardingStore::settle(request);
  const auto fault = world_.last_fault();
  world_.trace(What::settle, process_, request.items.size(), static_cast<std::uint64_t>(fault));
  if (!before.empty()) {
    world_.statistics().count(Event::stale_fence_changed_nothing);
    if (rows_of(request, stale) != before) {
      world_.violate("a settle of p" + std::to_string(process_) +
                     " changed rows of a shard that is in other hands");
    }
  }
  if (fault == memory::Fault::refused || fault == memory::Fault::lost_before) return reply;
  for (const auto& item : request.items) {
    if (stale[item.shard.value]) continue;
    if (!item.note.empty()) world_.statistics().count(Event::quarantined_instead);
    world_.ledger().settled(item, request.fencing.owner, process_);
  }
  return reply;
}

void Process::Seat::acquired(const spi::OwnedShard& shard, const WorkerId& owner,
                             Timeline timeline) {
  world_.trace(What::acquired, process_, shard.shard.value, shard.epoch.value);
  timelines_[shard.shard] = timeline;
  draining_[shard.shard] = false;
  world_.ledger().shard_acquired(process_, shard.shard);
  auto taken = shard;
  if (world_.settings().variant == Variant::no_cautious_mode) taken.unclean = false;
  relay_.acquired(taken, owner, timeline);
}

void Process::Seat::drain(Shard shard) {
  world_.trace(What::drain, process_, shard.value);
  draining_[shard] = true;
  relay_.drain(shard);
}

void Process::Seat::lost(Shard shard) {
  world_.trace(What::lost, process_, shard.value);
  if (!draining_[shard]) world_.statistics().count(Event::lease_lost);
  world_.ledger().shard_lost(process_, shard);
  relay_.lost(shard);
}

Timeline Process::Seat::timeline_of(Shard shard) const {
  const auto found = timelines_.find(shard);
  return found == timelines_.end() ? Timeline{} : found->second;
}

}  // namespace sagabox::simulation
