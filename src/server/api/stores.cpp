#include "core/text.hpp"
#include "observe/error_figures.hpp"
#include "server/api/operations.hpp"
#include "server/api/problem.hpp"
#include "server/api/records_json.hpp"

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

/// Where the database cannot tell, it is as this process found it at its start.
Result<bool> is_current(Store& store) {
  auto* const doctor = store.doctor();
  if (doctor == nullptr) return true;
  return doctor->is_current();
}

Status put_store(JsonOut& json, const Call& call, const ServedTable& one) {
  const auto current = is_current(*one.store);
  if (!current.ok()) return current.error();
  json.begin_object().field("store", one.store_name);
  // It names hosts and files.
  if (!call.caller.tenant) json.field("database", one.store->name());
  json.field("current", *current).name("tables").begin_array();
  for (const auto& table : call.options.tables) {
    if (table.store_name == one.store_name) json.value(table.table.str());
  }
  json.end_array().end_object();
  return {};
}

}  // namespace

Result<Response> list_stores(const Call& call) {
  const Query query(call.request.target);
  if (auto status = query.status(); !status.ok()) return status.error();
  JsonOut json;
  json.begin_object().name("stores").begin_array();
  for (const auto* one : stores_of(call)) {
    if (auto status = put_store(json, call, *one); !status.ok()) return status.error();
  }
  json.end_array().end_object();
  return Response{.body = std::move(json).take()};
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
  JsonOut json;
  json.begin_object().name("findings").begin_array();
  for (const auto& finding : findings) put(json, finding);
  json.end_array().end_object();
  return Response{.body = std::move(json).take()};
}

Result<Response> list_destinations(const Call& call) {
  const Query query(call.request.target);
  if (auto status = query.status(); !status.ok()) return status.error();
  if (call.caller.tenant) return all_tenants("destinations");
  JsonOut json;
  json.begin_object().name("destinations").begin_array();
  if (call.options.destinations) {
    for (const auto& state : call.options.destinations()) put(json, state);
  }
  json.end_array().end_object();
  return Response{.body = std::move(json).take()};
}

}  // namespace sagabox::server::operations
