#pragma once

#include "saga/calls/reply_token.hpp"

#include <sagabox/id.hpp>
#include <sagabox/message.hpp>
#include <sagabox/result.hpp>
#include <sagabox/saga_record.hpp>
#include <sagabox/spi/transport.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/// What a message says to a saga when a route leads there. Pure; docs/sagas.md has the headers.
namespace sagabox::saga {

/// Headers of a message that is a reply, beside the token.
namespace header {
inline constexpr std::string_view result = "Saga-Result";  ///< ok (default), retry, fail
inline constexpr std::string_view error = "Saga-Error";
inline constexpr std::string_view retry_after = "Retry-After";  ///< seconds
}  // namespace header

/// What names the saga that a message starts.
enum class RoutedKey : std::uint8_t {
  message_id,
  message_key,  ///< of a message without one: its id
};

/// A new command each time: the saga's key tells a message that comes again.
/// SCHEMA.VALIDATION_FAILED: it can never start a saga.
Result<SagaCommand> routed_start(const Message& message, const std::string& definition,
                                 RoutedKey key, UlidSource& ids);
/// The same command each time that this message of this table comes. AUTH.DENIED: the token is not
/// one of ours, has expired, or is of another tenant than the message.
Result<SagaCommand> routed_reply(const Message& message, const TableName& table,
                                 const ReplySecrets& secrets, WallTime now);

/// What became of the message, once its saga's owner has answered. A start that is refused is
/// rejected. A reply that no step waits for any more is recorded by its owner: it has arrived.
spi::SendResult routed_result(SagaCommandKind kind, const SagaCommandResult& result);
/// What became of it if its command could not be stored.
spi::SendResult routed_failure(const Error& error);

}  // namespace sagabox::saga
