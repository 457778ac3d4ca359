#include "cli/remote/server_sagas.hpp"

#include "core/timestamp.hpp"
#include "server/api/query.hpp"
#include "wire/sagas.hpp"

#include <chrono>
#include <utility>

namespace sagabox::cli {
namespace {

using requests::Target;

std::string saga_path(const SagaId& id, std::string_view below = {}) {
  return "/v1/sagas/" + server::percent_encoded(id.view()) + std::string(below);
}

std::uint64_t millis(Duration duration) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

/// Writes the store's name, then what `members` writes.
template <class Members>
std::string body_for(const std::string& store, Members members) {
  wire::JsonOut json;
  json.begin_object().field_if("store", store);
  members(json);
  return std::move(json.end_object()).take();
}

}  // namespace

Target ServerSagas::target(std::string path) {
  Target target(std::move(path));
  if (const auto store = store_(); !store.empty()) target.add("store", store);
  return target;
}

Result<SagaPage> ServerSagas::list(const SagaQuery& query) {
  auto asked = target("/v1/sagas");
  if (query.tenant) asked.add("tenant", *query.tenant);
  if (query.definition) asked.add("definition", *query.definition);
  if (query.state) asked.add("state", saga_state_name(*query.state));
  if (query.quarantined) asked.add("quarantined", *query.quarantined ? "true" : "false");
  if (query.label) asked.add("label", query.label->name + "=" + query.label->value);
  if (query.key) asked.add("key", *query.key);
  if (query.started_from) asked.add("from", timestamp_text(*query.started_from));
  if (query.started_to) asked.add("until", timestamp_text(*query.started_to));
  asked.add("limit", query.rows_max);
  if (!query.cursor.empty()) asked.add("cursor", query.cursor);
  return daemon_.get(asked, wire::read_saga_page);
}

Result<std::vector<SagaCounted>> ServerSagas::count() {
  return daemon_.get(target("/v1/sagas/count"), wire::read_saga_counts);
}

Result<std::optional<SagaView>> ServerSagas::show(const SagaId& id, Admin::PayloadToo payload) {
  auto asked = target(saga_path(id));
  if (payload == Admin::PayloadToo::yes) asked.add("payload", "true");
  return daemon_.find(asked, wire::read_saga);
}

Result<std::optional<SagaHistory>> ServerSagas::history(const SagaId& id, std::uint32_t after,
                                                        std::uint32_t entries_max, bool verify) {
  auto asked = target(saga_path(id, "/history"));
  asked.add("after", after).add("limit", entries_max);
  if (verify) asked.add("verify", "true");
  return daemon_.find(asked, wire::read_saga_history);
}

Result<std::optional<SagaExplanation>> ServerSagas::explain(const SagaId& id) {
  return daemon_.find(target(saga_path(id, "/explain")), wire::read_saga_explanation);
}

Result<std::vector<SagaDefinitionRecord>> ServerSagas::definitions(std::string_view name) {
  auto asked = target("/v1/saga-definitions");
  if (!name.empty()) asked.add("name", name);
  return daemon_.get(asked, wire::read_saga_definitions);
}

Result<SagaDefinitionRecord> ServerSagas::define(const SagaDefinition& definition) {
  auto body = body_for(
      store_(), [&](wire::JsonOut& json) { json.name("definition").raw(definition.text()); });
  return daemon_.act(Target("/v1/saga-definitions"), std::move(body), wire::read_saga_definition);
}

Result<SagaReceipt> ServerSagas::start(const SagaStartOrder& order, Duration wait) {
  auto body = body_for(store_(), [&](wire::JsonOut& json) { put_members(json, order); });
  return daemon_.act(Target("/v1/sagas").add("wait_ms", millis(wait)), std::move(body),
                     wire::read_saga_receipt);
}

Result<SagaReceipt> ServerSagas::act(const SagaOrder& order, Duration wait) {
  auto body = body_for(store_(), [&](wire::JsonOut& json) { put_members(json, order); });
  return daemon_.act(Target(saga_path(order.saga, "/commands")).add("wait_ms", millis(wait)),
                     std::move(body), wire::read_saga_receipt);
}

Result<std::uint64_t> ServerSagas::purge(std::string_view definition, Duration older_than) {
  // Whole seconds, rounded up, so that no younger saga is included.
  const auto age = std::chrono::ceil<std::chrono::seconds>(older_than);
  auto body = body_for(store_(), [&](wire::JsonOut& json) {
    json.field("definition", definition).field("older_than_seconds", age.count());
  });
  const auto purged =
      daemon_.act(Target("/v1/sagas/purge"), std::move(body), wire::read_sagas_purged);
  if (!purged.ok()) return purged.error();
  return purged->purged;
}

}  // namespace sagabox::cli
