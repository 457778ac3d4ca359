#include "transports/http/address.hpp"

#include "core/masked_url.hpp"
#include "core/text.hpp"
#include "transports/http/header_rules.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

namespace sagabox::http {
namespace {

constexpr std::size_t url_bytes_max = 8192;
constexpr std::string_view header_prefix = "header.";
constexpr std::array<std::string_view, 3> methods = {"POST", "PUT", "PATCH"};
constexpr auto timeout_max = std::chrono::hours(24);

struct UrlCleanup {
  void operator()(CURLU* url) const noexcept { curl_url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, UrlCleanup>;

Error wrong_address(std::string text) { return {Code::config_invalid, std::move(text)}; }

std::optional<std::string> part(CURLU* url, CURLUPart which, unsigned int flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, which, &text, flags) != CURLUE_OK) return std::nullopt;
  std::string copy(text);
  curl_free(text);
  return copy;
}

std::string shown(std::string_view text) { return quoted(masked_url(text)); }

Status check_literal(const HttpAddress& address, const AddressGuard& guard) {
  auto literal = address.host;
  if (literal.starts_with('[')) literal = literal.substr(1, literal.size() - 2);
  const auto ip = IpAddress::parse(literal);
  if (!ip) return {};
  auto refusal = guard.refusal({address.host, *ip, address.encrypted});
  if (refusal.empty()) return {};
  return wrong_address(std::move(refusal));
}

Status parse_url(std::string_view text, const AddressGuard& guard, HttpAddress& address) {
  if (text.size() > url_bytes_max) {
    return wrong_address("URL: " + std::to_string(text.size()) + " bytes, at most " +
                         std::to_string(url_bytes_max) + " are allowed");
  }
  const Url url(curl_url());
  const std::string whole(text);
  if (whole.find('\0') != std::string::npos ||
      curl_url_set(url.get(), CURLUPART_URL, whole.c_str(), 0) != CURLUE_OK) {
    return wrong_address(shown(text) + " is not a URL; write https://host/path");
  }
  const auto scheme = part(url.get(), CURLUPART_SCHEME).value_or("");
  if (scheme != "https" && scheme != "http") {
    return wrong_address(shown(text) + ": only https:// and http:// are spoken here");
  }
  if (part(url.get(), CURLUPART_USER) || part(url.get(), CURLUPART_PASSWORD)) {
    return wrong_address(
        "a user or password in a URL of " + quoted(part(url.get(), CURLUPART_HOST).value_or("")) +
        " would show in logs; use the tenant's credentials or header.Authorization");
  }
  if (part(url.get(), CURLUPART_FRAGMENT)) {
    return wrong_address(shown(text) + ": what follows # is never sent; leave it out");
  }
  address.encrypted = scheme == "https";
  address.host = lower_case(part(url.get(), CURLUPART_HOST).value_or(""));
  address.endpoint_name = scheme + "://" + address.host + ":" +
                          part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT).value_or("");
  address.url = part(url.get(), CURLUPART_URL).value_or("");
  if (!address.encrypted && !guard.allows_anything()) {
    return wrong_address(shown(text) +
                         ": http:// is only for what `allow` names; use https://, or allow it in "
                         "the configuration: transports: { http: { allow: [" +
                         address.host + "] } }");
  }
  return check_literal(address, guard);
}

Result<std::uint32_t> parse_concurrency(const std::string& value, std::uint32_t max) {
  std::uint32_t number = 0;
  const auto* const end = value.data() + value.size();
  const auto read = std::from_chars(value.data(), end, number);
  if (read.ec != std::errc{} || read.ptr != end || number == 0 || number > max) {
    return wrong_address("concurrency: " + quoted(value) + " is not a number from 1 to " +
                         std::to_string(max));
  }
  return number;
}

Result<Duration> parse_timeout(const std::string& value) {
  static constexpr std::array<std::pair<std::string_view, Duration>, 3> units = {
      {{"ms", std::chrono::milliseconds(1)},
       {"s", std::chrono::seconds(1)},
       {"m", std::chrono::minutes(1)}}};
  std::uint32_t number = 0;
  const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
  const std::string_view unit(read.ptr, value.data() + value.size());
  const auto* const found = std::find_if(units.begin(), units.end(),
                                         [&](const auto& known) { return known.first == unit; });
  if (read.ec != std::errc{} || found == units.end() || number == 0 ||
      number > timeout_max / found->second) {
    return wrong_address("timeout: " + quoted(value) + " is not a time such as 500ms, 10s or 1m");
  }
  return number * found->second;
}

Status parse_secrets(const std::string& value, SigningKeys& keys) {
  static constexpr std::string_view between = ", \t";
  for (std::size_t at = 0; (at = value.find_first_not_of(between, at)) != std::string::npos;) {
    const auto end = std::min(value.find_first_of(between, at), value.size());
    auto key = SigningKey::parse(std::string_view(value).substr(at, end - at));
    if (!key) return key.error();
    keys.push_back(std::move(key).value());
    at = end;
  }
  if (keys.empty())
    return wrong_address("secret: empty; give a key that begins with whsec_ or whsk_");
  return {};
}

Status add_header(const std::string& name, const std::string& value, Headers& headers) {
  if (!is_header_name(name) || belongs_to_protocol(name)) {
    return wrong_address("header." + name + ": not the name of a header that a route may set");
  }
  if (!is_header_value(value)) {
    return wrong_address("header." + name + ": its value has a control character in it");
  }
  headers.emplace_back(name, value);
  return {};
}

Status apply(const std::string& name, const std::string& value, const AddressRules& rules,
             HttpAddress& address) {
  if (name == "mode") {
    if (value != "binary" && value != "structured") {
      return wrong_address("mode: " + quoted(value) + " is neither binary nor structured");
    }
    address.mode = value == "binary" ? Mode::binary : Mode::structured;
    return {};
  }
  if (name == "method") {
    if (std::find(methods.begin(), methods.end(), value) == methods.end()) {
      return wrong_address("method: " + quoted(value) + " is none of POST, PUT and PATCH");
    }
    address.method = value;
    return {};
  }
  if (name == "concurrency") {
    const auto number = parse_concurrency(value, rules.concurrency_max);
    if (!number) return number.error();
    address.concurrency = *number;
    return {};
  }
  if (name == "timeout") {
    const auto timeout = parse_timeout(value);
    if (!timeout) return timeout.error();
    address.timeout = *timeout;
    return {};
  }
  if (name == "secret" || name == "secrets") return parse_secrets(value, address.keys);
  if (name.starts_with(header_prefix)) {
    return add_header(name.substr(header_prefix.size()), value, address.headers);
  }
  return wrong_address(
      "unknown setting " + quoted(name) +
      "; an HTTP address has mode, method, secret, secrets, concurrency, timeout and "
      "header.<name>");
}

}  // namespace

Result<std::shared_ptr<HttpAddress>> parse_address(std::string_view text,
                                                   const spi::AddressSettings& settings,
                                                   const AddressRules& rules) {
  auto address = std::make_shared<HttpAddress>();
  address->concurrency = rules.concurrency_default;
  if (auto status = parse_url(text, rules.guard, *address); !status) return status.error();
  for (auto setting = settings.begin(); setting != settings.end(); ++setting) {
    const auto is_same = [&](const auto& other) { return other.first == setting->first; };
    if (std::any_of(settings.begin(), setting, is_same)) {
      return wrong_address(quoted(setting->first) + " is given twice");
    }
    if (auto status = apply(setting->first, setting->second, rules, *address); !status) {
      return status.error();
    }
  }
  return address;
}

}  // namespace sagabox::http
