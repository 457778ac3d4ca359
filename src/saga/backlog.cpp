#include "saga/backlog.hpp"

#include "observe/saga_metric_names.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sagabox::saga {
namespace {

double seconds_since(const std::optional<WallTime>& then, WallTime now) {
  if (!then) return 0;
  return std::max(0.0, std::chrono::duration<double>(now - *then).count());
}

}  // namespace

Backlog::Backlog(spi::SagaAdminStore* store, std::vector<std::string> definitions,
                 const Clock& clock, Metrics& metrics, Logger& log)
    : store_(&metrics == &no_metrics() ? nullptr : store),
      definitions_(std::move(definitions)),
      clock_(clock),
      metrics_(metrics),
      log_(log),
      errors_(metrics) {}

bool Backlog::step() {
  const auto now = clock_.boot_now();
  if (store_ == nullptr || definitions_.empty() || now < due_) return false;
  const auto& definition = definitions_[at_];
  at_ = (at_ + 1) % definitions_.size();
  if (at_ == 0) due_ = now + interval;
  const auto backlog = store_->backlog(definition);
  if (backlog.ok()) {
    show(definition, *backlog);
  } else {
    errors_.count(backlog.error().code);
    log_.log(LogLevel::warning, "figures of sagas could not be read; they stay as they are",
             {{"definition", std::string_view(definition)},
              {"code", code_name(backlog.error().code)},
              {"error", std::string_view(backlog.error().message)}});
  }
  return at_ != 0;
}

BootTime Backlog::next(BootTime) const { return store_ == nullptr ? BootTime::max() : due_; }

void Backlog::show(const std::string& definition, const spi::SagaBacklog& backlog) {
  const auto set = [&](std::string_view name, double value) {
    metrics_.gauge(name, {{"definition", definition}}).set(value);
  };
  const auto set_active = [&](SagaState state, std::uint64_t sagas) {
    metrics_
        .gauge(metric::saga_active, {{"definition", definition}, {"state", saga_state_name(state)}})
        .set(static_cast<double>(sagas));
  };
  set_active(SagaState::running, backlog.running);
  set_active(SagaState::compensating, backlog.compensating);
  set_active(SagaState::paused, backlog.paused);
  set(metric::saga_dead, static_cast<double>(backlog.dead));
  set(metric::saga_oldest_seconds, seconds_since(backlog.oldest, backlog.now));
  set(metric::saga_overdue_seconds, seconds_since(backlog.overdue_since, backlog.now));
  const auto set_waiting = [&](SagaPersonWait wait, std::uint64_t sagas) {
    metrics_
        .gauge(metric::saga_waiting_person,
               {{"definition", definition}, {"kind", saga_person_wait_name(wait)}})
        .set(static_cast<double>(sagas));
  };
  set_waiting(SagaPersonWait::decision, backlog.wait_for_decision);
  set_waiting(SagaPersonWait::approval, backlog.wait_for_approval);
}

}  // namespace sagabox::saga
