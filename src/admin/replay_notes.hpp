#pragma once

#include <sagabox/admin.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace sagabox::admin {

/// Notes for the operator before these messages are replayed, a sentence each. `older`: the number
/// of those that ended longer ago than inboxes keep keys.
std::vector<std::string> replay_notes(const ReplayOrder& order, std::uint64_t matched,
                                      std::uint64_t older);

}  // namespace sagabox::admin
