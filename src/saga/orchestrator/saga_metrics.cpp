#include "saga/orchestrator/saga_metrics.hpp"

#include "observe/metric_names.hpp"
#include "observe/saga_metric_names.hpp"

namespace sagabox::saga {

SagaMetrics::SagaMetrics(Metrics& metrics, std::string_view definition)
    : started(metrics.counter(metric::saga_started_total, {{"definition", definition}})),
      completed(metrics.counter(metric::saga_completed_total, {{"definition", definition}})),
      compensated(metrics.counter(metric::saga_compensated_total, {{"definition", definition}})),
      failed(metrics.counter(metric::saga_failed_total, {{"definition", definition}})),
      batches(metrics.counter(metric::saga_batches_total,
                              {{"definition", definition}, {"result", "ok"}})),
      batches_failed(metrics.counter(metric::saga_batches_total,
                                     {{"definition", definition}, {"result", "failed"}})),
      batch_sagas(metrics.histogram(metric::saga_batch_sagas, {{"definition", definition}})),
      in_memory(metrics.gauge(metric::saga_in_memory, {{"definition", definition}})),
      calls(metrics.gauge(metric::saga_calls, {{"definition", definition}})),
      findings(metrics.gauge(metric::saga_findings, {{"definition", definition}})),
      metrics_(metrics),
      definition_(definition),
      compensations_ok_(metrics.counter(metric::saga_compensations_total,
                                        {{"definition", definition}, {"result", "ok"}})),
      compensations_failed_(metrics.counter(metric::saga_compensations_total,
                                            {{"definition", definition}, {"result", "failed"}})),
      compensation_seconds_(
          metrics.histogram(metric::saga_compensation_seconds, {{"definition", definition}})),
      replays_(metrics.counter(metric::replay_total, {{"kind", "saga"}})),
      completed_seconds_(metrics.histogram(metric::saga_seconds,
                                           {{"definition", definition}, {"result", "completed"}})),
      compensated_seconds_(metrics.histogram(
          metric::saga_seconds, {{"definition", definition}, {"result", "compensated"}})),
      failed_seconds_(metrics.histogram(metric::saga_seconds,
                                        {{"definition", definition}, {"result", "failed"}})) {}

void SagaMetrics::ended(SagaState state, double seconds) {
  switch (state) {
    case SagaState::completed:
      completed.increment();
      return completed_seconds_.observe(seconds);
    case SagaState::cancelled:
      compensated.increment();
      return compensated_seconds_.observe(seconds);
    case SagaState::failed:
      failed.increment();
      return failed_seconds_.observe(seconds);
    default:
      return;
  }
}

void SagaMetrics::step_done(std::string_view step, double seconds) {
  metrics_.histogram(metric::saga_step_seconds, {{"definition", definition_}, {"step", step}})
      .observe(seconds);
}

bool SagaMetrics::counts(const StepMove& move) noexcept {
  const auto to = move.transition.to;
  return !move.by_hand && (to == SagaStepState::held || to == SagaStepState::undone ||
                           to == SagaStepState::undo_held || to == SagaStepState::undo_failed);
}

void SagaMetrics::moved(const Plan& plan, const StepMove& move) {
  const auto to = move.transition.to;
  if (to == SagaStepState::undone) compensations_ok_.increment();
  const bool stuck = to == SagaStepState::undo_held || to == SagaStepState::undo_failed;
  if (stuck) compensations_failed_.increment();
  if (to != SagaStepState::held && to != SagaStepState::undo_held) return;
  held(plan.step(move.step).given.name).increment();
}

void SagaMetrics::undone(double seconds) { compensation_seconds_.observe(seconds); }

void SagaMetrics::expect(const Plan& plan) {
  for (const auto& step : plan.steps()) (void)held(step.given.name);
}

Counter& SagaMetrics::held(std::string_view step) {
  return metrics_.counter(metric::saga_held_total, {{"definition", definition_}, {"step", step}});
}

}  // namespace sagabox::saga
