#include "observe/error_metrics.hpp"

#include "observe/metric_names.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace sagabox {

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::info:
      return "info";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
    case Severity::critical:
      break;
  }
  return "critical";
}

ErrorMetrics::ErrorMetrics(Metrics& metrics) {
  for (std::size_t number = 0; number < counters_.size(); ++number) {
    const auto code = static_cast<Code>(number);
    counters_[number] = &metrics.counter(metric::errors_total,
                                         {{"code", code_name(code)},
                                          {"retryable", is_retry_safe(code) ? "true" : "false"},
                                          {"severity", severity_name(severity(code))}});
  }
}

void ErrorMetrics::count(Code code) const noexcept {
  // A store may return a code that this version does not know.
  const auto number =
      std::min(static_cast<std::size_t>(code), static_cast<std::size_t>(Code::unknown_internal));
  counters_[number]->increment();
}

}  // namespace sagabox
