#pragma once

#include "saga/decide.hpp"

#include <sagabox/metrics.hpp>
#include <sagabox/saga_record.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace sagabox::saga {

/// The figures of one definition.
class SagaMetrics {
 public:
  SagaMetrics(Metrics& metrics, std::string_view definition);

  Counter& started;
  Counter& completed;
  Counter& compensated;
  Counter& failed;
  Counter& batches;
  Counter& batches_failed;
  Histogram& batch_sagas;
  Gauge& in_memory;
  Gauge& calls;
  Gauge& findings;

  void ended(SagaState state, double seconds);
  void step_done(std::string_view step, double seconds);
  /// Whether `moved` counts it.
  static bool counts(const StepMove& move) noexcept;
  /// Of a step of `plan` that has come into another state.
  void moved(const Plan& plan, const StepMove& move);
  void undone(double seconds);
  void replayed() { replays_.increment(); }
  /// So that an increase from nothing is one.
  void expect(const Plan& plan);

 private:
  Counter& held(std::string_view step);

  Metrics& metrics_;
  std::string definition_;
  Counter& compensations_ok_;
  Counter& compensations_failed_;
  Histogram& compensation_seconds_;
  Counter& replays_;
  Histogram& completed_seconds_;
  Histogram& compensated_seconds_;
  Histogram& failed_seconds_;
};

}  // namespace sagabox::saga
