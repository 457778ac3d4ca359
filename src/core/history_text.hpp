#pragma once

#include <sagabox/records.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox {

/// The stored form of failed attempts: a JSON array of objects, oldest first.
std::string history_text(std::span<const FailedAttempt> history);

/// Entries that cannot be read are left out.
std::vector<FailedAttempt> history_from_text(std::string_view text);

/// Adds a failure and removes an earlier one with the same number. The newest
/// `history_attempts_max` failures are kept.
void add_failure(std::vector<FailedAttempt>& history, FailedAttempt failure);

}  // namespace sagabox
