#pragma once

#include <sagabox/error.hpp>
#include <sagabox/hub_record.hpp>
#include <sagabox/metrics.hpp>

namespace sagabox::delivery {

/// The instruments of the orchestrator. Safe from any thread.
class HubMetrics {
 public:
  explicit HubMetrics(Metrics& metrics);

  /// It completed so long after it was made.
  void completed(double seconds);
  void retried();
  void died(Code code);

  Counter& disabled;
  Gauge& ready;
  Gauge& in_progress;
  Gauge& endpoints_down;
  Gauge& findings;

 private:
  Metrics& metrics_;
  Counter& completed_;
  Counter& retried_;
  Counter& dead_;
  Histogram& seconds_;
};

}  // namespace sagabox::delivery
