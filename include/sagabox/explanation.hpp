#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox {

/// The reason why a message is in its present state.
enum class Why : std::uint8_t {
  not_found,
  done,
  dead,
  quarantined,
  in_hand,  ///< its owner has read it: it is queued, with its handler or on its way to its targets
  table_paused,
  topic_paused,
  no_owner,          ///< nobody owns its shard
  lease_expired,     ///< who owned its shard has not renewed the lease, and nobody took over yet
  retry_due,         ///< failed, and waits for its next attempt
  not_due,           ///< was written for a later time
  no_route,          ///< its owner knows no way for its topic: it waits or is dead soon
  target_down,       ///< its target cannot be reached, and is tried now and then
  over_limit,        ///< of its route, transport or tenant
  in_line,           ///< as many are on their way to its target as may be
  behind_key,        ///< earlier messages of its key go first
  undecodable,       ///< its owner will move it to the dead letters
  result_refused,    ///< it was handled, but the store refuses to record the result
  open_transaction,  ///< an old open transaction blocks the database's cleanup: reads are slower
  with_owner,        ///< nothing delays it
};
inline constexpr std::size_t why_count = 20;

/// The name used in JSON: "behind_key".
std::string_view why_name(Why why) noexcept;
std::optional<Why> why_from_name(std::string_view name) noexcept;

struct Reason {
  Why why = Why::with_owner;
  std::string text{};
};

/// The answer to "why has this message not been delivered?".
struct Explanation {
  std::string state{};            ///< "pending in orders (seq 8812, shard 5), written 4m08s ago"
  std::vector<Reason> reasons{};  ///< never empty; the reason to resolve first comes first
  std::string owner{};            ///< pending: "relay-b, lease 11s left, epoch 42", or "nobody"
  std::string next{};             ///< what an operator can do; empty if no action is needed

  /// Text for a terminal, one item per line, without a newline at the end. Never contains a
  /// payload.
  [[nodiscard]] std::string text() const;
};

}  // namespace sagabox
