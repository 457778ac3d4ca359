#pragma once

#include <sagabox/records.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
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
  /// Says who has a message that was read and whose result is not stored yet.
  enum class With : std::uint8_t {
    owner,         ///< queued, or its result is to be stored
    handler,       ///< its listener runs
    late_handler,  ///< its listener runs past its deadline, and was told to stop
    target,        ///< sent, and not answered yet
  };
  struct InHand {
    With with = With::owner;
    std::optional<Duration> since{};  ///< how long ago it was begun or sent; nullopt: not known
  };
  std::optional<InHand> in_hand{};
  /// The setting whose bound keeps this process from taking more messages; empty: none is reached.
  std::string bound{};
  bool in_line = false;       ///< earlier messages for the same target are taken up first
  bool key_retrying = false;  ///< its key may wait for the retry of an earlier message
  /// HeadPolicy::block: later messages of a key wait for the retry of an earlier one.
  bool heads_block = true;
  /// Its topic has no listener and no route there: it waits, then it is dead.
  std::optional<WallTime> no_route_until{};
  std::vector<PassedOver> key_behind{};  ///< its key may wait behind the targets of these
};

/// nullopt if the process does not deliver the shard of the message.
using AskOwnerView = std::function<std::optional<OwnerView>(const MessageRecord& record)>;

}  // namespace sagabox
