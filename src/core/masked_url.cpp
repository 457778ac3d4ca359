#include "core/masked_url.hpp"

#include "core/ascii.hpp"
#include "core/error_text.hpp"

#include <algorithm>
#include <array>

namespace sagabox {
namespace {

constexpr std::size_t npos = std::string_view::npos;
constexpr std::size_t name_length_max = 40;
constexpr std::size_t path_bytes_max = 2000;

/// Parameters whose values are not secret, in lower case.
constexpr std::array<std::string_view, 16> harmless{"application_name",
                                                    "channel_binding",
                                                    "client_encoding",
                                                    "connect_timeout",
                                                    "dbname",
                                                    "gssencmode",
                                                    "host",
                                                    "keepalives",
                                                    "keepalives_idle",
                                                    "load_balance_hosts",
                                                    "port",
                                                    "sslmode",
                                                    "sslnegotiation",
                                                    "tcp_user_timeout",
                                                    "target_session_attrs",
                                                    "user"};

constexpr std::array<std::string_view, 9> secret_words{
    "password", "passwd", "pwd", "passphrase", "secret", "token", "key", "sig", "credential"};

constexpr bool is_word(char c) noexcept {
  return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
}

constexpr bool is_word_or_space(char c) noexcept {
  return is_word(c) || c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

template <class Predicate>
bool all(std::string_view text, Predicate predicate) {
  return std::ranges::all_of(text, predicate);
}

template <class Names>
bool is_one_of(std::string_view text, const Names& names) {
  return std::ranges::find(names, text) != names.end();
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  });
  return lower;
}

bool is_scheme(std::string_view text) {
  return !text.empty() && is_letter(text.front()) &&
         all(text, [](char c) { return is_word(c) || c == '+'; });
}

/// Accepts names that are not ASCII, and paths of sockets. Any other percent-encoding may hide a :
/// or an @.
bool is_host_name(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (is_word(c) || static_cast<unsigned char>(c) >= 0x80) continue;
    if (lower_case(text.substr(at, 3)) != "%2f") return false;
  }
  return true;
}

/// "db", "db:5432", "[::1]:5432", "%2Frun%2Fpostgresql". A password is not a port.
bool is_host(std::string_view text) {
  std::string_view port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == npos) return false;
    const auto literal = text.substr(1, end - 1);
    if (!all(literal, [](char c) { return is_word(c) || c == ':' || c == '%'; })) return false;
    port = text.substr(end + 1);
  } else {
    const auto colon = std::min(text.find(':'), text.size());
    if (!is_host_name(text.substr(0, colon))) return false;
    port = text.substr(colon);
  }
  if (port.empty()) return true;
  constexpr std::size_t digits_max = 5;
  return port.front() == ':' && port.size() <= digits_max + 1 && all(port.substr(1), is_digit);
}

/// Several hosts separated by commas, as for PostgreSQL and Kafka.
bool are_hosts(std::string_view text) {
  for (;;) {
    const auto comma = std::min(text.find(','), text.size());
    if (!is_host(text.substr(0, comma))) return false;
    if (comma == text.size()) return true;
    text.remove_prefix(comma + 1);
  }
}

/// "password", "X-Amz-Signature", "sslpassword": such names are shown, so that the reader knows
/// what is hidden.
bool is_name_of_secret(std::string_view name) {
  if (name.size() > name_length_max || !all(name, is_word)) return false;
  const auto lower = lower_case(name);
  return std::ranges::any_of(secret_words, [&](auto word) { return lower.find(word) != npos; });
}

/// If the text may be part of a secret, its name is masked too.
std::string masked_parameter(std::string_view pair) {
  const auto equals = pair.find('=');
  const auto name = pair.substr(0, equals);
  const auto value = equals == npos ? std::string_view() : pair.substr(equals + 1);
  if (pair.empty()) return {};
  if (equals != npos && is_one_of(lower_case(name), harmless) &&
      all(value, [](char c) { return is_word(c) || c == ','; })) {
    return std::string(pair);
  }
  if (equals == npos || !is_name_of_secret(name)) return std::string(secret_mask);
  return std::string(name) + "=" + std::string(secret_mask);
}

/// `query` starts with its ?.
std::string masked_query(std::string_view query) {
  const auto fragment = query.find('#');
  std::string made(1, query.front());
  auto rest = query.substr(1, fragment == npos ? npos : fragment - 1);
  for (;;) {
    const auto end = std::min(rest.find_first_of("&;"), rest.size());
    made += masked_parameter(rest.substr(0, end));
    if (end == rest.size()) break;
    made += rest[end];
    rest.remove_prefix(end + 1);
  }
  return fragment == npos ? made : made + "#" + std::string(secret_mask);
}

/// A path and the parts after it, which start at one of `ends`. Nothing after a secret is shown,
/// because its end is not certain.
std::string masked_path(std::string_view text, std::string_view ends) {
  const auto end = std::min(text.find_first_of(ends), text.size());
  if (end > path_bytes_max) return std::string(secret_mask);
  auto made = clean_error(text.substr(0, end), path_bytes_max);
  if (const auto hidden = made.find(secret_mask); hidden != npos)
    return made.substr(0, hidden) + std::string(secret_mask);
  if (end == text.size()) return made;
  if (text[end] == '#') return made + "#" + std::string(secret_mask);
  return made + masked_query(text.substr(end));
}

/// "host=db password=…", as for libpq. A value that contains spaces has parts without a name.
std::string masked_pairs(std::string_view text) {
  std::string made;
  for (;;) {
    const auto end = std::min(text.find_first_of(" \t\r\n"), text.size());
    made += masked_parameter(text.substr(0, end));
    if (end == text.size()) return made;
    made += ' ';
    text.remove_prefix(end + 1);
  }
}

/// The text to show for the part before an @. Over HTTP the user may be a token, so it is masked
/// too.
std::string masked_login(std::string_view scheme, std::string_view login) {
  const auto user = login.substr(0, login.find(':'));
  const bool shown = user.size() < login.size() && !user.empty() && all(user, is_word) &&
                     !lower_case(scheme).starts_with("http");
  return (shown ? std::string(user) + ":" : std::string()) + std::string(secret_mask) + "@";
}

/// The position of the last @, which ends a login; npos if there is none. After ?, # or = the @ may
/// be part of a secret, so `certain` is false.
struct Login {
  std::size_t end = npos;
  bool certain = true;
};
Login login_in(std::string_view text) {
  const auto at = text.rfind('@');
  if (at == npos) return {};
  return {at, text.find_first_of("?#=") > at};
}

std::string masked_with_host(std::string_view scheme, std::string_view rest) {
  auto made = std::string(scheme) + "://";
  const auto login = login_in(rest);
  if (!login.certain) return made + std::string(secret_mask);
  if (login.end != npos) {
    // Passwords may contain / and @: any text before the last @ may be one.
    made += masked_login(scheme, rest.substr(0, login.end));
    rest.remove_prefix(login.end + 1);
  }
  const auto hosts = rest.substr(0, rest.find_first_of("/?#"));
  if (!are_hosts(hosts)) return std::string(scheme) + "://" + std::string(secret_mask);
  return made + std::string(hosts) + masked_path(rest.substr(hosts.size()), "?#");
}

/// True for names like "hooks", "Orders", "shop2": with a vowel, if longer than an abbreviation.
bool is_path_word(std::string_view word) {
  constexpr std::size_t letters_max = 14;
  constexpr std::size_t abbreviation_max = 4;
  constexpr std::size_t digits_max = 2;
  const auto letters = word.substr(0, word.find_first_of("0123456789"));
  if (word.size() - letters.size() > digits_max || letters.empty()) return false;
  if (letters.size() > letters_max || !all(word.substr(letters.size()), is_digit)) return false;
  if (!is_letter(letters.front()) || !all(letters.substr(1), is_lower)) return false;
  return letters.size() <= abbreviation_max || letters.find_first_of("aeiouyAEIOUY") != npos;
}

/// True if no part can be a key: words, or a short number.
bool is_shown_part(std::string_view part) {
  constexpr std::size_t number_max = 4;
  constexpr std::size_t part_max = 40;
  if (part.size() > part_max) return false;
  for (;;) {
    const auto end = std::min(part.find_first_of("-_."), part.size());
    const auto word = part.substr(0, end);
    const bool number = !word.empty() && word.size() <= number_max && all(word, is_digit);
    if (!number && !is_path_word(word)) return false;
    if (end == part.size()) return true;
    part.remove_prefix(end + 1);
  }
}

}  // namespace

std::string masked_target(std::string_view text) {
  auto masked = masked_url(text);
  const auto slashes = masked.find("://");
  if (slashes == npos || !lower_case(masked.substr(0, slashes)).starts_with("http")) return masked;
  auto at = masked.find('/', slashes + 3);
  while (at < masked.size() && masked[at] == '/') {
    const auto begin = at + 1;
    const auto end = std::min(masked.find_first_of("/?", begin), masked.size());
    const auto part = std::string_view(masked).substr(begin, end - begin);
    if (!part.empty() && !is_shown_part(part)) {
      return masked.substr(0, begin) + std::string(secret_mask);
    }
    at = end;
  }
  return masked;
}

std::string masked_url(std::string_view text) {
  if (const auto slashes = text.find("://"); slashes != npos) {
    const auto scheme = text.substr(0, slashes);
    return is_scheme(scheme) ? masked_with_host(scheme, text.substr(slashes + 3))
                             : std::string(secret_mask);
  }
  const auto login = login_in(text);
  const auto equals = text.find('=');
  const bool pairs =
      equals < text.find_first_of("?#:") && all(text.substr(0, equals), is_word_or_space);
  if (pairs) return masked_pairs(text);
  if (!login.certain) return std::string(secret_mask);
  // Topics may contain #.
  if (login.end == npos) return masked_path(text, "?");
  return std::string(secret_mask) + masked_path(text.substr(login.end), "?");
}

}  // namespace sagabox
