#pragma once

#include <sagabox/time.hpp>

#include <string>

namespace sagabox {

/// A topic that this process knows no listener and no route for. Its messages wait, and no attempt
/// is spent: a process of another version may know it.
struct UnroutedTopic {
  std::string aggregate_type;
  std::string topic;
  WallTime since{};  ///< the oldest of its messages seen here could go since then
  WallTime until{};  ///< then that one is dead
};

}  // namespace sagabox
