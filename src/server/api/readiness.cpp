#include "server/api/readiness.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sagabox::server {
namespace {

/// Results may fail for so long before a table is not ready: a short fail-over, a deadlock.
constexpr Duration settle_failing_max = std::chrono::seconds(5);

}  // namespace

wire::TableReadiness Readiness::look(const ServedTable& table) {
  const std::scoped_lock lock(look_mutex_);
  const auto known = looked_.find(table.table.str());
  if (known != looked_.end() && clock_.boot_now() - known->second.at < limits_.look_interval) {
    return known->second.found;
  }
  auto found = look_now(table);
  looked_[table.table.str()] = {clock_.boot_now(), found};
  return found;
}

wire::TableReadiness Readiness::look_now(const ServedTable& table) {
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
  if (const auto failed = failed_write(table.table.str())) {
    looked.ready = false;
    looked.text = "its store takes no writes: " + std::string(code_name(*failed));
  }
  return looked;
}

void Readiness::write_ended(const std::string& table, std::optional<Code> failure) {
  // Other failures are caused by a message.
  const bool failed = failure == Code::storage_unavailable;
  if (failure && !failed) return;
  const std::scoped_lock lock(mutex_);
  if (failed) {
    failed_writes_[table] = {clock_.boot_now(), *failure};
  } else {
    failed_writes_.erase(table);
  }
}

std::optional<Code> Readiness::failed_write(const std::string& table) {
  const std::scoped_lock lock(mutex_);
  const auto found = failed_writes_.find(table);
  if (found == failed_writes_.end()) return std::nullopt;
  if (clock_.boot_now() - found->second.at <= limits_.failed_write_max) return found->second.code;
  failed_writes_.erase(found);
  return std::nullopt;
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
  // Messages that are not due yet, or wait for a retry, are not late.
  const bool old = stats.pending > stats.waiting &&
                   looked.oldest_pending.value_or(Duration{}) > limits_.oldest_pending_max;
  looked.ready = !old || snapshot.table_paused || idle <= limits_.last_success_max;
  if (!looked.ready) {
    looked.text = "its oldest message waits for " + age_text(*looked.oldest_pending) +
                  ", and nothing was delivered for " + age_text(idle);
  }
  // A full disk: what is delivered stays pending, and is delivered again by the next owner.
  // One that fails for a moment is repeated.
  if (snapshot.settle_failure) {
    const auto failing = std::max(now - snapshot.settle_failing_since, Duration{});
    if (failing >= settle_failing_max) {
      looked.ready = false;
      looked.text =
          "its store takes no results: " + std::string(code_name(*snapshot.settle_failure)) +
          " for " + age_text(failing);
    }
  }
  return looked;
}

}  // namespace sagabox::server
