#include "core/http_status.hpp"

namespace sagabox {

unsigned http_status_of(Code code) noexcept {
  switch (code) {
    case Code::schema_validation_failed:
    case Code::request_invalid:
      return 400;
    case Code::request_not_found:
      return 404;
    case Code::request_method_not_allowed:
      return 405;
    case Code::request_too_large:
      return 413;
    case Code::request_unsupported_media_type:
      return 415;
    case Code::auth_denied:
      return 403;
    case Code::tx_idempotent_busy:
    case Code::tx_idempotent_last_failed:
    case Code::tx_idempotent_hit:
    case Code::tx_lease_lost:
    case Code::tx_deadletter:
    case Code::tx_invalid_state:
    case Code::storage_conflict:
      return 409;
    case Code::tx_idempotent_mismatch:
    case Code::tx_unroutable:
    case Code::tx_no_subscribers:
      return 422;
    case Code::provider_rejected:
      return 502;
    case Code::storage_unavailable:
    case Code::provider_unavailable:
    case Code::server_busy:
      return 503;
    case Code::tx_timeout:
      return 504;
    // Not 503, because clients repeat such requests automatically: a result in doubt must be
    // checked first.
    case Code::storage_in_doubt:
    case Code::tx_invalid_handler:
    case Code::tx_no_transaction:
    case Code::tx_handler_failed:
    case Code::config_invalid:
    case Code::unknown_internal:
      break;
  }
  return 500;
}

}  // namespace sagabox
