#include "core/text.hpp"

#include <sagabox/outbox.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

namespace sagabox {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// A shorter lease would be lost in a short pause of the process.
constexpr Duration lease_min = milliseconds(100);
/// The limit avoids overflow of time points.
constexpr Duration longest = hours(24 * 365 * 10);

Error wrong(const std::string& what) { return {Code::config_invalid, what}; }

template <class Part>
bool all_given(const std::vector<std::shared_ptr<Part>>& parts) {
  return std::none_of(parts.begin(), parts.end(), [](const auto& part) { return part == nullptr; });
}

constexpr std::array claim_modes{std::pair(ClaimMode::sharded, std::string_view("sharded")),
                                 std::pair(ClaimMode::leader, std::string_view("leader")),
                                 std::pair(ClaimMode::competing, std::string_view("competing"))};

}  // namespace

std::string_view claim_mode_name(ClaimMode mode) noexcept {
  for (const auto& [known, name] : claim_modes) {
    if (known == mode) return name;
  }
  return {};
}

std::optional<ClaimMode> claim_mode_from_name(std::string_view name) noexcept {
  for (const auto& [mode, known] : claim_modes) {
    if (known == name) return mode;
  }
  return std::nullopt;
}

Result<OutboxOptions> OutboxOptions::preset(std::string_view name) {
  OutboxOptions options;
  // Said in full, also where our default is the same today.
  if (name == "patient") {
    options.retry = RetryPolicy::patient();
    options.lease = seconds(15);
    return options;
  }
  if (name == "single_active") {
    options.claim = ClaimMode::leader;
    options.purge_interval = minutes(1);
    options.retry = RetryPolicy::persistent();
    options.rules.strict_topics = true;
    options.poll_interval = seconds(1);
    options.lease = seconds(60);
    options.dispatch_timeout = seconds(30);
    options.error_bytes_max = 2048;
    options.retention = hours(168);
    return options;
  }
  if (name == "polling") {
    options.retry = RetryPolicy::quick();
    options.workers = 4;
    options.hot_capacity = 1000;
    options.cold_capacity = 1000;
    options.read_ahead = 0;
    options.unroutable = Unroutable::dead;
    options.poll_interval = seconds(5);
    options.skip_recent = Duration{};
    options.drain_timeout = milliseconds(5000);
    options.retention = hours(24 * 7);
    options.dead_retention = hours(24 * 7);
    options.purge_interval = hours(1);
    return options;
  }
  return wrong("preset \"" + std::string(name) +
               "\" is unknown; there are patient, single_active and polling");
}

Status OutboxOptions::check() const {
  if (auto name = TableName::parse(table); !name.ok()) return name.error();
  if (claim_mode_name(claim).empty()) {
    return wrong("claim is unknown; there are sharded, leader and competing");
  }
  if (auto checked = rules.check(); !checked.ok()) return checked.error();
  if (auto checked = retry.check(); !checked.ok()) return checked.error();
  for (const auto& [value, setting] : std::initializer_list<std::pair<std::uint64_t, const char*>>{
           {workers, "workers"},
           {hot_capacity, "hot_capacity"},
           {cold_capacity, "cold_capacity"},
           {queue_bytes_max, "queue_bytes_max"},
           {unsettled_max, "unsettled_max"},
           {settle_rows_max, "settle_rows_max"},
           {error_bytes_max, "error_bytes_max"},
           {blocked_keys_max, "blocked_keys_max"}}) {
    if (value == 0) return wrong(std::string(setting) + " is 0; it must be at least 1");
  }
  if (std::uint64_t{cold_capacity} + read_ahead > std::numeric_limits<std::uint32_t>::max()) {
    return wrong("read_ahead is " + std::to_string(read_ahead) +
                 "; with cold_capacity it must be below 4,294,967,296");
  }
  for (const auto& [value, shortest, setting] :
       std::initializer_list<std::tuple<Duration, Duration, const char*>>{
           {poll_interval, Duration{1}, "poll_interval"},
           {dispatch_timeout, Duration{1}, "dispatch_timeout"},
           {lease, lease_min, "lease"},
           {retention, Duration{}, "retention"},
           {dead_retention.value_or(Duration{}), Duration{}, "dead_retention"},
           {purge_interval, milliseconds(1), "purge_interval"},
           {unroutable_grace, Duration{}, "unroutable_grace"},
           {control_interval, milliseconds(1), "control_interval"},
           {skip_recent, Duration{}, "skip_recent"},
           {drain_timeout, Duration{}, "drain_timeout"},
           {settle_delay_max, Duration{}, "settle_delay_max"}}) {
    if (value >= shortest && value <= longest) continue;
    return wrong(std::string(setting) + " is " + duration_text(value) + "; it must be " +
                 duration_text(shortest) + " to " + duration_text(longest));
  }
  for (const auto& [given, setting] : std::initializer_list<std::pair<bool, const char*>>{
           {metrics != nullptr, "metrics"},
           {audit != nullptr, "audit"},
           {log != nullptr, "log"},
           {clock != nullptr, "clock"},
           {random != nullptr, "random"},
           {all_given(interceptors), "one of the interceptors"},
           {all_given(hooks), "one of the hooks"}}) {
    if (!given) return wrong(std::string(setting) + " is null; leave it out instead");
  }
  return {};
}

}  // namespace sagabox
