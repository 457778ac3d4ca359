#include "cli/remote/server_arguments.hpp"

#include "core/masked_url.hpp"
#include "core/text.hpp"

#include <algorithm>

namespace sagabox::cli {
namespace {

constexpr std::string_view plain = "http://";
constexpr std::string_view encrypted = "https://";
constexpr std::string_view key_begin = "sbx_";

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const auto begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

}  // namespace

Result<std::string> parse_server(std::string_view text) {
  const auto wrong = [&](std::string_view right) {
    return Error{Code::config_invalid,
                 "server " + quoted(masked_url(text)) + ": " + std::string(right)};
  };
  // Before the text is shown: it may contain a password.
  if (text.find('@') != std::string_view::npos) {
    return Error{Code::config_invalid,
                 "server: no user or password in the URL; a key is given with --key-file FILE or "
                 "in SAGABOX_KEY"};
  }
  const auto scheme = text.starts_with(plain)       ? plain
                      : text.starts_with(encrypted) ? encrypted
                                                    : std::string_view();
  if (scheme.empty() || text.size() == scheme.size() || !is_printable(text)) {
    return wrong("write it as http://127.0.0.1:8700 or https://host/path");
  }
  if (text.find_first_of("?#") != std::string_view::npos) {
    return wrong("without ? and #: what is asked is up to the verb");
  }
  while (text.ends_with('/')) text.remove_suffix(1);
  if (text.size() < scheme.size()) return wrong("names no host");
  return std::string(text);
}

Result<std::string> parse_key(std::string_view text) {
  const auto key = trimmed(text);
  if (key.starts_with(key_begin) && is_printable(key)) return std::string(key);
  return Error{Code::config_invalid,
               "that is not a key: it is one word that begins with sbx_, as sagabox key create "
               "printed it"};
}

bool is_readable_by_others(std::string_view url) {
  if (!url.starts_with(plain)) return false;
  auto host = url.substr(plain.size());
  host = host.substr(0, host.find('/'));
  return !host.starts_with("127.") && !host.starts_with("[::1]") && host != "localhost" &&
         !host.starts_with("localhost:");
}

Result<bool> chooses_server(const Said& store, const Said& server) {
  if (!store.given() || !server.given()) return server.given();
  if (store.typed() != server.typed()) return server.typed();
  return Error{Code::config_invalid,
               "--store and --server do not go together: say which store to work on, or which "
               "daemon to ask (SAGABOX_STORE and SAGABOX_SERVER count, too)"};
}

}  // namespace sagabox::cli
