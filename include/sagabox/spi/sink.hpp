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

/// One attempt to deliver one message to the targets of its route.
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
  bool again = false;                                                      ///< it is a retry
  bool sample = false;  ///< it is sent before earlier ones of its class, see Gate::samples
  BootTime deadline{};  ///< the latest start; a send may take its route's timeout after this
};

/// The result of an attempt.
struct Dispatched {
  Outcome outcome;
  /// The message's class is closed: nothing needs to be written, and the message waits with its
  /// class. Only for messages that have a class.
  bool deferred = false;
  TargetsDone done{};
  const RetryPolicy* retry = nullptr;  ///< the route's own; null: the table's
};

/// Receives one result for each attempt. Called from any thread, also during `deliver`.
class DispatchResults {
 public:
  virtual ~DispatchResults() = default;
  virtual void dispatched(Ticket ticket, Dispatched result) noexcept = 0;
  /// Classes that were closed may be open again.
  virtual void opened() noexcept = 0;
};

/// Delivers messages that no listener of this process takes. Thread-safe.
class Sink : public Gate {
 public:
  /// Whether there is a way for it; only then it has a class. Otherwise it waits or is dead, see
  /// OutboxOptions::unroutable.
  [[nodiscard]] virtual bool takes(const Message& message) const = 0;
  /// Another number after each change of what `takes` says; `DispatchResults::opened` follows it.
  [[nodiscard]] virtual std::uint64_t routes_version() const { return 0; }
  /// More than this many attempts no route makes.
  [[nodiscard]] virtual std::uint32_t attempts_max(std::uint32_t of_table) const = 0;

  /// Call it before the first `deliver` with these results. They must exist until `leave` returns.
  virtual void join(DispatchResults& results) = 0;
  /// Returns soon. Each dispatch gets one result.
  virtual void deliver(std::span<Dispatch> dispatches, DispatchResults& results) = 0;
  /// Dispatches of this shard that are still queued get their result at once.
  virtual void recall(DispatchResults& results, Shard shard) = 0;
  /// The same for all shards; also waits for sends under way. No result is reported after it
  /// returns.
  virtual void leave(DispatchResults& results) = 0;
};

}  // namespace sagabox::spi
