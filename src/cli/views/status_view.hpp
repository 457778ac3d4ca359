#pragma once

#include "admin/doctor.hpp"
#include "cli/operations.hpp"
#include "cli/terminal.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sagabox::cli {

/// Messages a second, between two looks.
struct Traffic {
  double in = 0;
  std::optional<double> out = 0.0;  ///< nothing: not known
};

/// A table as `status` shows it.
struct TableStatus {
  admin::TableFacts facts{};
  std::uint64_t retrying = 0;
  std::optional<Traffic> traffic{};
};

/// What the rates are told from.
struct TrafficLook {
  Sequence last{};
  std::uint64_t pending = 0;
  bool estimated = false;
  WallTime at{};
};
/// `ended`: messages that ended since the first look, needed where a look's `pending` is an
/// estimate; nothing: not known, and neither is what went out.
Traffic traffic_between(const TrafficLook& first, const TrafficLook& second,
                        std::optional<std::uint64_t> ended);

/// Of routes, where a daemon tells.
using Targets = std::optional<std::vector<DestinationState>>;

/// "TABLE  PENDING  OLDEST  RATE IN/OUT  RETRYING  DEAD  OWNERS", and a line for each warning.
std::vector<Line> status_view(std::span<const TableStatus> tables, const Targets& targets = {});

}  // namespace sagabox::cli
