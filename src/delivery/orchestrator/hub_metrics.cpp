#include "delivery/orchestrator/hub_metrics.hpp"

#include "observe/hub_metric_names.hpp"

namespace sagabox::delivery {

HubMetrics::HubMetrics(Metrics& metrics)
    : disabled(metrics.counter(metric::hub_disabled_total, {})),
      ready(metrics.gauge(metric::hub_ready, {})),
      in_progress(metrics.gauge(metric::hub_in_progress, {})),
      endpoints_down(metrics.gauge(metric::hub_endpoints_down, {})),
      findings(metrics.gauge(metric::hub_findings, {})),
      metrics_(metrics),
      completed_(metrics.counter(metric::hub_ended_total, {{"result", "completed"}})),
      retried_(metrics.counter(metric::hub_ended_total, {{"result", "retry"}})),
      dead_(metrics.counter(metric::hub_ended_total, {{"result", "dead"}})),
      seconds_(metrics.histogram(metric::hub_delivery_seconds, {})) {}

void HubMetrics::completed(double seconds) {
  completed_.increment();
  seconds_.observe(seconds);
}

void HubMetrics::retried() { retried_.increment(); }

void HubMetrics::died(Code code) {
  dead_.increment();
  metrics_.counter(metric::hub_dead_total, {{"code", code_name(code)}}).increment();
}

}  // namespace sagabox::delivery
