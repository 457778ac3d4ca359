#pragma once

#include "wire/fields.hpp"
#include "wire/put.hpp"

#include <sagabox/admin.hpp>

#include <cstdint>

/// Idempotency keys as JSON, written and read here. Never includes a stored result, which may
/// contain a payload: a record that was read has an empty one in its place.
namespace sagabox::wire {

void put_members(JsonOut& json, const IdempotencyRecord& record);
IdempotencyRecord read_idempotency_record(Fields& fields);

void put_members(JsonOut& json, const IdempotencyPage& page);
IdempotencyPage read_idempotency_page(Fields& fields);

/// The number of keys that were removed.
struct IdempotencyPurged {
  std::uint64_t purged = 0;
};
void put_members(JsonOut& json, const IdempotencyPurged& purged);
IdempotencyPurged read_idempotency_purged(Fields& fields);

}  // namespace sagabox::wire
