#pragma once

#include <sagabox/limits.hpp>
#include <sagabox/time.hpp>

#include <cstdint>

namespace sagabox::flow {

/// Enforces limits: rate, concurrency, budget. Pure.
class Valve {
 public:
  Valve(const Limits& limits, BootTime now);

  /// Whether a send may begin now.
  [[nodiscard]] bool admits(BootTime now) const;
  /// When `admits` becomes true without an event; `BootTime::max()`: when a send under way ends.
  [[nodiscard]] BootTime next(BootTime now) const;
  /// The limit that prevents the next send from beginning now.
  enum class Limit : std::uint8_t { none, rate, concurrency, budget };
  [[nodiscard]] Limit reached(BootTime now) const;
  void begin(BootTime now);
  void end() { --under_way_; }
  /// The message did not reach its target: the budget is not spent.
  void end_in_vain();

  /// How many messages are worth keeping in memory: those that may begin before more can be read.
  [[nodiscard]] std::uint32_t worth_holding() const noexcept { return worth_holding_; }

 private:
  [[nodiscard]] BootTime token_at(BootTime now) const;
  [[nodiscard]] bool budget_spent(BootTime now) const;

  Limits limits_;
  Duration interval_{};   ///< between two sends at the rate
  Duration burst_{};      ///< how far `free_from_` may be in the past
  BootTime free_from_{};  ///< the next send at the rate
  BootTime window_from_{};
  std::uint64_t in_window_ = 0;
  std::uint32_t under_way_ = 0;
  std::uint32_t worth_holding_;
};

}  // namespace sagabox::flow
