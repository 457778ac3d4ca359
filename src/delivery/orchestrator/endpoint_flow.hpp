#pragma once

#include "flow/breaker.hpp"
#include "flow/valve.hpp"

#include <sagabox/hub_record.hpp>
#include <sagabox/limits.hpp>
#include <sagabox/time.hpp>

#include <cstdint>

namespace sagabox::delivery {

/// Whether another attempt may go to an endpoint now: its breaker, its limits, and a window that
/// opens while it answers, so that one that hangs holds few workers. Pure.
class EndpointFlow {
 public:
  static constexpr std::uint32_t window_min = 16;

  EndpointFlow(const Limits& limits, const BreakerOptions& breaker, std::uint32_t window_max,
               BootTime now);

  /// Other limits from now on; what is under way counts against them.
  void limit(const Limits& limits, BootTime now);

  /// `retry`: of a delivery that was attempted before. While the breaker is open such attempts do
  /// not take the turns of others.
  [[nodiscard]] bool admits(bool retry, BootTime now) const;
  /// When `admits` becomes true by itself; `BootTime::max()`: when one of those under way ends.
  [[nodiscard]] BootTime next(BootTime now) const;

  void began(bool retry, BootTime now);
  /// It began, and did not come to an attempt.
  void dropped(bool retry);
  void ended(const JobResult& result, bool retry, BootTime began, BootTime now);

  [[nodiscard]] std::uint32_t under_way() const noexcept { return under_way_; }
  [[nodiscard]] bool down() const noexcept { return breaker_.open(); }
  /// Meaningless unless it is down.
  [[nodiscard]] BootTime down_since() const noexcept { return breaker_.down_since(); }

 private:
  /// It did not answer.
  void shrink();

  Limits limits_;
  flow::Breaker breaker_;
  flow::Valve valve_;
  std::uint32_t window_;
  std::uint32_t window_max_;
  std::uint32_t under_way_ = 0;
  std::uint32_t retries_ = 0;  ///< of them
};

}  // namespace sagabox::delivery
