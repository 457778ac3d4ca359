#pragma once

#include "stores/postgres/operate/schema.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// The steps after the first, a file each.
namespace sagabox::postgres {

Migration enqueue_step();             ///< 2: writing from SQL
Migration wake_step() noexcept;       ///< 3: waking owners that sleep
Migration operators_step() noexcept;  ///< 4: watched tables, and what people look at
Migration rights_step() noexcept;     ///< 5: rights of producers, a search_path for every function
Migration tenants_step();             ///< 6: ids and keys are one tenant's
Migration replays_step() noexcept;    ///< 7: replays as new

/// Steps of the engines beside the outbox.
Migration idempotency_step() noexcept;
Migration inbox_step() noexcept;
Migration inbox_renewal_step() noexcept;  ///< 2: a key that is asked for again is kept longer
Migration saga_step() noexcept;
Migration saga_waits_step() noexcept;  ///< 2: what waits for a person, is late or dead
Migration hub_step();
Migration hub_tenants_step() noexcept;  ///< 2: subscriptions of a tenant
Migration hub_requeue_step();           ///< 3: requeue in SQL: audited, and not of disabled ones
/// What step 1 of the hub has made, and step 3 replaces.
std::string_view hub_first_requeue() noexcept;

/// Among which messages an id is there once.
enum class IdScope : std::uint8_t { outbox, tenant };

/// What `enqueue` calls for one outbox.
std::string put_functions(IdScope scope);

/// The hash that the shard of a message with a key comes from. It is that of hash partitions, which
/// no release may change.
inline constexpr std::string_view key_hash_sql =
    "pg_catalog.hashtextextended(key::text, 0::bigint)";
inline constexpr std::string_view tenant_key_hash_sql =
    "pg_catalog.hashtextextended(key::text, pg_catalog.hashtextextended(tenant, 0::bigint))";

/// Makes the column `shard` anew: from this hash, and for as many shards as the outbox is said to
/// have.
std::string rebuild_shard_sql(std::string_view hash);

}  // namespace sagabox::postgres
