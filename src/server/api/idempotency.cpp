#include "wire/idempotency.hpp"

#include "core/text.hpp"
#include "server/api/arguments.hpp"
#include "server/api/json_response.hpp"
#include "server/api/operations.hpp"
#include "server/api/problem.hpp"
#include "server/api/query.hpp"
#include "server/api/store_choice.hpp"
#include "wire/orders.hpp"

#include <utility>

namespace sagabox::server::operations {
namespace {

template <class Given>
std::optional<IdempotencyState> state_from(Given& given) {
  const auto name = given.maybe_text("state");
  if (!name) return std::nullopt;
  const auto state = idempotency_state_from_name(*name);
  if (!state)
    given.wrong("state", quoted(*name) + "; give in_flight, succeeded, failed or released");
  return state;
}

/// The tenant of the request, otherwise the one that the caller is bound to.
std::string tenant_of(const Caller& caller, std::optional<std::string> said) {
  if (said) return *std::move(said);
  return caller.tenant.value_or(std::string(tenant_default));
}

}  // namespace

Result<Response> list_idempotency_keys(const Call& call) {
  Query query(call.request.target);
  IdempotencyQuery wanted{.tenant = query.maybe_text("tenant"),
                          .consumer = query.maybe_text("consumer"),
                          .state = state_from(query)};
  const auto key = query.maybe_text("key");
  if (key && !wanted.consumer) query.wrong("consumer", "missing; a key is that of a consumer");
  wanted.rows_max = static_cast<std::uint32_t>(
      query.count("limit", 1, Admin::page_rows_max).value_or(wanted.rows_max));
  wanted.cursor = query.text("cursor");
  const auto store = store_of(call, query);
  if (auto status = query.status(); !status.ok()) return status.error();
  if (!store.ok()) return store.error();
  const auto admin = call.admin_of(**store);
  if (!admin.ok()) return admin.error();
  if (!key) {
    auto page = admin->idempotency(wanted);
    if (!page.ok()) return page.error();
    return ok_with(*page);
  }
  auto record = admin->idempotency_record(
      {.tenant = tenant_of(call.caller, wanted.tenant), .consumer = *wanted.consumer, .key = *key});
  if (!record.ok()) return record.error();
  IdempotencyPage page;
  if (*record) page.rows.push_back(**std::move(record));
  return ok_with(page);
}

Result<Response> purge_idempotency_keys(const Call& call) {
  auto fields = Fields::parse(call.request.body);
  if (!fields.ok()) return fields.error();
  const auto store = store_of(call, *fields);
  const auto order = wire::read_idempotency_purge_order(*fields);
  if (auto status = fields->status(); !status.ok()) return status.error();
  if (!store.ok()) return store.error();
  auto admin = call.admin_of(**store);
  if (!admin.ok()) return admin.error();
  if (order.expired) {
    const auto purged = admin->purge_idempotency();
    if (!purged.ok()) return purged.error();
    return ok_with(wire::IdempotencyPurged{*purged});
  }
  const auto purged = admin->forget_idempotency({.tenant = tenant_of(call.caller, order.tenant),
                                                 .consumer = *order.consumer,
                                                 .key = *order.key},
                                                order.note);
  if (!purged.ok()) return purged.error();
  return ok_with(wire::IdempotencyPurged{*purged ? 1U : 0U});
}

}  // namespace sagabox::server::operations
