#pragma once

#include "wire/fields.hpp"
#include "wire/put.hpp"

#include <sagabox/admin.hpp>
#include <sagabox/idempotency_record.hpp>
#include <sagabox/message.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// The bodies of requests that write or act on the messages of a table: written by the command line
/// with `--server`, read by the REST API. A reader notes in `fields` what is wrong; the caller asks
/// for any further field and then for `fields.status()`.
namespace sagabox::wire {

/// A message to write.
struct MessageOrder {
  NewMessage message;                   ///< `tenant` is not used
  std::optional<std::string> tenant{};  ///< nullopt: the one of the API key, or the default
};
void put_members(JsonOut& json, const Message& message, const std::optional<std::string>& tenant);
/// `trace`: what the headers of the request say; members of the body come first.
MessageOrder read_message_order(Fields& fields, TraceContext trace);

/// Replay, quarantine or release of messages by id.
struct MoveOrder {
  std::vector<MessageId> ids{};
  /// The row that each id stands for; empty: any.
  std::vector<Sequence> sequences{};
  std::string note{};
  std::optional<std::string> tenant{};
  bool as_new = false;
};
/// The fields of a move besides ids, sequences and tenant.
enum class MoveTakes : std::uint8_t { nothing, note, as_new };
void put_members(JsonOut& json, const MoveOrder& order);
MoveOrder read_move_order(Fields& fields, MoveTakes takes);

/// A pause, or the end of one, of a topic or the whole table.
struct PauseOrder {
  std::optional<std::string> topic{};
  std::string note{};  ///< of a pause only
};
void put_members(JsonOut& json, const PauseOrder& order);
PauseOrder read_pause_order(Fields& fields, bool pauses);

/// The age is written in whole seconds, rounded up, so that no younger message is purged.
void put_members(JsonOut& json, const PurgeOrder& order);
PurgeOrder read_purge_order(Fields& fields);

/// A preview takes no `rate_max` and may name no messages; a replay must say `all` then.
void put_preview(JsonOut& json, const ReplayOrder& order);
ReplayOrder read_preview_order(Fields& fields);
void put_members(JsonOut& json, const ReplayOrder& order);
ReplayOrder read_replay_order(Fields& fields);

/// One key of a consumer, or all expired ones.
struct IdempotencyPurgeOrder {
  bool expired = false;
  std::optional<std::string> tenant{};
  std::optional<std::string> consumer{};
  std::optional<std::string> key{};
  std::string note{};
};
/// `store`: left out if it is empty.
void put_members(JsonOut& json, const std::string& store, const IdempotencyPurgeOrder& order);
/// The field `store` is read by the caller.
IdempotencyPurgeOrder read_idempotency_purge_order(Fields& fields);

}  // namespace sagabox::wire
