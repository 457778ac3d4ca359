#include "saga/stray_search.hpp"

#include "observe/saga_metric_names.hpp"
#include "saga/instance.hpp"

#include <algorithm>

namespace sagabox::saga {

bool StraySearch::step() {
  const auto now = parts_.clock.boot_now();
  if (!begun_) {
    begun_ = true;
    due_ = now + interval;
    return false;
  }
  if (parts_.store == nullptr || now < due_) return false;
  if (left_.empty()) {
    left_ = parts_.mine();
    named_before_ = std::exchange(named_, {});
    due_ = now + interval;
    // Another process looks through what was given away.
    for (const auto& definition : std::exchange(reported_, {})) {
      const bool is_mine = std::ranges::find(left_, definition) != left_.end();
      if (!is_mine) {
        parts_.metrics.gauge(metric::saga_stray, {{"definition", definition}}).set(0);
      }
    }
    if (left_.empty()) return false;
  }
  const auto definition = left_.back();
  due_ = now + page_interval;
  const auto records = parts_.store->without_due(definition, after_, rows_max);
  if (!records.ok()) {
    errors_.count(records.error().code);
    parts_.log.log(LogLevel::warning, "search for stray sagas failed, will be tried again",
                   {{"definition", std::string_view(definition)},
                    {"code", code_name(records.error().code)},
                    {"error", std::string_view(records.error().message)}});
    due_ = now + interval;
    return false;
  }
  for (const auto& record : *records) look_at(record);
  if (records->size() == rows_max) {
    after_ = records->back().id;
    return false;
  }
  end_of(definition);
  if (left_.empty()) due_ = now + interval;
  return false;
}

BootTime StraySearch::next(BootTime now) const {
  if (!begun_) return now;
  return parts_.store == nullptr ? BootTime::max() : due_;
}

void StraySearch::look_at(const SagaRecord& record) {
  const auto instance = from_record(record);
  // One that cannot be read is found by its owner.
  if (!instance.ok() || !is_stray(*instance)) return;
  ++found_;
  if (named_.size() >= named_max || !named_.insert(record.id).second) return;
  if (named_before_.contains(record.id)) return;
  parts_.log.log(LogLevel::error, "nothing would move this saga",
                 {{"definition", std::string_view(record.definition)},
                  {"saga", record.id.view()},
                  {"state", saga_state_name(record.state)}});
}

void StraySearch::end_of(const std::string& definition) {
  parts_.metrics.gauge(metric::saga_stray, {{"definition", definition}})
      .set(static_cast<double>(found_));
  if (found_ > 0) reported_.insert(definition);
  left_.pop_back();
  after_ = {};
  found_ = 0;
}

}  // namespace sagabox::saga
