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
  table_paused,
  topic_paused,
  no_owner,          ///< its shard has no owner
  lease_expired,     ///< the lease of its shard's owner has expired, and no relay has taken over
  retry_due,         ///< an attempt failed, and it waits for the next one
  not_due,           ///< its `not_before` is in the future
  no_route,          ///< its owner will move it to the dead letters
  target_down,       ///< its target cannot be reached and is probed at intervals
  over_limit,        ///< a limit of its route, transport or tenant is reached
  in_line,           ///< its target has as many messages under way as allowed
  behind_key,        ///< it waits for earlier messages of its key
  undecodable,       ///< its owner will move it to the dead letters
  result_refused,    ///< it was handled, but the store refuses to record the result
  open_transaction,  ///< an old open transaction blocks the database's cleanup: reads are slower
  with_owner,        ///< nothing delays it
};
inline constexpr std::size_t why_count = 19;

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
