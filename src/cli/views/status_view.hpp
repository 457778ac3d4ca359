#pragma once

#include "admin/doctor.hpp"
#include "cli/operations.hpp"
#include "cli/terminal.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sagabox::cli {

/// Messages per second, between two looks.
struct Traffic {
  double in = 0;
  std::optional<double> out = 0.0;  ///< nullopt: unknown
};

/// A table as `status` shows it.
struct TableStatus {
  admin::TableFacts facts{};
  std::uint64_t retrying = 0;
  std::optional<Traffic> traffic{};
};

/// The data that the rates are computed from.
struct TrafficLook {
  Sequence last{};
  std::uint64_t pending = 0;
  bool estimated = false;
  WallTime at{};
};
/// `ended`: messages that ended since the first look, needed if a look's `pending` is an estimate;
/// nullopt if unknown, and then `out` is unknown, too.
Traffic traffic_between(const TrafficLook& first, const TrafficLook& second,
                        std::optional<std::uint64_t> ended);

/// The targets of routes, if a daemon is asked.
using Targets = std::optional<std::vector<DestinationState>>;

/// "TABLE  PENDING  OLDEST  RATE IN/OUT  RETRYING  DEAD  OWNERS", and a line for each warning.
std::vector<Line> status_view(std::span<const TableStatus> tables, const Targets& targets = {});

}  // namespace sagabox::cli
