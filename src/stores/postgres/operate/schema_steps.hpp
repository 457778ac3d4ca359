#pragma once

#include "stores/postgres/operate/schema.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// The steps after the first, a file each.
namespace sagabox::postgres {

Migration enqueue_step();             ///< 2: writing from SQL
Migration wake_step() noexcept;       ///< 3: waking owners that sleep
Migration operators_step() noexcept;  ///< 4: watched tables, and views for operators
Migration rights_step() noexcept;     ///< 5: rights of producers, a search_path for every function
Migration tenants_step();             ///< 6: ids and keys are unique within a tenant
Migration replays_step() noexcept;    ///< 7: replays as new

/// Steps of the engines beside the outbox.
Migration idempotency_step() noexcept;
Migration inbox_step() noexcept;
Migration inbox_renewal_step() noexcept;  ///< 2: a key that is asked for again is kept longer
Migration saga_step() noexcept;
Migration saga_waits_step() noexcept;  ///< 2: sagas that wait for an operator, are late or dead
Migration hub_step();
Migration hub_tenants_step() noexcept;  ///< 2: subscriptions of a tenant
Migration hub_requeue_step();           ///< 3: requeue in SQL: audited, and not of disabled ones
/// The function that step 1 of the hub makes, and step 3 replaces.
std::string_view hub_first_requeue() noexcept;

/// Where the id of a message is unique.
enum class IdScope : std::uint8_t { outbox, tenant };

/// The functions that `enqueue` calls for one outbox.
std::string put_functions(IdScope scope);

/// The hash that the shard of a message with a key is computed from. It is that of hash partitions,
/// which no PostgreSQL release may change.
inline constexpr std::string_view key_hash_sql =
    "pg_catalog.hashtextextended(key::text, 0::bigint)";
inline constexpr std::string_view tenant_key_hash_sql =
    "pg_catalog.hashtextextended(key::text, pg_catalog.hashtextextended(tenant, 0::bigint))";

/// Creates the column `shard` again: from this hash, and for the number of shards that is recorded
/// for the outbox.
std::string rebuild_shard_sql(std::string_view hash);

}  // namespace sagabox::postgres
