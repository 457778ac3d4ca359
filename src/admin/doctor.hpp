#pragma once

#include <sagabox/admin.hpp>
#include <sagabox/router.hpp>
#include <sagabox/spi/doctor_store.hpp>

#include <optional>
#include <string>
#include <vector>

/// What is wrong with a table, told from facts that somebody has asked for. Pure.
namespace sagabox::admin {

struct TableFacts {
  std::string table{};
  spi::TableStats stats{};
  std::vector<Pause> pauses{};
  std::vector<spi::ShardOwner> owners{};
  std::vector<BlockedKey> blocked{};  ///< the first of them
  bool more_blocked = false;
  std::vector<ReplayJob> jobs{};
  std::vector<spi::Stray> strays{};  ///< when looked for
};

/// The gravest first; texts do not name the table.
std::vector<spi::Finding> findings_of(const TableFacts& facts);

/// Of a target that is down.
spi::Finding down_finding(const DestinationState& target);

/// Leases do not depend on it, but people compare times. `before` and `after` it was asked.
std::optional<spi::Finding> clock_finding(WallTime before, WallTime database, WallTime after);

}  // namespace sagabox::admin
