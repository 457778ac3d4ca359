#pragma once

#include <sagabox/records.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sagabox {

/// What the process that delivers a pending message knows of it, and its row does not show. Keys
/// are kept in bounded memory, so that some may be named that do not wait.
struct OwnerView {
  /// A message that this process has passed over.
  struct PassedOver {
    std::string topic;
    std::string tenant;
  };
  bool in_hand = false;       ///< queued here, or with its handler or target
  bool in_line = false;       ///< earlier messages for the same target are taken up first
  bool key_retrying = false;  ///< its key may wait for the retry of an earlier message
  std::vector<PassedOver> key_behind{};  ///< its key may wait behind the targets of these
};

/// nullopt if the process does not deliver the shard of the message.
using AskOwnerView = std::function<std::optional<OwnerView>(const MessageRecord& record)>;

}  // namespace sagabox
