#include <sagabox/outbox.hpp>

#include <string>

namespace sagabox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Error wrong(const std::string& what) { return {Code::config_invalid, what}; }

}  // namespace

Result<OutboxOptions> OutboxOptions::preset(std::string_view name) {
  OutboxOptions options;
  if (name == "s4") {
    options.poll_interval = seconds(5);
    return options;
  }
  if (name == "s0") {
    options.retry = RetryPolicy::s0();
    return options;
  }
  if (name == "s2") {
    options.retry = RetryPolicy::s2();
    options.rules.strict_topics = true;
    return options;
  }
  return wrong("preset \"" + std::string(name) + "\" is unknown; there are s0, s2 and s4");
}

Status OutboxOptions::check() const {
  if (auto name = TableName::parse(table); !name.ok()) return name.error();
  if (auto checked = rules.check(); !checked.ok()) return checked.error();
  if (auto checked = retry.check(); !checked.ok()) return checked.error();
  const auto positive = [](std::uint64_t value, const char* setting) -> Status {
    if (value > 0) return {};
    return wrong(std::string(setting) + " is 0; it must be at least 1");
  };
  const auto lasting = [](Duration value, const char* setting) -> Status {
    if (value > Duration{}) return {};
    return wrong(std::string(setting) + " must be longer than 0");
  };
  for (const auto& checked :
       {positive(workers, "workers"), positive(hot_capacity, "hot_capacity"),
        positive(cold_capacity, "cold_capacity"), positive(queue_bytes_max, "queue_bytes_max"),
        positive(unsettled_max, "unsettled_max"), positive(settle_rows_max, "settle_rows_max"),
        positive(error_bytes_max, "error_bytes_max"),
        positive(blocked_keys_max, "blocked_keys_max"), lasting(poll_interval, "poll_interval"),
        lasting(lease, "lease"), lasting(dispatch_timeout, "dispatch_timeout")}) {
    if (!checked.ok()) return checked;
  }
  if (lease < milliseconds(100)) {
    return wrong("lease is shorter than 100 ms; a pause of the process would lose it");
  }
  if (retention < Duration{} || skip_recent < Duration{} || drain_timeout < Duration{} ||
      settle_delay_max < Duration{}) {
    return wrong("retention, skip_recent, drain_timeout and settle_delay_max must not be negative");
  }
  if (metrics == nullptr || audit == nullptr || log == nullptr || clock == nullptr ||
      random == nullptr) {
    return wrong("metrics, audit, log, clock and random must not be null; leave them out instead");
  }
  return {};
}

}  // namespace sagabox
