#pragma once

#include <sagabox/spi/idempotency_store.hpp>

#include <optional>

/// The state machine of an idempotency record, which every store implements, in C++ or in SQL.
/// Pure.
namespace sagabox::spi {

/// A record in flight with a valid lease does not expire.
[[nodiscard]] bool is_expired(const IdempotencyRecord& record, WallTime now) noexcept;
/// Whether a check with this hash is admitted although there is a record.
[[nodiscard]] bool is_free(const IdempotencyRecord& record, const Digest& request_hash,
                           WallTime now) noexcept;

/// `known`: null if there is no record. If `taken`, `record` of the reply is the one to store.
[[nodiscard]] IdempotencyCheckReply after_check(const IdempotencyRecord* known,
                                                const IdempotencyCheck& check, WallTime now);

/// Each returns true, and changes the record, if the ticket is still that of the holder.
bool apply(const IdempotencyFinish& finish, IdempotencyRecord& record, WallTime now);
bool apply(const IdempotencyFail& fail, IdempotencyRecord& record, WallTime now);
bool apply(const IdempotencyRenew& renew, IdempotencyRecord& record, WallTime now);

/// The key after which matching records begin, so that a list of one tenant or consumer reads no
/// others. nullopt if there are no more.
[[nodiscard]] std::optional<IdempotencyKey> first_after(const IdempotencyListRequest& request);

}  // namespace sagabox::spi
