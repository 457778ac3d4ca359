#include "admin/checks.hpp"
#include "core/text.hpp"

#include <sagabox/admin.hpp>

#include <chrono>

namespace sagabox {
namespace {

constexpr std::uint32_t batch_rows_max = 10'000;
/// Older than any message, and far from the limits of a clock.
constexpr Duration longest = std::chrono::hours(24 * 365 * 100);

Status check(const PurgeOrder& order) {
  if (!order.older_than) {
    return admin::wrong("older_than is not given; say how old messages must be, 0 for all of them");
  }
  if (*order.older_than < Duration::zero() || *order.older_than > longest) {
    return admin::wrong("older_than: " + duration_text(*order.older_than) +
                        "; give 0 to 100 years");
  }
  if (order.state == MessageState::pending && !order.force_pending) {
    return admin::wrong(
        "pending messages have not been delivered and would be lost; set force_pending if that is "
        "meant, or quarantine them");
  }
  return admin::check_rows("batch_rows", order.batch_rows, batch_rows_max);
}

}  // namespace

Result<Purged> Admin::purge(const TableName& table, const PurgeOrder& order,
                            const Progress& progress) {
  if (auto status = everybodys("a purge"); !status.ok()) return status.error();
  if (auto status = check(order); !status.ok()) return status.error();
  auto& rows = store_->outbox_admin();
  if (order.dry_run) {
    const auto stats = rows.stats(table);
    if (!stats.ok()) return stats.error();
    // Rows of exactly this age are deleted too.
    const auto age = std::chrono::duration_cast<WallTime::duration>(*order.older_than);
    const auto counted = rows.count(
        table, order.state, MessageFilter{.until = stats->now - age + WallTime::duration(1)});
    if (!counted.ok()) return counted.error();
    return Purged{*counted, false};
  }

  Purged purged;
  const auto report = [&] {
    options_.log->log(LogLevel::info, "messages purged",
                      {{"table", std::string_view(table.str())},
                       {"state", state_name(order.state)},
                       {"actor", std::string_view(options_.actor)},
                       {"rows", purged.rows}});
    if (purged.rows == 0) return;
    AuditEvent event;
    event.kind = AuditKind::purged;
    event.at = options_.clock->wall_now();
    event.table = table.str();
    event.detail = std::to_string(purged.rows) + " " + std::string(state_name(order.state)) +
                   " messages older than " + duration_text(*order.older_than);
    event.actor = options_.actor;
    tell(event);
  };
  for (bool more = true; more && !purged.stopped;) {
    const auto batch = rows.purge({.table = table,
                                   .state = order.state,
                                   .older_than = *order.older_than,
                                   .rows_max = order.batch_rows,
                                   .actor = options_.actor});
    if (!batch.ok()) {
      if (purged.rows == 0) return batch.error();
      report();
      return Error{batch.error().code, batch.error().message + " (" + std::to_string(purged.rows) +
                                           " messages were purged before)"};
    }
    purged.rows += batch->rows;
    more = batch->more && batch->rows > 0;
    if (batch->rows > 0 && progress && !progress(purged.rows)) purged.stopped = more;
  }
  report();
  return purged;
}

}  // namespace sagabox
