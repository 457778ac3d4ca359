#pragma once

#include <sagabox/limits.hpp>
#include <sagabox/time.hpp>

#include <cstdint>

namespace sagabox::flow {

/// Holds what goes one way to its limits: rate, concurrency, budget. Pure.
class Valve {
 public:
  Valve(const Limits& limits, BootTime now);

  /// Whether one may begin now.
  [[nodiscard]] bool admits(BootTime now) const;
  /// When `admits` becomes true by itself; `BootTime::max()`: when one of those under way ends.
  [[nodiscard]] BootTime next(BootTime now) const;
  /// Which of its limits keeps the next one from beginning now.
  enum class Limit : std::uint8_t { none, rate, concurrency, budget };
  [[nodiscard]] Limit reached(BootTime now) const;
  void begin(BootTime now);
  void end() { --under_way_; }
  /// It ended without having come there: the budget is not spent.
  void end_in_vain();

  /// How many are worth keeping ready: what may begin before more can be fetched.
  [[nodiscard]] std::uint32_t worth_holding() const noexcept { return worth_holding_; }

 private:
  [[nodiscard]] BootTime token_at(BootTime now) const;
  [[nodiscard]] bool budget_spent(BootTime now) const;

  Limits limits_;
  Duration interval_{};   ///< between two, at the rate
  Duration burst_{};      ///< how far `free_from_` may lie behind
  BootTime free_from_{};  ///< the next one's turn at the rate
  BootTime window_from_{};
  std::uint64_t in_window_ = 0;
  std::uint32_t under_way_ = 0;
  std::uint32_t worth_holding_;
};

}  // namespace sagabox::flow
