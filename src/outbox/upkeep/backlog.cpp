#include "outbox/upkeep/backlog.hpp"

#include "observe/metric_names.hpp"

#include <algorithm>
#include <string_view>

namespace sagabox::outbox {

Backlog::Backlog(spi::OutboxAdminStore& store, const TableName& table, Metrics& metrics,
                 Logger& log)
    : store_(store), table_(table), metrics_(metrics), log_(log), errors_(metrics) {}

void Backlog::look(BootTime now) {
  if (&metrics_ == &no_metrics() || (looked_ && now - *looked_ < look_interval)) return;
  looked_ = now;
  const auto stats = store_.stats(table_);
  if (!stats.ok()) return failed(stats.error(), now);
  const auto set = [&](std::string_view name, double value) {
    metrics_.gauge(name, {{"table", table_.str()}}).set(value);
  };
  set(metric::outbox_pending, static_cast<double>(stats->pending));
  set(metric::outbox_dead, static_cast<double>(stats->dead));
  const auto age = stats->oldest_pending ? stats->now - *stats->oldest_pending : Duration{};
  const auto seconds = [](Duration of) {
    return std::max(0.0, std::chrono::duration<double>(of).count());
  };
  set(metric::outbox_oldest_seconds, seconds(age));
  if (stats->oldest_transaction) {
    set(metric::outbox_oldest_transaction_seconds, seconds(*stats->oldest_transaction));
  }
  if (stats->slot_transactions) {
    set(metric::outbox_slot_transactions, static_cast<double>(*stats->slot_transactions));
  }
}

void Backlog::failed(const Error& error, BootTime now) {
  errors_.count(error.code);
  if (logged_ && now - *logged_ < log_interval) return;
  logged_ = now;
  log_.log(LogLevel::warning, "the table's figures could not be read; they stay as they are",
           {{"table", std::string_view(table_.str())},
            {"code", code_name(error.code)},
            {"error", std::string_view(error.message)}});
}

}  // namespace sagabox::outbox
