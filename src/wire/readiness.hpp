#pragma once

#include "wire/fields.hpp"
#include "wire/put.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sagabox::wire {

/// Whether messages of a table get delivered, as one look at it found.
struct TableReadiness {
  std::string table{};
  bool ready = false;
  std::string text{};  ///< why not
  std::optional<Duration> oldest_pending{};
  std::optional<Duration> last_success{};  ///< since then; seen by looks, so it may be younger
};
void put_members(JsonOut& json, const TableReadiness& table);
/// `ready`: all of them are.
void put_members(JsonOut& json, std::span<const TableReadiness> tables);
std::vector<TableReadiness> read_readiness(Fields& fields);

}  // namespace sagabox::wire
