#pragma once

#include "wire/fields.hpp"
#include "wire/put.hpp"

#include <sagabox/saga_admin.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

/// Sagas as JSON, written and read here. Readers note missing or wrong members in the fields. Input
/// and outputs are included if the view has them.
namespace sagabox::wire {

void put_members(JsonOut& json, const SagaStepView& step);
void put_members(JsonOut& json, const SagaView& saga);
SagaView read_saga(Fields& fields);

void put_members(JsonOut& json, const SagaPage& page);
SagaPage read_saga_page(Fields& fields);

void put_members(JsonOut& json, const SagaHistoryEntry& entry);
void put_members(JsonOut& json, const SagaHistory& history);
SagaHistory read_saga_history(Fields& fields);

void put_members(JsonOut& json, const SagaReason& reason);
void put_members(JsonOut& json, const SagaExplanation& explanation);
SagaExplanation read_saga_explanation(Fields& fields);

/// Commands that no owner has taken yet.
void put_members(JsonOut& json, const SagaCommand& command);
void put_members(JsonOut& json, std::span<const SagaCommand> commands);
std::vector<SagaCommand> read_saga_commands(Fields& fields);

void put_members(JsonOut& json, const SagaCounted& count);
void put_members(JsonOut& json, std::span<const SagaCounted> counts);
std::vector<SagaCounted> read_saga_counts(Fields& fields);

void put_members(JsonOut& json, const SagaDefinitionRecord& definition);
void put_members(JsonOut& json, std::span<const SagaDefinitionRecord> definitions);
SagaDefinitionRecord read_saga_definition(Fields& fields);
std::vector<SagaDefinitionRecord> read_saga_definitions(Fields& fields);

void put_members(JsonOut& json, const SagaReceipt& answer);
SagaReceipt read_saga_receipt(Fields& fields);

/// The number of sagas that were removed.
struct SagasPurged {
  std::uint64_t purged = 0;
};
void put_members(JsonOut& json, const SagasPurged& purged);
SagasPurged read_sagas_purged(Fields& fields);

/// Bodies of requests. The path contains the id of the saga.

void put_members(JsonOut& json, const SagaStartOrder& order);
SagaStartOrder read_saga_start(Fields& fields);

/// A participant's result, sent with the token of its call, which names the step.
SagaReplyOrder read_saga_result(Fields& fields);
/// The answer to it: "applied", "pending" or "ignored".
struct SagaReplyTaken {
  std::string_view result;
};
void put_members(JsonOut& json, const SagaReplyTaken& taken);

void put_members(JsonOut& json, const SagaOrder& order);
SagaOrder read_saga_order(Fields& fields);

}  // namespace sagabox::wire
