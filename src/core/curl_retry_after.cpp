#include "core/curl_retry_after.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>

namespace sagabox {
namespace {

constexpr auto retry_after_max = std::chrono::hours(24);

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

}  // namespace

std::optional<Duration> asked_wait(std::string_view retry_after, WallTime now) {
  const auto text = trimmed(retry_after);
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

}  // namespace sagabox
