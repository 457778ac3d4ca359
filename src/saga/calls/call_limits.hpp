#pragma once

#include "flow/valve.hpp"

#include <sagabox/saga.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::saga {

/// Says when each call of a participant may begin. A call that may not is told when to come back:
/// one after the other, so that few come in vain, and those that were told go before those that
/// come for the first time. Pure; the caller brings the time along.
class CallLimits {
 public:
  explicit CallLimits(SagaLimits limits);

  /// Above that tenants share limits by their hash.
  static constexpr std::size_t tenants_max = 10'000;
  /// Nobody is told to come back later: what held it may be gone by then.
  static constexpr Duration wait_max = std::chrono::minutes(10);

  struct Call {
    std::string_view transport;
    std::string_view participant;  ///< "https://flights:8080"
    std::string_view definition;
    std::string_view tenant;
    bool came_back = false;  ///< it was held before
  };
  struct Held {
    std::string by;  ///< "the rate of tenant acme"
    Duration wait{};
  };

 private:
  /// One of those that have limits.
  struct Gate {
    Gate(const Limits& of, std::string whose_it_is, BootTime now)
        : limits(of), whose(std::move(whose_it_is)), valve(of, now) {}

    /// Nothing: the call may go through.
    [[nodiscard]] std::optional<flow::Valve::Limit> held(bool came_back, BootTime now) const;
    /// When one more call that is held should come back.
    BootTime promise(BootTime now);
    [[nodiscard]] Duration spacing() const;
    [[nodiscard]] std::string name_of(flow::Valve::Limit limit) const;

    const Limits limits;
    const std::string whose;
    flow::Valve valve;
    BootTime promised_to{BootTime::min()};  ///< when the last one that was told comes back
    BootTime window{BootTime::min()};       ///< of the budget, the one that is being promised
    std::uint64_t promised = 0;             ///< of that window
    Duration took{};                        ///< a call, about
  };

 public:
  /// What a call went through.
  class Passage {
    friend class CallLimits;
    std::vector<Gate*> gates_;
    BootTime began_{};
  };
  /// Null: it may begin, and `end` must follow. Else what holds it.
  [[nodiscard]] std::optional<Held> begin(const Call& call, Passage& passage, BootTime now);
  /// `in_vain`: nothing of it was sent, and no budget is spent.
  void end(const Passage& passage, bool in_vain, BootTime now);

 private:
  enum class Kind : std::uint8_t { transport, participant, definition, tenant };

  void add_gate(Kind kind, std::string_view name, BootTime now, std::vector<Gate*>& gates);
  [[nodiscard]] std::string gate_name(Kind kind, std::string_view name) const;

  const SagaLimits limits_;
  const bool any_;
  std::map<std::pair<Kind, std::string>, std::unique_ptr<Gate>> gates_;
};

}  // namespace sagabox::saga
