#pragma once

#include <sagabox/records.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sagabox {

/// State of a pending message that only its owner has: its row does not show it. Keys are kept in
/// bounded memory, so a key may be named that does not wait.
struct OwnerView {
  /// A message that this process has passed over.
  struct PassedOver {
    std::string topic;
    std::string tenant;
  };
  bool in_hand = false;       ///< queued here, or with its handler or target
  bool in_line = false;       ///< earlier messages for the same target are taken up first
  bool key_retrying = false;  ///< its key may wait for the retry of an earlier message
  /// Its topic has no listener and no route there: it waits, then it is dead.
  std::optional<WallTime> no_route_until{};
  std::vector<PassedOver> key_behind{};  ///< its key may wait behind the targets of these
};

/// nullopt if the process does not deliver the shard of the message.
using AskOwnerView = std::function<std::optional<OwnerView>(const MessageRecord& record)>;

}  // namespace sagabox
