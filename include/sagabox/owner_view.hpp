#pragma once

#include <sagabox/records.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sagabox {

/// State of a pending message that only its owner knows; its row does not contain it. Keys are
/// tracked in bounded memory, so a key that does not wait may be reported as waiting.
struct OwnerView {
  /// A message that this process has skipped for now.
  struct PassedOver {
    std::string topic;
    std::string tenant;
  };
  bool in_hand = false;                  ///< queued here, or being handled or sent
  bool in_line = false;                  ///< earlier messages for the same target are sent first
  bool key_retrying = false;             ///< its key may wait for the retry of an earlier message
  std::vector<PassedOver> key_behind{};  ///< its key may wait behind the targets of these
};

/// nullopt if the process does not deliver the shard of the message.
using AskOwnerView = std::function<std::optional<OwnerView>(const MessageRecord& record)>;

}  // namespace sagabox
