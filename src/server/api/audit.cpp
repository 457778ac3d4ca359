#include "core/digest_text.hpp"
#include "server/api/json_response.hpp"
#include "server/api/operations.hpp"
#include "server/api/problem.hpp"
#include "server/api/query.hpp"
#include "server/api/store_choice.hpp"
#include "wire/stores.hpp"

#include <limits>
#include <utility>

namespace sagabox::server::operations {
namespace {

constexpr std::uint64_t lines_max = 10'000;
constexpr std::uint64_t lines_default = 1000;
constexpr auto number_max = std::numeric_limits<std::uint64_t>::max();

/// Both parameters must be given, or none.
std::optional<AuditHead> anchor_from(Query& query) {
  const auto number = query.count("number", 0, number_max);
  const auto hash = query.maybe_text("hash");
  if (!number && !hash) return std::nullopt;
  const auto digest = digest_from_hex(hash.value_or(""));
  if (!number) query.wrong("number", "missing; an anchor has a number and a hash");
  if (!digest) query.wrong("hash", "give the 64 hex digits of the anchor's hash");
  return AuditHead{number.value_or(0), digest.value_or(Digest{})};
}

}  // namespace

Result<Response> export_audit(const Call& call) {
  Query query(call.request.target);
  const auto after = query.count("after", 0, number_max).value_or(0);
  const auto limit = query.count("limit", 1, lines_max).value_or(lines_default);
  const auto store = store_of(call, query);
  if (auto status = query.status(); !status.ok()) return status.error();
  if (!store.ok()) return store.error();
  const auto admin = call.admin_of(**store);
  if (!admin.ok()) return admin.error();
  Response response{.status = 200, .content_type = "application/x-ndjson"};
  std::uint64_t lines = 0;
  const auto exported = admin->export_audit(
      [&](std::string_view line) {
        response.body.append(line).append("\n");
        return ++lines < limit;
      },
      after);
  if (!exported.ok()) return exported.error();
  return response;
}

Result<Response> verify_audit(const Call& call) {
  Query query(call.request.target);
  const auto anchor = anchor_from(query);
  const auto store = store_of(call, query);
  if (auto status = query.status(); !status.ok()) return status.error();
  if (!store.ok()) return store.error();
  if (call.caller.tenant) {
    return Error{Code::auth_denied, "the audit log concerns all tenants; this key is bound to one"};
  }
  const auto admin = call.admin_of(**store);
  if (!admin.ok()) return admin.error();
  const auto report = admin->verify_audit(anchor);
  if (!report.ok()) return report.error();
  return ok_with(*report);
}

}  // namespace sagabox::server::operations
