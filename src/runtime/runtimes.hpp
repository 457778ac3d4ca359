#pragma once

#include "runtime/registration.hpp"

#include <memory>

namespace sagabox::runtime {

/// Starts an engine in the runtime that engines with the same parts share in this process. If two
/// of them have the same scope, each uses a separate runtime, like another process.
[[nodiscard]] std::unique_ptr<Registration> join(const RuntimeParts& parts, const Engine& engine);

/// Starts an engine in a runtime of its own.
[[nodiscard]] std::unique_ptr<Registration> start_alone(const RuntimeParts& parts,
                                                        const Engine& engine);

}  // namespace sagabox::runtime
