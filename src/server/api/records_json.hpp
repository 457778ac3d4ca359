#pragma once

#include "admin/owners.hpp"
#include "server/api/fields.hpp"
#include "server/api/json_out.hpp"
#include "server/api/query.hpp"

#include <sagabox/admin.hpp>
#include <sagabox/router.hpp>
#include <sagabox/spi/doctor_store.hpp>

#include <string>
#include <vector>

/// How the API says what Admin tells, and reads what Admin is asked.
namespace sagabox::server {

void put(JsonOut& json, const TableName& table, const MessageRecord& record);
void put(JsonOut& json, const ReplayJob& job);
void put(JsonOut& json, const Moved& moved);
void put(JsonOut& json, const Pause& pause);
void put(JsonOut& json, const Explanation& explanation);
void put(JsonOut& json, const admin::TableOwners& owners);
void put(JsonOut& json, const spi::Stray& stray);
void put(JsonOut& json, const spi::Finding& finding);
void put(JsonOut& json, const DestinationState& state);
void put(JsonOut& json, const BlockedKey& key, const TableName& table);
/// Fields of an object that is open.
void put_fields(JsonOut& json, const spi::TableStats& stats);

/// What is wrong is noted in the query or the fields.
MessageFilter filter_from(Query& query);
MessageFilter filter_from(Fields& fields);
std::optional<MessageState> maybe_state_from(Query& query, std::string_view name);
MessageState state_from(Query& query, std::string_view name, MessageState otherwise);
MessageState state_from(Fields& fields, std::string_view name, MessageState otherwise);

/// Of an act whose path says all: the body is left out, or an object without fields.
Status no_fields(std::string_view body);

Result<MessageId> id_from(std::string_view text);
/// Of the field `ids`. Every other field must have been asked for before.
Result<std::vector<MessageId>> ids_from(Fields& fields);
/// Which row each id stands for; empty when it is left out. Ask before `ids_from`, which reports
/// what is wrong.
std::vector<Sequence> sequences_from(Fields& fields);

}  // namespace sagabox::server
