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
inline constexpr std::string_view saga_compensations_total = "saga_compensations_total";
inline constexpr std::string_view saga_compensation_seconds = "saga_compensation_seconds";
inline constexpr std::string_view saga_held_total = "saga_held_total";
inline constexpr std::string_view saga_active = "saga_active";
inline constexpr std::string_view saga_dead = "saga_dead";
inline constexpr std::string_view saga_waiting_person = "saga_waiting_person";
inline constexpr std::string_view saga_oldest_seconds = "saga_oldest_seconds";
inline constexpr std::string_view saga_overdue_seconds = "saga_overdue_seconds";
inline constexpr std::string_view saga_stray = "saga_stray";
inline constexpr std::string_view saga_in_memory = "saga_in_memory";
inline constexpr std::string_view saga_calls = "saga_calls";
inline constexpr std::string_view saga_findings = "saga_findings";
inline constexpr std::string_view saga_batches_total = "saga_batches_total";
inline constexpr std::string_view saga_batch_sagas = "saga_batch_sagas";

}  // namespace sagabox::metric
