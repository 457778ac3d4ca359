#pragma once

#include <sagabox/delivery.hpp>
#include <sagabox/retry.hpp>
#include <sagabox/spi/gate.hpp>
#include <sagabox/spi/transport.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>

namespace sagabox::spi {

/// One attempt to deliver one message wherever its route says.
struct Dispatch {
  Ticket ticket{};
  std::shared_ptr<const Message> message;
  const TableName* table = nullptr;
  Sequence sequence{};
  Shard shard{};
  Epoch epoch{};
  std::uint32_t attempt = 1;
  TargetsDone done{};
  std::uint32_t attempts_max = std::numeric_limits<std::uint32_t>::max();  ///< the table's
  bool again = false;   ///< it has waited for a retry
  bool sample = false;  ///< it goes before earlier ones of its class, see Gate::samples
  BootTime deadline{};  ///< not begun later; a send has its route's time on top
};

/// What became of an attempt.
struct Dispatched {
  Outcome outcome;
  /// The message's class cannot go now: nothing happened that is worth writing, and it waits with
  /// its class. Only for messages that have one.
  bool put_off = false;
  TargetsDone done{};
  const RetryPolicy* retry = nullptr;  ///< the route's own; null: the table's
};

/// Told what became of attempts, once each. Called from any thread, also during `deliver`.
class DispatchResults {
 public:
  virtual ~DispatchResults() = default;
  virtual void dispatched(Ticket ticket, Dispatched result) noexcept = 0;
  /// Classes that were closed may go again.
  virtual void opened() noexcept = 0;
};

/// Where messages go that no listener of this process takes. Thread-safe.
class Sink : public Gate {
 public:
  /// Whether there is a way for it; only then it has a class. Otherwise it waits or is dead, see
  /// OutboxOptions::unroutable.
  [[nodiscard]] virtual bool takes(const Message& message) const = 0;
  /// Another number after each change of what `takes` says; `DispatchResults::opened` follows it.
  [[nodiscard]] virtual std::uint64_t routes_version() const { return 0; }
  /// More than this many attempts no route makes.
  [[nodiscard]] virtual std::uint32_t attempts_max(std::uint32_t of_table) const = 0;

  /// Before the first `deliver` of these results; they outlive everything up to `leave`.
  virtual void join(DispatchResults& results) = 0;
  /// Returns soon. Each gets one result.
  virtual void deliver(std::span<Dispatch> dispatches, DispatchResults& results) = 0;
  /// What of this shard waits here for its turn gets its result at once.
  virtual void recall(DispatchResults& results, Shard shard) = 0;
  /// The same for all, and waits for what is on its way. After that nothing is told any more.
  virtual void leave(DispatchResults& results) = 0;
};

}  // namespace sagabox::spi
