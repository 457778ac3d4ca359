#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sagabox {

/// Stable error codes. `code_name` gives the spelling used in logs, the API and dead letters.
enum class Code : std::uint8_t {
  tx_timeout,
  tx_deadletter,
  tx_idempotent_busy,
  tx_idempotent_last_failed,
  tx_idempotent_hit,
  tx_idempotent_mismatch,
  tx_lease_lost,
  tx_unroutable,
  tx_no_subscribers,
  tx_invalid_handler,
  tx_no_transaction,
  tx_handler_failed,
  tx_invalid_state,
  config_invalid,
  storage_conflict,
  storage_unavailable,
  storage_in_doubt,
  schema_validation_failed,
  provider_unavailable,
  provider_rejected,
  auth_denied,
  request_invalid,
  request_not_found,
  request_method_not_allowed,
  request_too_large,
  request_unsupported_media_type,
  server_busy,
  unknown_internal,
};

inline constexpr std::size_t code_count = 28;

enum class Severity : std::uint8_t { info, warning, error, critical };

/// "TX.TIMEOUT", "STORAGE.IN_DOUBT" …
std::string_view code_name(Code code) noexcept;

/// The code with this name; `unknown_internal` if this version does not know the name.
Code code_from_name(std::string_view name) noexcept;

/// Whether the same call can be repeated without risk. Never true for `storage_in_doubt`: check the
/// state first, or repeat only calls that are idempotent by id.
bool is_retry_safe(Code code) noexcept;

Severity severity(Code code) noexcept;

/// A short text that is safe to show to the public: it contains no table, host, id or payload.
std::string_view public_message(Code code) noexcept;

/// Says what went wrong and what to do next. Never contains a payload or a secret.
struct Error {
  Code code = Code::unknown_internal;
  std::string message;

  /// "TX.NO_TRANSACTION: write() needs an open transaction …"
  [[nodiscard]] std::string text() const;
};

/// Thrown by `Result::value()`, for callers that prefer exceptions.
class Failure : public std::runtime_error {
 public:
  explicit Failure(Error error);
  [[nodiscard]] const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

}  // namespace sagabox
