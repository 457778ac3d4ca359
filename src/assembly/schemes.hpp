#pragma once

#include <sagabox/result.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::assembly {

/// The begin of a URL, and how to open it.
template <class Open>
struct Scheme {
  std::string_view begin;
  Open open;                    ///< null: not in this build
  std::string_view left_out{};  ///< the reason
};

/// The schemes of the URLs that this build can open.
template <class Scheme>
std::vector<std::string> names(std::span<const Scheme> schemes) {
  std::vector<std::string> names;
  for (const auto& scheme : schemes) {
    if (scheme.open != nullptr) names.emplace_back(scheme.begin);
  }
  return names;
}

/// Nothing after the scheme is shown: it may contain a password.
inline Error unknown(std::string_view url, const std::string& what, const std::string& available) {
  const auto end = url.find(':');
  const std::string_view scheme = url.substr(0, end);
  const bool named =
      end != std::string_view::npos && !scheme.empty() && std::ranges::all_of(scheme, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '+' || c == '-' || c == '.';
      });
  return {Code::config_invalid,
          (named ? "there is no " + what + " for \"" + std::string(scheme) + ":\""
                 : "the " + what + "'s URL has no scheme") +
              "; " + available};
}

/// CONFIG.INVALID for a URL that this build cannot open; the text lists those that it can. `what`:
/// a store or a transport.
template <class Scheme>
Result<const Scheme*> find(std::span<const Scheme> schemes, std::string_view url,
                           const std::string& what) {
  std::string list;
  for (const auto& name : names(schemes)) list += (list.empty() ? "" : ", ") + name;
  const auto available = "this build has " + list;
  const auto scheme = std::ranges::find_if(
      schemes, [&](const Scheme& known) { return url.starts_with(known.begin); });
  if (scheme == schemes.end()) return unknown(url, what, available);
  if (scheme->open == nullptr) {
    return Error{Code::config_invalid, std::string(scheme->begin) +
                                           " was left out of this build (" +
                                           std::string(scheme->left_out) + "); " + available};
  }
  return &*scheme;
}

}  // namespace sagabox::assembly
