#include "server/api/json_out.hpp"
#include "server/api/openapi_document.hpp"
#include "server/api/operations.hpp"
#include "server/api/problem.hpp"
#include "server/api/readiness.hpp"

#include <utility>

namespace sagabox::server::operations {
namespace {

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

void put_looked(JsonOut& json, const Looked& looked) {
  json.begin_object().field("table", looked.table).field("ready", looked.ready);
  json.field_if("text", looked.text);
  if (looked.oldest_pending) {
    json.field("oldest_pending_seconds", seconds(*looked.oldest_pending));
  }
  if (looked.last_success) json.field("last_success_seconds", seconds(*looked.last_success));
  json.end_object();
}

}  // namespace

Result<Response> live(const Call&) { return Response{.body = R"({"live":true})"}; }

Result<Response> ready(const Call& call) {
  bool all = true;
  JsonOut tables;
  tables.begin_array();
  for (const auto& table : call.options.tables) {
    const auto looked = call.readiness.look(table);
    all = all && looked.ready;
    put_looked(tables, looked);
  }
  tables.end_array();
  JsonOut json;
  json.begin_object().field("ready", all).name("tables").raw(std::move(tables).take()).end_object();
  return Response{.status = all ? 200U : 503U, .body = std::move(json).take()};
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
