#pragma once

#include <sagabox/error.hpp>
#include <sagabox/metrics.hpp>

#include <array>
#include <string_view>

namespace sagabox {

/// "info", "warning", "error", "critical".
std::string_view severity_name(Severity severity);

/// Counts `errors_total` by code. The counters are looked up once, so that every code is exported
/// from the start and counting is cheap. Safe from any thread.
class ErrorMetrics {
 public:
  explicit ErrorMetrics(Metrics& metrics);
  void count(Code code) const noexcept;

 private:
  std::array<Counter*, code_count> counters_{};
};

}  // namespace sagabox
