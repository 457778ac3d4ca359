#include "transports/http/answer.hpp"

#include "core/curl_retry_after.hpp"

#include <curl/curl.h>

namespace sagabox::http {
namespace {

using Kind = spi::SendResult::Kind;

Kind kind_of(int status) {
  if (status >= 200 && status < 300) return Kind::delivered;
  switch (status) {
    case 408:  // Request Timeout
    case 425:  // Too Early
    case 429:  // Too Many Requests
    case 503:  // Service Unavailable
      return Kind::busy;
    case 502:  // Bad Gateway
    case 504:  // Gateway Timeout
    case 530:  // from a proxy: its origin does not exist
      return Kind::unreachable;
    case 421:  // Misdirected Request: another connection may be used
      return Kind::failed;
    default:
      // More precise codes of a proxy: its origin refuses, times out, or fails at TLS.
      if (status >= 520 && status <= 527) return Kind::unreachable;
      return status >= 500 ? Kind::failed : Kind::rejected;
  }
}

spi::SendResult by_status(const Answer& answer, WallTime now) {
  const auto kind = kind_of(answer.status);
  if (kind == Kind::delivered) return {};
  auto text = std::to_string(answer.status) + " from " + std::string(answer.host);
  if (answer.status >= 300 && answer.status < 400) {
    text += ", a redirect; they are not followed: name the place it leads to";
  }
  return {kind, std::move(text), asked_wait(answer.retry_after, now)};
}

/// Whether the cause is on this side, not at the destination.
bool is_ours(int curl_code) {
  switch (curl_code) {
    case CURLE_OUT_OF_MEMORY:
    case CURLE_FAILED_INIT:
    case CURLE_BAD_FUNCTION_ARGUMENT:
    case CURLE_NOT_BUILT_IN:
    case CURLE_UNKNOWN_OPTION:
      return true;
    default:
      return false;
  }
}

/// Whether the connection, or its stream, ended while an answer was awaited.
bool is_cut_off(int curl_code) {
  return curl_code == CURLE_RECV_ERROR || curl_code == CURLE_GOT_NOTHING ||
         curl_code == CURLE_HTTP2_STREAM;
}

}  // namespace

spi::SendResult judge(const Answer& answer, WallTime now) {
  const std::string host(answer.host);
  if (answer.status >= 200) return by_status(answer, now);
  if (!answer.refusal.empty()) {
    return {answer.is_name ? Kind::unreachable : Kind::rejected, std::string(answer.refusal)};
  }
  if (answer.past_deadline && answer.request_sent) {
    return {Kind::timed_out, "no answer from " + host + " by the deadline"};
  }
  if (answer.past_deadline) {
    return {Kind::unreachable, "no connection to " + host + " by the deadline"};
  }
  auto text = host + ": " + std::string(answer.curl_error);
  if (answer.request_sent && is_cut_off(answer.curl_code)) {
    return {Kind::timed_out, std::move(text)};
  }
  return {is_ours(answer.curl_code) ? Kind::failed : Kind::unreachable, std::move(text)};
}

}  // namespace sagabox::http
