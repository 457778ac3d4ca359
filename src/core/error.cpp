#include <sagabox/error.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace sagabox {
namespace {

enum class Retry : bool { no, yes };

struct Row {
  Code code;
  std::string_view name;
  Retry retry;
  Severity severity;
  std::string_view public_message;
};

using enum Severity;

constexpr std::array<Row, code_count> table{{
    {Code::tx_timeout, "TX.TIMEOUT", Retry::yes, warning, "The operation took too long."},
    {Code::tx_deadletter, "TX.DEADLETTER", Retry::no, error,
     "The message could not be delivered and was set aside."},
    {Code::tx_idempotent_busy, "TX.IDEMPOTENT_BUSY", Retry::yes, info,
     "The same request is being processed; try again shortly."},
    {Code::tx_idempotent_last_failed, "TX.IDEMPOTENT_LAST_FAILED", Retry::no, warning,
     "The same request failed before; send it under a new key."},
    {Code::tx_idempotent_hit, "TX.IDEMPOTENT_HIT", Retry::no, info,
     "The same request was processed before."},
    {Code::tx_idempotent_mismatch, "TX.IDEMPOTENT_MISMATCH", Retry::no, warning,
     "The key was used before for another request."},
    {Code::tx_lease_lost, "TX.LEASE_LOST", Retry::no, warning,
     "The work was taken over by another worker."},
    {Code::tx_unroutable, "TX.UNROUTABLE", Retry::no, error,
     "There is no receiver for this kind of message."},
    {Code::tx_no_subscribers, "TX.NO_SUBSCRIBERS", Retry::yes, error,
     "Nobody has subscribed to this kind of message."},
    {Code::tx_invalid_handler, "TX.INVALID_HANDLER", Retry::no, error,
     "The receiver of this kind of message is not usable."},
    {Code::tx_no_transaction, "TX.NO_TRANSACTION", Retry::no, error,
     "An open transaction is needed."},
    {Code::tx_handler_failed, "TX.HANDLER_FAILED", Retry::yes, warning,
     "The receiver failed to process the message."},
    {Code::tx_invalid_state, "TX.INVALID_STATE", Retry::no, error,
     "The operation is not possible in the current state."},
    {Code::config_invalid, "CONFIG.INVALID", Retry::no, error, "A setting is not valid."},
    {Code::storage_conflict, "STORAGE.CONFLICT", Retry::yes, warning,
     "Another change came first; try again."},
    {Code::storage_unavailable, "STORAGE.UNAVAILABLE", Retry::yes, critical,
     "The database cannot be reached or takes no writes; try again later."},
    {Code::storage_in_doubt, "STORAGE.IN_DOUBT", Retry::no, critical,
     "It is not known whether the change was stored; look before repeating it."},
    {Code::schema_validation_failed, "SCHEMA.VALIDATION_FAILED", Retry::no, warning,
     "The message breaks a rule."},
    {Code::provider_unavailable, "PROVIDER.UNAVAILABLE", Retry::yes, error,
     "The destination cannot be reached; try again later."},
    {Code::provider_rejected, "PROVIDER.REJECTED", Retry::no, error,
     "The destination refused the message."},
    {Code::auth_denied, "AUTH.DENIED", Retry::no, warning, "This is not allowed."},
    {Code::request_invalid, "REQUEST.INVALID", Retry::no, warning, "The request breaks a rule."},
    {Code::request_not_found, "REQUEST.NOT_FOUND", Retry::no, warning,
     "What the request names is not there."},
    {Code::request_method_not_allowed, "REQUEST.METHOD_NOT_ALLOWED", Retry::no, warning,
     "The path does not take this method."},
    {Code::request_too_large, "REQUEST.TOO_LARGE", Retry::no, warning,
     "The request is larger than the server takes."},
    {Code::request_unsupported_media_type, "REQUEST.UNSUPPORTED_MEDIA_TYPE", Retry::no, warning,
     "The body is of a type that is not taken."},
    {Code::server_busy, "SERVER.BUSY", Retry::yes, warning,
     "The server takes nothing more for now; try again shortly."},
    {Code::unknown_internal, "UNKNOWN.INTERNAL", Retry::no, critical,
     "Something unexpected went wrong."},
}};

constexpr bool rows_stand_at_their_code() {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (static_cast<std::size_t>(table[i].code) != i) return false;
  }
  return true;
}
static_assert(rows_stand_at_their_code());

const Row& row(Code code) noexcept {
  const auto index = static_cast<std::size_t>(code);
  return index < table.size() ? table[index] : table.back();
}

}  // namespace

std::string_view code_name(Code code) noexcept { return row(code).name; }

Code code_from_name(std::string_view name) noexcept {
  const auto* found =
      std::find_if(table.begin(), table.end(), [&](const Row& r) { return r.name == name; });
  return found == table.end() ? Code::unknown_internal : found->code;
}

bool is_retry_safe(Code code) noexcept { return row(code).retry == Retry::yes; }

Severity severity(Code code) noexcept { return row(code).severity; }

std::string_view public_message(Code code) noexcept { return row(code).public_message; }

std::string Error::text() const {
  const auto name = code_name(code);
  if (message.empty()) return std::string(name);
  std::string text;
  text.reserve(name.size() + 2 + message.size());
  text.append(name).append(": ").append(message);
  return text;
}

Failure::Failure(Error error) : std::runtime_error(error.text()), error_(std::move(error)) {}

}  // namespace sagabox
