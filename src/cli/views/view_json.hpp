#pragma once

#include "cli/operations.hpp"
#include "cli/views/saga_view.hpp"
#include "cli/views/status_view.hpp"

#include <sagabox/saga_admin.hpp>
#include <sagabox/spi/schema_store.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The `--json` output, one object each, as described in docs/cli.md. Times are RFC 3339.
namespace sagabox::cli {

std::string status_json(const std::string& store, std::span<const TableStatus> tables,
                        const Targets& targets = {});
std::string messages_json(const TableName& table, const MessagePage& page);
std::string message_json(const TableName& table, const MessageRecord& record);
std::string explanation_json(const TableName& table, const MessageId& id,
                             const Explanation& explanation);
std::string owners_json(std::span<const std::pair<TableName, Owners>> tables);
std::string written_json(const TableName& table, const Written& written);
std::string moved_json(const TableName& table, std::string_view act, std::span<const Moved> moved);
std::string preview_json(const TableName& table, const ReplayOrder& order,
                         const ReplayPreview& preview);
std::string job_json(const ReplayJob& job);
std::string jobs_json(std::span<const ReplayJob> jobs);
std::string pause_json(const TableName& table, const std::string& topic, bool paused, bool changed);
std::string purged_json(const TableName& table, const PurgeOrder& order, const Purged& purged);
std::string schema_json(std::span<const spi::SchemaStep> steps);
std::string reshard_json(const std::string& table, const spi::ReshardReport& report);
std::string idempotency_page_json(const IdempotencyPage& page);
std::string idempotency_json(const IdempotencyRecord& record);
std::string idempotency_purged_json(std::uint64_t purged);
std::string saga_page_json(const SagaPage& page);
std::string saga_json(const SagaView& saga);
std::string saga_history_json(const SagaId& id, const SagaHistory& history);
std::string saga_explanation_json(const SagaId& id, const SagaExplanation& explanation);
std::string saga_counts_json(std::span<const SagaCounted> counts);
std::string saga_definitions_json(std::span<const SagaDefinitionRecord> definitions);
std::string saga_receipt_json(const SagaReceipt& answer);
std::string sagas_acted_json(SagaCommandKind kind, std::span<const SagaActed> acted);
std::string saga_purged_json(std::uint64_t purged);
std::string audit_json_report(const AuditReport& report);
/// Where it was found, and the finding.
using PlacedFinding = std::pair<std::string, spi::Finding>;
std::string findings_json(std::span<const PlacedFinding> findings);
/// One line of `tail`.
std::string event_json(const TableName& table, std::string_view event, const MessageRecord& record);

}  // namespace sagabox::cli
