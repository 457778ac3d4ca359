#pragma once

#include "wire/fields.hpp"
#include "wire/put.hpp"

#include <sagabox/admin.hpp>
#include <sagabox/router.hpp>
#include <sagabox/spi/doctor_store.hpp>

#include <span>
#include <string>
#include <vector>

/// The stores of the tables as JSON, written and read here. The format of audit log entries is
/// defined in observe/audit_json.hpp, because their hashes depend on it.
namespace sagabox::wire {

/// A store as shown by a daemon.
struct StoreState {
  std::string store{};     ///< its name in the configuration
  std::string database{};  ///< empty for keys that are bound to a tenant
  bool current = false;    ///< also false if it does not answer
  std::string error{};     ///< why it does not answer; empty if it does
  std::vector<TableName> tables{};
};
void put_members(JsonOut& json, const StoreState& store);
void put_members(JsonOut& json, std::span<const StoreState> stores);
std::vector<StoreState> read_stores(Fields& fields);

void put_members(JsonOut& json, const spi::Finding& finding);
void put_members(JsonOut& json, std::span<const spi::Finding> findings);
std::vector<spi::Finding> read_findings(Fields& fields);

void put_members(JsonOut& json, const DestinationState& state);
void put_members(JsonOut& json, std::span<const DestinationState> states);
std::vector<DestinationState> read_destinations(Fields& fields);

void put_members(JsonOut& json, const AuditReport& report);
AuditReport read_audit_report(Fields& fields);

}  // namespace sagabox::wire
