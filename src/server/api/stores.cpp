#include "wire/stores.hpp"

#include "core/text.hpp"
#include "server/api/json_response.hpp"
#include "server/api/operations.hpp"
#include "server/api/problem.hpp"
#include "server/api/query.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::server::operations {
namespace {

Error all_tenants(std::string_view what) {
  return {Code::auth_denied, std::string(what) + " concern all tenants; this key is bound to one"};
}

/// One table of each store, in their order.
std::vector<const ServedTable*> stores_of(const Call& call) {
  std::vector<const ServedTable*> stores;
  for (const auto& table : call.options.tables) {
    const auto same = [&](const ServedTable* other) {
      return other->store_name == table.store_name;
    };
    if (std::ranges::none_of(stores, same)) stores.push_back(&table);
  }
  return stores;
}

/// If the database cannot tell, the result of the check at the start of this process.
Result<bool> is_current(Store& store) {
  auto* const doctor = store.doctor();
  if (doctor == nullptr) return true;
  return doctor->is_current();
}

/// A store that does not answer is listed like the others, with the reason.
wire::StoreState store_state_of(const Call& call, const ServedTable& one) {
  const auto current = is_current(*one.store);
  wire::StoreState state{.store = one.store_name, .current = current.ok() && *current};
  // Names and errors may contain hosts and files.
  if (!call.caller.tenant) state.database = one.store->name();
  if (!current.ok()) {
    state.error =
        call.caller.tenant ? std::string(code_name(current.error().code)) : current.error().text();
  }
  for (const auto& table : call.options.tables) {
    if (table.store_name == one.store_name) state.tables.push_back(table.table);
  }
  return state;
}

}  // namespace

Result<Response> list_stores(const Call& call) {
  const Query query(call.request.target);
  if (auto status = query.status(); !status.ok()) return status.error();
  std::vector<wire::StoreState> stores;
  for (const auto* one : stores_of(call)) {
    stores.push_back(store_state_of(call, *one));
  }
  return ok_with(stores);
}

Result<Response> list_findings(const Call& call) {
  const Query query(call.request.target);
  if (auto status = query.status(); !status.ok()) return status.error();
  if (call.caller.tenant) return all_tenants("findings about a store");
  const auto stores = stores_of(call);
  const auto found = std::ranges::find_if(
      stores, [&](const ServedTable* one) { return one->store_name == call.names.at(0); });
  if (found == stores.end()) {
    return not_found("store " + quoted(call.names.at(0)) +
                     " is not served here; /v1/stores lists those that are");
  }
  std::vector<spi::Finding> findings;
  if (auto* const doctor = (*found)->store->doctor()) {
    auto told = doctor->findings();
    if (!told.ok()) return told.error();
    findings = std::move(*told);
  }
  if (const auto& held = call.options.saga_findings) {
    for (const auto& finding : held(*(*found)->store)) {
      findings.push_back({Severity::error,
                          "saga " + finding.saga.str() + " of " + finding.definition +
                              " does not go on: " + std::string(code_name(finding.code)) + " " +
                              finding.text,
                          "sagabox saga explain " + finding.saga.str()});
    }
  }
  return ok_with(findings);
}

Result<Response> list_destinations(const Call& call) {
  const Query query(call.request.target);
  if (auto status = query.status(); !status.ok()) return status.error();
  if (call.caller.tenant) return all_tenants("destinations");
  const auto& destinations = call.options.destinations;
  return ok_with(destinations ? destinations() : std::vector<DestinationState>());
}

}  // namespace sagabox::server::operations
