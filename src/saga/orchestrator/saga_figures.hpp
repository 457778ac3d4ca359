#pragma once

#include <sagabox/metrics.hpp>
#include <sagabox/saga_record.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace sagabox::saga {

class Plan;

/// The figures of one definition.
class SagaFigures {
 public:
  SagaFigures(Metrics& metrics, std::string_view definition);

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

 private:
  Metrics& metrics_;
  std::string definition_;
  Histogram& completed_seconds_;
  Histogram& compensated_seconds_;
  Histogram& failed_seconds_;
};

}  // namespace sagabox::saga
