#pragma once

#include <string_view>

/// Names without prefix; kinds, labels and help are in catalogue.cpp.
namespace sagabox::metric {

inline constexpr std::string_view saga_started_total = "saga_started_total";
inline constexpr std::string_view saga_completed_total = "saga_completed_total";
inline constexpr std::string_view saga_compensated_total = "saga_compensated_total";
inline constexpr std::string_view saga_failed_total = "saga_failed_total";
inline constexpr std::string_view saga_seconds = "saga_seconds";
inline constexpr std::string_view saga_step_seconds = "saga_step_seconds";
inline constexpr std::string_view saga_in_memory = "saga_in_memory";
inline constexpr std::string_view saga_calls = "saga_calls";
inline constexpr std::string_view saga_findings = "saga_findings";
inline constexpr std::string_view saga_batches_total = "saga_batches_total";
inline constexpr std::string_view saga_batch_sagas = "saga_batch_sagas";

}  // namespace sagabox::metric
