#include "server/api/hub_watch.hpp"
#include "server/api/json_response.hpp"
#include "server/api/openapi_document.hpp"
#include "server/api/operations.hpp"
#include "server/api/problem.hpp"
#include "server/api/readiness.hpp"

#include <vector>

namespace sagabox::server::operations {

Result<Response> live(const Call&) { return Response{.body = "{\"live\":true}\n"}; }

Result<Response> ready(const Call& call) {
  wire::DaemonReadiness daemon;
  for (const auto& table : call.options.tables) daemon.tables.push_back(call.readiness.look(table));
  if (call.options.hub) daemon.hub = call.hub_watch.look(*call.options.hub);
  auto response = ok_with(daemon);
  if (!daemon.ready()) response.status = 503;
  return response;
}

Result<Response> metrics(const Call& call) {
  if (call.caller.tenant) {
    return Error{Code::auth_denied, "metrics concern all tenants; this key is bound to one"};
  }
  if (call.options.exposition == nullptr) return not_found("metrics are switched off here");
  return Response{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                  .body = call.options.exposition->text()};
}

Result<Response> openapi(const Call&) { return Response{.body = std::string(openapi_document())}; }

}  // namespace sagabox::server::operations
