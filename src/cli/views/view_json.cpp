#include "cli/views/view_json.hpp"

#include "cli/views/message_view.hpp"
#include "core/text.hpp"
#include "wire/filters.hpp"
#include "wire/idempotency.hpp"
#include "wire/messages.hpp"
#include "wire/replays.hpp"
#include "wire/sagas.hpp"
#include "wire/stores.hpp"
#include "wire/tables.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::cli {
namespace {

using wire::JsonOut;
using wire::put_array;
using wire::put_members;

/// One object with what `members` writes.
template <class Members>
std::string object(Members members) {
  JsonOut json;
  json.begin_object();
  members(json);
  return std::move(json.end_object()).take();
}

/// One object with only a record.
template <class... Parts>
std::string record(const Parts&... parts) {
  return object([&](JsonOut& json) { put_members(json, parts...); });
}

void put_owner_counts(JsonOut& json, std::span<const spi::ShardOwner> shards) {
  put_array(json, "owners", shards_by_owner(shards), [&](const auto& owner) {
    json.begin_object()
        .field("owner", owner.first.view())
        .field("shards", owner.second)
        .end_object();
  });
}

void put_status(JsonOut& json, const TableStatus& status) {
  json.begin_object().field("table", status.facts.table);
  put_members(json, status.facts.stats);
  json.field("retrying", status.retrying);
  if (status.traffic) {
    json.field("in_per_second", status.traffic->in).field_if("out_per_second", status.traffic->out);
  }
  put_owner_counts(json, status.facts.owners);
  put_array(json, "findings", admin::findings_of(status.facts));
  json.end_object();
}

void put_step(JsonOut& json, const spi::SchemaStep& step) {
  json.begin_object()
      .field("engine", step.engine)
      .field("number", step.number)
      .field("name", step.name)
      .field_if("outbox", step.outbox)
      .field_if("applied_at", step.applied_at);
  if (step.shards > 0) json.field("shards", step.shards);
  json.field("checksum_differs", step.checksum_differs).end_object();
}

}  // namespace

std::string status_json(const std::string& store, std::span<const TableStatus> tables,
                        const Targets& targets) {
  return object([&](JsonOut& json) {
    json.field("store", store);
    put_array(json, "tables", tables, [&](const auto& table) { put_status(json, table); });
    if (targets) put_array(json, "destinations", *targets);
  });
}

std::string messages_json(const TableName& table, const MessagePage& page) {
  return record(table, page);
}

std::string message_json(const TableName& table, const MessageRecord& message) {
  return record(table, message);
}

std::string explanation_json(const TableName& table, const MessageId& id,
                             const Explanation& explanation) {
  return object([&](JsonOut& json) {
    json.field("table", table.str()).field("id", id.view());
    put_members(json, explanation);
  });
}

std::string owners_json(std::span<const std::pair<TableName, Owners>> tables) {
  return object([&](JsonOut& json) {
    put_array(json, "tables", tables, [&](const auto& table) {
      json.begin_object().field("table", table.first.str());
      put_members(json, table.second);
      json.end_object();
    });
  });
}

std::string written_json(const TableName& table, const Written& written) {
  return record(table, written);
}

std::string moved_json(const TableName& table, std::string_view act, std::span<const Moved> moved) {
  return object([&](JsonOut& json) {
    json.field("table", table.str()).field("act", act);
    put_members(json, moved);
  });
}

std::string preview_json(const TableName& table, const ReplayOrder& order,
                         const ReplayPreview& preview) {
  return object([&](JsonOut& json) {
    json.field("table", table.str()).field("from", state_name(order.from)).name("filter");
    put(json, order.filter);
    json.field("as_new", order.as_new);
    put_members(json, table, preview);
  });
}

std::string job_json(const ReplayJob& job) { return record(job); }

std::string jobs_json(std::span<const ReplayJob> jobs) { return record(jobs); }

std::string pause_json(const TableName& table, const std::string& topic, bool paused,
                       bool changed) {
  return record(
      wire::PauseChange{.table = table,
                        .topic = topic.empty() ? std::nullopt : std::optional<std::string>(topic),
                        .paused = paused,
                        .changed = changed});
}

std::string purged_json(const TableName& table, const PurgeOrder& order, const Purged& purged) {
  return record(table, order, purged);
}

std::string schema_json(std::span<const spi::SchemaStep> steps) {
  const auto applied = [](const spi::SchemaStep& step) { return step.applied_at.has_value(); };
  return object([&](JsonOut& json) {
    json.field("current", !steps.empty() && std::ranges::all_of(steps, applied));
    put_array(json, "steps", steps, [&](const auto& step) { put_step(json, step); });
  });
}

std::string reshard_json(const std::string& table, const spi::ReshardReport& report) {
  return object([&](JsonOut& json) {
    json.field("table", table)
        .field("shards_before", report.shards_before)
        .field("shards", report.shards)
        .field("pending", report.pending)
        .field("blocked_seconds", wire::seconds(report.blocked));
    put_array(json, "relays", report.relays, [&](const auto& id) { json.value(id.view()); });
    json.field("changed", report.changed);
  });
}

std::string idempotency_page_json(const IdempotencyPage& page) { return record(page); }
std::string idempotency_json(const IdempotencyRecord& key) { return record(key); }
std::string idempotency_purged_json(std::uint64_t purged) {
  return record(wire::IdempotencyPurged{purged});
}
std::string saga_page_json(const SagaPage& page) { return record(page); }
std::string saga_json(const SagaView& saga) { return record(saga); }
std::string saga_history_json(const SagaId& id, const SagaHistory& history) {
  return object([&](JsonOut& json) {
    json.field("saga", id.view());
    put_members(json, history);
  });
}
std::string saga_explanation_json(const SagaId& id, const SagaExplanation& explanation) {
  return object([&](JsonOut& json) {
    json.field("saga", id.view());
    put_members(json, explanation);
  });
}
std::string saga_counts_json(std::span<const SagaCounted> counts) { return record(counts); }
std::string saga_definitions_json(std::span<const SagaDefinitionRecord> definitions) {
  return record(definitions);
}
std::string saga_receipt_json(const SagaReceipt& answer) { return record(answer); }
std::string sagas_acted_json(SagaCommandKind kind, std::span<const SagaActed> acted) {
  return object([&](JsonOut& json) {
    json.field("kind", "saga").field("act", saga_command_name(kind));
    put_array(json, "results", acted, [&](const SagaActed& one) {
      json.begin_object().field("id", one.saga.view()).field("moved", one.applied);
      json.field_if("text", one.text).end_object();
    });
    json.field("moved", std::ranges::count(acted, true, &SagaActed::applied));
  });
}
std::string saga_purged_json(std::uint64_t purged) { return record(wire::SagasPurged{purged}); }
std::string audit_json_report(const AuditReport& report) {
  return object([&](JsonOut& json) {
    put_members(json, report);
    // In the format of --anchor.
    json.field("anchor", std::to_string(report.head.number) + ":" + hex(report.head.hash));
  });
}

std::string findings_json(std::span<const PlacedFinding> findings) {
  return object([&](JsonOut& json) {
    put_array(json, "findings", findings, [&](const PlacedFinding& placed) {
      json.begin_object().field("where", placed.first);
      put_members(json, placed.second);
      json.end_object();
    });
  });
}

std::string event_json(const TableName& table, std::string_view event,
                       const MessageRecord& message) {
  return object([&](JsonOut& json) {
    json.field("event", event);
    put_members(json, table, message);
  });
}

}  // namespace sagabox::cli
