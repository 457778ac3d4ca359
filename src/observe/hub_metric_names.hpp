#pragma once

#include <string_view>

/// Names without prefix; kinds, labels and help are in catalogue.cpp.
namespace sagabox::metric {

inline constexpr std::string_view hub_routed_total = "hub_routed_total";
inline constexpr std::string_view hub_deliveries_total = "hub_deliveries_total";
inline constexpr std::string_view hub_attempts_total = "hub_attempts_total";
inline constexpr std::string_view hub_attempt_seconds = "hub_attempt_seconds";
inline constexpr std::string_view hub_lost_leases_total = "hub_lost_leases_total";

}  // namespace sagabox::metric
