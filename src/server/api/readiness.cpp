#include "server/api/readiness.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::server {

wire::TableReadiness Readiness::look(const ServedTable& table) {
  const auto stats = table.store->outbox_admin().stats(table.table);
  if (!stats.ok()) {
    wire::TableReadiness looked;
    looked.table = table.table.str();
    looked.text = "its store does not answer: " + std::string(code_name(stats.error().code));
    return looked;
  }
  auto looked = judge(table.table.str(), *stats, table.outbox()->snapshot());
  looked.ready = looked.ready || !table.delivers;
  if (looked.ready) looked.text.clear();
  return looked;
}

wire::TableReadiness Readiness::judge(const std::string& table, const spi::TableStats& stats,
                                      const OutboxSnapshot& snapshot) {
  const auto now = clock_.boot_now();
  wire::TableReadiness looked;
  looked.table = table;
  {
    const std::scoped_lock lock(mutex_);
    auto& progress = tables_[table];
    if (snapshot.delivered > progress.delivered || stats.done > progress.done) {
      progress.last_success = now;
    }
    progress.delivered = snapshot.delivered;
    progress.done = stats.done;
    if (progress.last_success) looked.last_success = now - *progress.last_success;
  }
  if (stats.oldest_pending) {
    looked.oldest_pending = std::max(Duration(stats.now - *stats.oldest_pending), Duration{});
  }
  const auto idle = looked.last_success.value_or(now - started_);
  // What waits for its time, for the first or for another attempt, is not held up by anybody.
  const bool old = stats.pending > stats.waiting &&
                   looked.oldest_pending.value_or(Duration{}) > limits_.oldest_pending_max;
  looked.ready = !old || snapshot.table_paused || idle <= limits_.last_success_max;
  if (!looked.ready) {
    looked.text = "its oldest message waits for " + age_text(*looked.oldest_pending) +
                  ", and nothing was delivered for " + age_text(idle);
  }
  return looked;
}

}  // namespace sagabox::server
