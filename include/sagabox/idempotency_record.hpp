#pragma once

#include <sagabox/error.hpp>
#include <sagabox/id.hpp>
#include <sagabox/payload.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sagabox {

/// Names one request. Unique in a database: two consumers of one message have a record each, and
/// so have two tenants with the same key.
struct IdempotencyKey {
  static constexpr std::size_t tenant_length_max = 64;
  static constexpr std::size_t consumer_length_max = 128;
  static constexpr std::size_t key_length_max = 255;

  std::string tenant = "default";
  std::string consumer{};  ///< whose work it is, usually the name of the handler
  std::string key{};       ///< the caller's; for messages `tenant:message id`

  /// SCHEMA.VALIDATION_FAILED unless each part has 1 character or more, at most as many as above,
  /// and all of them are printable.
  [[nodiscard]] Status check() const;
  friend auto operator<=>(const IdempotencyKey&, const IdempotencyKey&) = default;
};

/// Fences the holder of a key: whoever is let through draws another one. No two holders of a key
/// have the same.
using IdempotencyTicket = Number<struct IdempotencyTicketTag, std::uint64_t>;

/// In flight → succeeded, failed or released. A released key is let through again at once, one in
/// flight when its lease has run out, any key when its record has expired.
enum class IdempotencyState : std::uint8_t {
  in_flight,  ///< its holder works on it, until its lease runs out
  succeeded,  ///< the result is kept
  failed,     ///< for good: the error is kept
  released,   ///< failed, and may be tried again
};
inline constexpr std::size_t idempotency_state_count = 4;

/// "in_flight", "succeeded", "failed", "released".
std::string_view idempotency_state_name(IdempotencyState state) noexcept;
std::optional<IdempotencyState> idempotency_state_from_name(std::string_view name) noexcept;

/// What is known of a request.
struct IdempotencyRecord {
  IdempotencyKey key{};
  Digest request_hash{};
  IdempotencyState state = IdempotencyState::in_flight;
  IdempotencyTicket ticket{};  ///< of the last holder
  std::uint32_t attempts = 1;  ///< how often the request was let through since `created_at`
  WallTime created_at{};
  WallTime changed_at{};
  WallTime lease_until{};
  WallTime expires_at{};
  /// Succeeded: what was stored; nullopt where the result was too large.
  std::optional<std::string> result{};
  Digest result_digest{};  ///< succeeded: of the whole result
  Code code{};             ///< failed, released: why
  std::string error{};
  friend bool operator==(const IdempotencyRecord&, const IdempotencyRecord&) = default;
};

}  // namespace sagabox
