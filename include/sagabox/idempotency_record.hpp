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

/// Identifies one request. Unique in a database: two consumers of one message have separate
/// records, and so do two tenants with the same key.
struct IdempotencyKey {
  static constexpr std::size_t tenant_length_max = 64;
  static constexpr std::size_t consumer_length_max = 128;
  static constexpr std::size_t key_length_max = 255;

  std::string tenant = "default";
  std::string consumer{};  ///< usually the name of the handler
  std::string key{};       ///< the caller's; for messages `tenant:message id`

  /// SCHEMA.VALIDATION_FAILED unless each part has 1 character or more, at most as many as above,
  /// and all of them are printable.
  [[nodiscard]] Status check() const;
  friend auto operator<=>(const IdempotencyKey&, const IdempotencyKey&) = default;
};

/// Fences the holder of a key: each admitted caller has generated a new one, so no two holders of a
/// key have the same ticket.
using IdempotencyTicket = Number<struct IdempotencyTicketTag, std::uint64_t>;

/// In flight → succeeded, failed or released. A released key is admitted again at once, a key in
/// flight after its lease has expired, and any key after its record has expired.
enum class IdempotencyState : std::uint8_t {
  in_flight,  ///< its holder works on it, until its lease expires
  succeeded,  ///< the result is stored
  failed,     ///< final: the error is stored
  released,   ///< failed, and may be tried again
};
inline constexpr std::size_t idempotency_state_count = 4;

/// "in_flight", "succeeded", "failed", "released".
std::string_view idempotency_state_name(IdempotencyState state) noexcept;
std::optional<IdempotencyState> idempotency_state_from_name(std::string_view name) noexcept;

/// The stored state of a request.
struct IdempotencyRecord {
  IdempotencyKey key{};
  Digest request_hash{};
  IdempotencyState state = IdempotencyState::in_flight;
  IdempotencyTicket ticket{};  ///< of the last holder
  std::uint32_t attempts = 1;  ///< how often the request was admitted since `created_at`
  WallTime created_at{};
  WallTime changed_at{};
  WallTime lease_until{};
  WallTime expires_at{};
  /// Succeeded: the stored result; nullopt if it was too large.
  std::optional<std::string> result{};
  Digest result_digest{};  ///< succeeded: of the whole result
  Code code{};             ///< failed, released: why
  std::string error{};
  friend bool operator==(const IdempotencyRecord&, const IdempotencyRecord&) = default;
};

}  // namespace sagabox
