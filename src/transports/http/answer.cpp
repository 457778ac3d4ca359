#include "transports/http/answer.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>

namespace sagabox::http {
namespace {

using Kind = spi::SendResult::Kind;

constexpr auto retry_after_max = std::chrono::hours(24);

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

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
    case 530:  // a proxy's: what is behind it is not there
      return Kind::unreachable;
    case 421:  // Misdirected Request: another connection may be taken
      return Kind::failed;
    default:
      // The same in more detail: what is behind the proxy refuses, times out, fails at TLS.
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
  return {kind, std::move(text), retry_after(answer.retry_after, now)};
}

/// Whether it is this side, not the destination, that could not.
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

/// Whether the connection, or its part of one, ended where an answer was waited for.
bool is_cut_off(int curl_code) {
  return curl_code == CURLE_RECV_ERROR || curl_code == CURLE_GOT_NOTHING ||
         curl_code == CURLE_HTTP2_STREAM;
}

}  // namespace

std::optional<Duration> retry_after(std::string_view value, WallTime now) {
  const auto text = trimmed(value);
  if (text.empty()) return std::nullopt;
  const auto* const end = text.data() + text.size();
  if (std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    std::uint32_t seconds = 0;
    const auto read = std::from_chars(text.data(), end, seconds);
    if (read.ec != std::errc{}) return retry_after_max;
    return std::min<Duration>(std::chrono::seconds(seconds), retry_after_max);
  }
  const auto date = curl_getdate(std::string(text).c_str(), nullptr);
  if (date < 0) return std::nullopt;
  const auto wait = WallTime(std::chrono::seconds(date)) - now;
  return std::clamp<Duration>(std::min<std::chrono::microseconds>(wait, retry_after_max),
                              Duration::zero(), retry_after_max);
}

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
