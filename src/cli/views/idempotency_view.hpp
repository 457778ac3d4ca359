#pragma once

#include "cli/terminal.hpp"

#include <sagabox/idempotency_record.hpp>

#include <span>
#include <vector>

/// Idempotency keys as lines. Pure.
namespace sagabox::cli {

/// A line for each, or one that there is none.
std::vector<Line> idempotency_list(std::span<const IdempotencyRecord> records);
/// One record without its result.
std::vector<Line> idempotency_view(const IdempotencyRecord& record);

}  // namespace sagabox::cli
