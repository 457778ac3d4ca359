#pragma once

#include "wire/fields.hpp"
#include "wire/put.hpp"

#include <sagabox/admin.hpp>

#include <cstdint>

/// Idempotency keys as JSON: what is written here is read here. Never a stored result, which may
/// hold a payload: what is read has an empty one where one is kept.
namespace sagabox::wire {

void put_members(JsonOut& json, const IdempotencyRecord& record);
IdempotencyRecord read_idempotency_record(Fields& fields);

void put_members(JsonOut& json, const IdempotencyPage& page);
IdempotencyPage read_idempotency_page(Fields& fields);

/// How many keys were removed.
struct IdempotencyPurged {
  std::uint64_t purged = 0;
};
void put_members(JsonOut& json, const IdempotencyPurged& purged);
IdempotencyPurged read_idempotency_purged(Fields& fields);

}  // namespace sagabox::wire
