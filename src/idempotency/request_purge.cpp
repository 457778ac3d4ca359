#include "idempotency/request_purge.hpp"

#include "observe/metric_names.hpp"

#include <algorithm>

namespace sagabox::idempotency {

RequestPurge::RequestPurge(Store& store, const IdempotencyUpkeepOptions& options)
    : store_(store), options_(options) {}

bool RequestPurge::step() {
  if (options_.clock->boot_now() < due_) return false;
  const bool more_keys = purge_inbox();
  const bool more_requests = purge_requests();
  const bool more = more_keys || more_requests;
  due_ = options_.clock->boot_now() + (more ? Duration{} : options_.interval);
  return more;
}

BootTime RequestPurge::next(BootTime now) const { return std::max(now, due_); }

template <class Role>
bool RequestPurge::is_made(Role* role, bool& known) {
  if (role == nullptr || known) return role != nullptr;
  const auto made = role->is_made();
  if (!made.ok()) failed("tables", made.error());
  known = made.ok() && *made;
  return known;
}

bool RequestPurge::purge_inbox() {
  if (!is_made(store_.inbox(), inbox_made_)) return false;
  const auto reply =
      store_.inbox()->purge({.older_than = options_.inbox_window + spi::inbox_renewal_interval,
                             .rows_max = options_.rows_max});
  if (!reply.ok()) {
    inbox_made_ = false;
    failed("inbox", reply.error());
    return false;
  }
  const bool keys = removed("inbox", reply->keys);
  const bool barriers = removed("barrier", reply->barriers);
  return keys || barriers;
}

bool RequestPurge::purge_requests() {
  if (!is_made(store_.idempotency(), requests_made_)) return false;
  const auto rows = store_.idempotency()->purge({.rows_max = options_.rows_max});
  if (!rows.ok()) {
    requests_made_ = false;
    failed("request", rows.error());
    return false;
  }
  return removed("request", *rows);
}

bool RequestPurge::removed(std::string_view kind, std::uint64_t rows) {
  if (rows > 0) {
    options_.metrics->counter(metric::idempotency_purged_total, {{"kind", std::string(kind)}})
        .add(static_cast<double>(rows));
  }
  return rows >= options_.rows_max;
}

void RequestPurge::failed(std::string_view what, const Error& error) {
  const auto name = store_.name();
  options_.log->log(LogLevel::warning, "purge of idempotency keys failed, will be tried again",
                    {{"store", std::string_view(name)},
                     {"kind", what},
                     {"code", code_name(error.code)},
                     {"error", std::string_view(error.message)}});
}

}  // namespace sagabox::idempotency
