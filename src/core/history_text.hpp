#pragma once

#include <sagabox/records.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox {

/// Failed attempts as stores keep them: a JSON array of objects, oldest first.
std::string history_text(std::span<const FailedAttempt> history);

/// What cannot be read is left out.
std::vector<FailedAttempt> history_from_text(std::string_view text);

/// An earlier one of the same number gives way, and the newest are kept.
void add_failure(std::vector<FailedAttempt>& history, FailedAttempt failure);

}  // namespace sagabox
