#include "delivery/orchestrator/endpoint_flow.hpp"

#include <algorithm>

namespace sagabox::delivery {
namespace {

constexpr int status_too_many = 429;
constexpr int status_unavailable = 503;
/// Each is an attempt. What fails by itself was answered, and keeps no breaker open.
constexpr std::uint32_t probes_in_a_row = 1;
constexpr Duration probe_poll = std::chrono::milliseconds(50);

/// A valve that knows what is under way. Its rate counts as spent for as long as that took at
/// least.
flow::Valve valve_with(const Limits& limits, std::uint32_t under_way, BootTime now) {
  const Duration interval =
      limits.rate ? Duration(std::chrono::seconds(1)) / *limits.rate : Duration{};
  const auto from = now - interval * under_way;
  flow::Valve valve(limits, from);
  for (std::uint32_t one = 0; one < under_way; ++one) valve.begin(from);
  return valve;
}

bool same(const Limits& a, const Limits& b) {
  return a.rate == b.rate && a.burst == b.burst && a.concurrency == b.concurrency;
}

}  // namespace

EndpointFlow::EndpointFlow(const Limits& limits, const BreakerOptions& breaker,
                           std::uint32_t window_max, BootTime now)
    : limits_(limits),
      breaker_(breaker, probes_in_a_row),
      valve_(limits, now),
      window_(std::min(window_min, window_max)),
      window_max_(window_max) {}

void EndpointFlow::limit(const Limits& limits, BootTime now) {
  if (same(limits_, limits)) return;
  limits_ = limits;
  valve_ = valve_with(limits, under_way_, now);
}

bool EndpointFlow::admits(bool retry, BootTime now) const {
  if (under_way_ >= window_ || !valve_.admits(now)) return false;
  const auto lane = retry ? flow::Breaker::Lane::retry : flow::Breaker::Lane::fresh;
  const auto allowed = breaker_.allowed(now, lane);
  // While it is open each lane has its own probes.
  if (breaker_.open()) return (retry ? retries_ : under_way_ - retries_) < allowed;
  return under_way_ < allowed;
}

BootTime EndpointFlow::next(BootTime now) const {
  if (under_way_ >= window_) return BootTime::max();
  if (!valve_.admits(now)) return valve_.next(now);
  const auto probe = breaker_.next(now);
  // When retries may end a round of probes is not known before.
  return breaker_.open() && probe == BootTime::max() ? now + probe_poll : probe;
}

void EndpointFlow::began(bool retry, BootTime now) {
  ++under_way_;
  if (retry) ++retries_;
  valve_.begin(now);
}

void EndpointFlow::dropped(bool retry) {
  --under_way_;
  if (retry) --retries_;
  valve_.end_in_vain();
}

void EndpointFlow::shrink() { window_ = std::max(std::min(window_min, window_max_), window_ / 2); }

void EndpointFlow::ended(const JobResult& result, bool retry, BootTime began, BootTime now) {
  dropped(retry);
  const auto lane = retry ? flow::Breaker::Lane::retry : flow::Breaker::Lane::fresh;
  if (result.status == status_too_many || result.status == status_unavailable) {
    return breaker_.busy(result.retry_after.value_or(Duration{}), began, now, lane);
  }
  if (result.completed || result.status != 0) {
    window_ = std::min(window_max_, window_ + 1);
    return breaker_.delivered(now);
  }
  if (result.code == Code::provider_unavailable) {
    shrink();
    return breaker_.unreachable(began, now, lane);
  }
  // A lost lease says nothing about the endpoint, and neither does what was never sent.
  if (result.code != Code::tx_timeout) return;
  shrink();
  breaker_.timed_out(began, now, lane);
}

}  // namespace sagabox::delivery
