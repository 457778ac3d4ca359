#pragma once

#include "wire/fields.hpp"
#include "wire/put.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sagabox::wire {

/// Whether messages of a table are delivered, as found at one moment.
struct TableReadiness {
  std::string table{};
  bool ready = false;
  std::string text{};  ///< the reason if it is not ready
  std::optional<Duration> oldest_pending{};
  std::optional<Duration> last_success{};  ///< since then; measured at looks, so it may be too low
};
void put_members(JsonOut& json, const TableReadiness& table);
/// `ready` is true if all of them are.
void put_members(JsonOut& json, std::span<const TableReadiness> tables);

/// Whether events of the delivery hub get their deliveries.
struct HubReadiness {
  bool ready = false;
  std::string text{};  ///< why not
  std::optional<Duration> oldest_unrouted{};
};
void put_members(JsonOut& json, const HubReadiness& hub);

struct DaemonReadiness {
  std::vector<TableReadiness> tables{};
  std::optional<HubReadiness> hub{};  ///< null: it has none

  [[nodiscard]] bool ready() const;
};
void put_members(JsonOut& json, const DaemonReadiness& daemon);
DaemonReadiness read_readiness(Fields& fields);

}  // namespace sagabox::wire
