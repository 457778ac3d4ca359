#include "core/digest_text.hpp"
#include "core/text.hpp"
#include "server/api/json_response.hpp"
#include "server/api/operations.hpp"
#include "server/api/problem.hpp"
#include "server/api/query.hpp"
#include "wire/stores.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace sagabox::server::operations {
namespace {

constexpr std::uint64_t lines_max = 10'000;
constexpr std::uint64_t lines_default = 1000;
constexpr auto number_max = std::numeric_limits<std::uint64_t>::max();

/// The store that is named; it may be left out where there is one only.
Result<Store*> store_of(const Call& call, Query& query) {
  const auto name = query.maybe_text("store");
  if (auto status = query.status(); !status.ok()) return status.error();
  Store* found = nullptr;
  std::vector<std::string> names;
  for (const auto& table : call.options.tables) {
    if (std::ranges::find(names, table.store_name) == names.end()) {
      names.push_back(table.store_name);
    }
    if (!name || *name == table.store_name) found = table.store;
  }
  if (found != nullptr && (name || names.size() == 1)) return found;
  std::string list;
  for (const auto& one : names) list += (list.empty() ? "" : ", ") + one;
  return Error{Code::request_invalid,
               "store: " + (name ? quoted(*name) + " is not served" : std::string("missing")) +
                   "; there are " + list};
}

/// Both or none of the two are given.
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
