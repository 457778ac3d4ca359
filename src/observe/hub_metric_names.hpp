#pragma once

#include <string_view>

/// Names without prefix; kinds, labels and help are in catalogue.cpp.
namespace sagabox::metric {

inline constexpr std::string_view hub_routed_total = "hub_routed_total";
inline constexpr std::string_view hub_unfit_total = "hub_unfit_total";
inline constexpr std::string_view hub_deliveries_total = "hub_deliveries_total";
inline constexpr std::string_view hub_refused_total = "hub_refused_total";
inline constexpr std::string_view hub_attempts_total = "hub_attempts_total";
inline constexpr std::string_view hub_attempt_seconds = "hub_attempt_seconds";
inline constexpr std::string_view hub_lost_leases_total = "hub_lost_leases_total";
// The orchestrator of deliveries.
inline constexpr std::string_view hub_ended_total = "hub_ended_total";
inline constexpr std::string_view hub_dead_total = "hub_dead_total";
inline constexpr std::string_view hub_delivery_seconds = "hub_delivery_seconds";
inline constexpr std::string_view hub_disabled_total = "hub_disabled_total";
inline constexpr std::string_view hub_ready = "hub_ready";
inline constexpr std::string_view hub_in_progress = "hub_in_progress";
inline constexpr std::string_view hub_endpoints_down = "hub_endpoints_down";
inline constexpr std::string_view hub_findings = "hub_findings";
// The backlog in the store.
inline constexpr std::string_view hub_open = "hub_open";
inline constexpr std::string_view hub_oldest_seconds = "hub_oldest_seconds";
inline constexpr std::string_view hub_unrouted = "hub_unrouted";
inline constexpr std::string_view hub_unrouted_seconds = "hub_unrouted_seconds";
inline constexpr std::string_view hub_figures_known = "hub_figures_known";

}  // namespace sagabox::metric
