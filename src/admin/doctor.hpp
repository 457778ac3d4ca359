#pragma once

#include <sagabox/admin.hpp>
#include <sagabox/refused_result.hpp>
#include <sagabox/router.hpp>
#include <sagabox/spi/doctor_store.hpp>
#include <sagabox/unrouted_topic.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Finds the problems of a table in facts that the caller has queried. Pure.
namespace sagabox::admin {

/// Messages whose result the store refuses, as reported by the process that holds them back.
struct RefusedFacts {
  std::uint64_t count = 0;
  std::vector<RefusedResult> first{};
};

/// Topics that the process which delivers knows no way for.
struct UnroutedFacts {
  std::uint64_t count = 0;
  std::vector<UnroutedTopic> first{};
};

/// Quarantined because the store refused their result.
struct QuarantinedFacts {
  std::uint64_t count = 0;
  bool more = false;      ///< not all quarantined messages were checked
  MessageRecord first{};  ///< if there is one
};

struct TableFacts {
  std::string table{};
  spi::TableStats stats{};
  std::vector<Pause> pauses{};
  std::vector<spi::ShardOwner> owners{};
  std::vector<BlockedKey> blocked{};  ///< the first of them
  bool more_blocked = false;
  std::vector<ReplayJob> jobs{};
  std::vector<spi::Stray> strays{};  ///< when looked for
  RefusedFacts refused{};            ///< none where only the store was asked
  UnroutedFacts unrouted{};          ///< the same
  QuarantinedFacts quarantined_results{};
};

/// The most severe first; texts do not name the table.
std::vector<spi::Finding> findings_of(const TableFacts& facts);

/// The finding for a target that is down.
spi::Finding down_finding(const DestinationState& target);

/// Leases do not depend on the clocks, but people compare times. The database was asked between
/// `before` and `after`.
std::optional<spi::Finding> clock_finding(WallTime before, WallTime database, WallTime after);

}  // namespace sagabox::admin
