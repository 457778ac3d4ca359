#pragma once

#include "saga/commands.hpp"
#include "saga/decide.hpp"

#include <sagabox/id.hpp>
#include <sagabox/saga_record.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sagabox::saga {

/// Numbers the calls that a process makes, over all sagas.
using CallTicket = Number<struct CallTicketTag, std::uint64_t>;

/// One call, with everything that whoever is called is told.
struct CallOrder {
  CallTicket ticket{};
  Call call{};
  SagaId saga{};
  std::string definition{};
  std::uint32_t definition_version = 0;
  std::string tenant{};
  std::string step{};
  bool idempotent = true;
  Shard shard{};
  Epoch epoch{};
  BootTime deadline{};
  /// Whoever is called forgets the call no sooner: the note of its barrier is kept so long.
  WallTime remember_until{};
  std::string traceparent{};
  bool was_held = false;  ///< by a limit, when it was to be made before
};

/// Told what became of calls, once each. Called from any thread, also during `call`.
class CallResults {
 public:
  virtual ~CallResults() = default;
  virtual void ended(CallTicket ticket, CallResult result) noexcept = 0;
};

/// A way to call participants. Thread-safe.
class Caller {
 public:
  virtual ~Caller() = default;
  /// Returns soon, does not throw. Each call ends once; `results` outlives that.
  virtual void call(std::vector<CallOrder> orders, CallResults& results) = 0;
  /// Its result no longer matters: it should stop, and still ends once.
  virtual void abandon(CallTicket ticket) = 0;
  /// Takes a call back that has not begun. Returns false if it may have begun, or has ended; true:
  /// nothing of it happens, and `results` is not told.
  virtual bool withdraw(CallTicket) { return false; }
};

}  // namespace sagabox::saga
