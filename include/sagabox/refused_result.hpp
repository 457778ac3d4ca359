#pragma once

#include <sagabox/error.hpp>
#include <sagabox/id.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace sagabox {

/// A message that this process holds back: the store refused to record its result, and to
/// quarantine it. It is pending in the table and is not delivered again by this process, which
/// tries to record the result at intervals. The next owner of its shard delivers it again.
struct RefusedResult {
  MessageId id;
  Sequence sequence{};
  Shard shard{};
  bool delivered = false;  ///< false: an attempt failed, or could not be recorded
  Code code = Code::unknown_internal;
  std::string error{};      ///< why the store refuses the result
  std::uint32_t tries = 0;  ///< failed tries to record it
};

/// nullopt if the message with this sequence is not held back.
using AskRefused = std::function<std::optional<RefusedResult>(Sequence sequence)>;

}  // namespace sagabox
