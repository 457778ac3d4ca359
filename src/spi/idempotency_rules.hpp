#pragma once

#include <sagabox/spi/idempotency_store.hpp>

#include <optional>

/// The state machine of a record, which every store follows, in C++ or in SQL. Pure.
namespace sagabox::spi {

/// What is in flight and leased does not expire.
[[nodiscard]] bool is_expired(const IdempotencyRecord& record, WallTime now) noexcept;
/// Whether a check of this hash is let through though there is a record.
[[nodiscard]] bool is_free(const IdempotencyRecord& record, const Digest& request_hash,
                           WallTime now) noexcept;

/// `known` null: no record. `record` of the reply is what is stored afterwards.
[[nodiscard]] IdempotencyCheckReply after_check(const IdempotencyRecord* known,
                                                const IdempotencyCheck& check, WallTime now);

/// Each returns whether the ticket is still the holder's; only then the record was changed.
bool apply(const IdempotencyFinish& finish, IdempotencyRecord& record, WallTime now);
bool apply(const IdempotencyFail& fail, IdempotencyRecord& record, WallTime now);
bool apply(const IdempotencyRenew& renew, IdempotencyRecord& record, WallTime now);

/// After which key the records begin that may fit: a list of one tenant or consumer looks at no
/// others. nullopt: none is left.
[[nodiscard]] std::optional<IdempotencyKey> first_after(const IdempotencyListRequest& request);

}  // namespace sagabox::spi
