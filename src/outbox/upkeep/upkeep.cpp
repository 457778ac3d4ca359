#include "outbox/upkeep/upkeep.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::outbox {
namespace {

PurgerOptions purger_options(const OutboxOptions& options, Upkeep::Readers readers) {
  // Also set if the retention is 0, to delete messages that an earlier setting kept.
  return {.done = options.retention,
          .dead = options.dead_retention,
          .pending =
              readers == Upkeep::Readers::others ? std::optional(options.retention) : std::nullopt,
          .interval = options.purge_interval};
}

}  // namespace

Upkeep::Upkeep(Store& store, const TableName& table, const OutboxOptions& options, Readers readers,
               ControlReader* controls)
    : table_(table),
      clock_(*options.clock),
      readers_(readers),
      controls_(controls),
      purger_({.store = store.outbox_admin(),
               .table = table,
               .metrics = *options.metrics,
               .log = *options.log,
               .live = [this](BootTime now) { return worker_ != nullptr && worker_->live(now); }},
              purger_options(options, readers)),
      replayer_({.store = store.control(),
                 .table = table,
                 .metrics = *options.metrics,
                 .log = *options.log,
                 .live = [this](BootTime now) { return worker_ != nullptr && worker_->live(now); },
                 .fence_broken =
                     [this](Epoch epoch) {
                       worker_->shard_lost(Replayer::scope_of(table_), Shard{0}, epoch);
                     }},
                {.look_interval = options.control_interval}),
      backlog_(store.outbox_admin(), table, *options.metrics, *options.log) {}

std::vector<ownership::ScopeOptions> Upkeep::scopes() {
  std::vector<ownership::ScopeOptions> scopes;
  scopes.push_back({.scope = Purger::scope_of(table_), .shards = 1, .holder = &purger_.holder()});
  if (readers_ == Readers::relays) {
    scopes.push_back(
        {.scope = Replayer::scope_of(table_), .shards = 1, .holder = &replayer_.holder()});
  }
  return scopes;
}

bool Upkeep::step() {
  if (controls_ != nullptr && controls_->plan(clock_.boot_now())) {
    const auto reply = controls_->perform();
    controls_->apply(reply, clock_.boot_now());
  }
  backlog_.look(clock_.boot_now());
  const bool purged = runtime::advance(purger_, clock_);
  const bool replayed = readers_ == Readers::relays && runtime::advance(replayer_, clock_);
  return purged || replayed;
}

BootTime Upkeep::next(BootTime now) const {
  auto next = std::min(now + Backlog::look_interval, purger_.next(now));
  if (readers_ == Readers::relays) next = std::min(next, replayer_.next(now));
  if (controls_ != nullptr) next = std::min(next, controls_->next());
  return next;
}

}  // namespace sagabox::outbox
