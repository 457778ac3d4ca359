#pragma once

#include "server/api/arguments.hpp"
#include "server/api/problem.hpp"
#include "server/api/routes.hpp"

#include <sagabox/hub_admin.hpp>

#include <string_view>

/// Shared by the operations of the delivery hub.
namespace sagabox::server {

/// TX.INVALID_STATE if no hub is served.
Result<HubAdmin> hub_admin_of(const Call& call);
/// The same, after everything of the request was read: its errors are reported first.
template <class Given>
Result<HubAdmin> hub_for(const Call& call, Given& given) {
  if (auto status = given.status(); !status.ok()) return status.error();
  return hub_admin_of(call);
}

/// AUTH.DENIED if payloads are requested with a key that may not see them.
Result<Admin::PayloadToo> payload_too(const Call& call, bool asked);

/// Reads the id in the path.
template <class IdType>
Result<IdType> hub_id_from(const Call& call) {
  auto id = IdType::parse(call.names.at(0));
  if (!id.ok()) return Error{Code::request_invalid, "id: " + id.error().message};
  return id;
}

Response nothing_there(const Call& call, std::string_view what);

}  // namespace sagabox::server
