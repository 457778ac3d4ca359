#pragma once

#include "wire/fields.hpp"
#include "wire/put.hpp"

#include <sagabox/admin.hpp>
#include <sagabox/spi/transaction.hpp>

#include <span>
#include <string>
#include <vector>

/// Messages as JSON, written and read here. Readers ignore unknown members and note missing or
/// wrong ones in the fields.
namespace sagabox::wire {

/// Content type, priority, times, trace, headers and payload.
void put_content(JsonOut& json, const Message& message);

void put_members(JsonOut& json, const FailedAttempt& attempt);
/// Includes history and payload if the record has them.
void put_members(JsonOut& json, const TableName& table, const MessageRecord& record);
MessageRecord read_message(Fields& fields);

void put_members(JsonOut& json, const TableName& table, const MessagePage& page);
MessagePage read_page(Fields& fields);

void put_members(JsonOut& json, const TableName& table, const BlockedKey& key);
void put_members(JsonOut& json, const TableName& table, const BlockedKeyPage& page);
BlockedKeyPage read_blocked_keys(Fields& fields);

void put_members(JsonOut& json, const Reason& reason);
void put_members(JsonOut& json, const Explanation& explanation);
Explanation read_explanation(Fields& fields);

void put_members(JsonOut& json, const Moved& moved);
/// `results`, and the number that was `moved`.
void put_members(JsonOut& json, std::span<const Moved> moved);
std::vector<Moved> read_moved(Fields& fields);

void put_members(JsonOut& json, const TableName& table, const Written& written);
/// A hook prevented it from being written.
struct Suppressed {};
inline constexpr Suppressed suppressed{};
void put_members(JsonOut& json, const TableName& table, Suppressed what);
/// PROVIDER.REJECTED if it was suppressed.
Written read_written(Fields& fields);

struct WrittenBatch {
  const std::vector<Written>& messages;
  std::size_t suppressed = 0;
};
void put_members(JsonOut& json, const TableName& table, const WrittenBatch& batch);

}  // namespace sagabox::wire
