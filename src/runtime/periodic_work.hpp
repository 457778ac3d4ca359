#pragma once

#include <sagabox/time.hpp>

#include <utility>

namespace sagabox::runtime {

/// The periodic work of an engine besides its pipeline. Has no thread; `step` and `next` are called
/// by one thread at a time.
class PeriodicWork {
 public:
  virtual ~PeriodicWork() = default;
  /// Does the work that is due, with a few calls of the store at most. Returns false if nothing
  /// more is due before `next`.
  virtual bool step() = 0;
  [[nodiscard]] virtual BootTime next(BootTime now) const = 0;
};

/// One step of `work` at the clock's time: plan, one call of the store, apply. Returns false if
/// there was nothing to do.
template <class Work>
bool advance(Work& work, const Clock& clock) {
  const auto plan = work.plan(clock.boot_now());
  if (!plan) return false;
  auto answer = work.perform(*plan);
  work.apply(*plan, std::move(answer), clock.boot_now());
  return true;
}

}  // namespace sagabox::runtime
