#include "assembly/tenant_credentials.hpp"

#include "core/ascii.hpp"
#include "core/base64.hpp"
#include "core/text.hpp"
#ifdef SAGABOX_HTTP
#include "transports/http/header_rules.hpp"
#endif

#include <algorithm>
#include <string_view>
#include <utility>

namespace sagabox::assembly {
namespace {

constexpr std::string_view every_host = "*";

Error wrong_credentials(std::string text) { return {Code::config_invalid, std::move(text)}; }

std::string in_lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), lower);
  return text;
}

bool has_control_character(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

/// A name or an address in the form of a URL, without the port.
bool is_host(std::string_view text) {
  if (text == every_host) return true;
  if (text.empty() || text.find_first_of("/@*? \t") != std::string_view::npos) return false;
  return text.find(':') == std::string_view::npos || (text.front() == '[' && text.back() == ']');
}

bool may_be_set([[maybe_unused]] const std::string& header) {
#ifdef SAGABOX_HTTP
  return http::is_header_name(header) && !http::belongs_to_protocol(header);
#else
  return true;
#endif
}

Status check_login(const TenantCredentials& given) {
  if (given.username.empty() != given.password.empty()) {
    return wrong_credentials("username and password go together; give both, or neither");
  }
  if (!given.bearer.empty() && !given.username.empty()) {
    return wrong_credentials(
        "bearer and username are both the header Authorization; give one of them");
  }
  if (given.username.find(':') != std::string::npos) {
    return wrong_credentials("username: has a colon, which ends it; leave it out");
  }
  for (const auto& [name, text] :
       {std::pair("bearer", &given.bearer), std::pair("username", &given.username),
        std::pair("password", &given.password), std::pair("value", &given.value)}) {
    if (has_control_character(*text)) {
      return wrong_credentials(std::string(name) +
                               ": has a line's end or another control character in it; leave it "
                               "out");
    }
  }
  return {};
}

}  // namespace

Status TenantCredentials::check() const {
  if (hosts.empty()) {
    return wrong_credentials(
        "hosts: missing; name the hosts that get these credentials, or \"*\" for all");
  }
  for (const auto& host : hosts) {
    if (is_host(host)) continue;
    return wrong_credentials("hosts: " + quoted(host) +
                             " is not a host; write it as hooks.example.com, without scheme, port "
                             "and path");
  }
  if (header.empty() != value.empty()) {
    return wrong_credentials("header and value go together; give both, or neither");
  }
  if (!header.empty() && !may_be_set(header)) {
    return wrong_credentials("header: " + quoted(header) +
                             " is not the name of a header that may be set");
  }
  if (in_lower_case(header) == "authorization" && !(bearer.empty() && username.empty())) {
    return wrong_credentials("header: Authorization is what bearer or username set; give one");
  }
  return check_login(*this);
}

bool TenantCredentials::covers(const std::string& host) const {
  return std::ranges::any_of(
      hosts, [&](const std::string& one) { return one == every_host || one == host; });
}

bool TenantCredentials::is_for(const std::string& tenant_of, const std::string& host) const {
  return (tenant.empty() || tenant == tenant_of) && covers(host);
}

Headers TenantCredentials::headers() const {
  Headers made;
  if (!bearer.empty()) made.emplace_back("Authorization", "Bearer " + bearer);
  if (!username.empty()) {
    std::string basic = "Basic ";
    append_base64(username + ":" + password, basic);
    made.emplace_back("Authorization", std::move(basic));
  }
  if (!header.empty()) made.emplace_back(header, value);
  return made;
}

void CredentialBook::change(std::vector<TenantCredentials> all) {
  auto entries = std::make_shared<std::vector<Entry>>();
  for (auto& one : all) {
    for (auto& host : one.hosts) host = in_lower_case(std::move(host));
    auto headers = one.headers();
    entries->push_back({std::move(one), std::move(headers)});
  }
  const std::scoped_lock lock(mutex_);
  entries_ = std::move(entries);
}

Result<Headers> CredentialBook::find(const std::string& tenant, const std::string& host) const {
  const auto entries = [&] {
    const std::scoped_lock lock(mutex_);
    return entries_;
  }();
  const auto found = std::ranges::find_if(
      *entries, [&](const Entry& entry) { return entry.given.is_for(tenant, host); });
  if (found != entries->end()) return found->headers;
  const bool needed =
      std::ranges::any_of(*entries, [&](const Entry& entry) { return entry.given.covers(host); });
  if (!needed) return Headers{};
  return Error{Code::auth_denied, "transports.http.credentials has none of this tenant"};
}

}  // namespace sagabox::assembly
