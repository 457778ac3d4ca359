#include "core/error_text.hpp"

#include "core/masked_url.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace sagabox {
namespace {

constexpr std::string_view payload_mark = "[payload]";
constexpr std::string_view replacement_character = "\xef\xbf\xbd";
constexpr std::size_t nowhere = std::string_view::npos;

constexpr std::array<std::string_view, 17> secret_names{
    "password",   "passwd",     "pwd",         "passphrase", "secret",     "token",
    "api_key",    "api-key",    "apikey",      "access_key", "secret_key", "client_key",
    "server_key", "credential", "credentials", "signature",  "sig"};

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? char(c + ('a' - 'A')) : c; }
constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }
constexpr bool is_quote(char c) noexcept { return c == '"' || c == '\''; }
constexpr bool is_space(char c) noexcept { return is_blank(c) || c == '\n' || c == '\r'; }

/// A secret's place in a text: from `begin` up to `end`.
struct Span {
  std::size_t begin = nowhere;
  std::size_t end = nowhere;
};

/// Finds secrets in a text. Each function checks one position only.
class Secrets {
 public:
  explicit Secrets(std::string_view text) : text_(text) {}

  /// The secret that the text at `at` introduces, if there is one.
  [[nodiscard]] Span announced_at(std::size_t at) const {
    const char c = lower(text_[at]);
    if (c == ':') return userinfo(at);
    if (std::string_view("abcpst").find(c) == nowhere) return {};
    if (has_word(at, "authorization")) return authorization(at + 13);
    if (has_word(at, "bearer")) return bearer(at + 6);
    for (const auto name : secret_names) {
      if (!has_word(at, name)) continue;
      if (const Span value = value_after(at + name.size()); value.begin != nowhere) return value;
    }
    return {};
  }

 private:
  [[nodiscard]] bool has_word(std::size_t at, std::string_view word) const {
    return text_.size() - at >= word.size() &&
           std::equal(word.begin(), word.end(), text_.begin() + std::ptrdiff_t(at),
                      [](char w, char t) { return w == lower(t); });
  }
  template <class Predicate>
  [[nodiscard]] std::size_t skip_while(std::size_t at, Predicate predicate) const {
    while (at < text_.size() && predicate(text_[at])) ++at;
    return at;
  }

  /// Up to the last @ before a / or a space, because passwords contain ? and # more often than
  /// hosts do. A password that contains a / is detected by an invalid port.
  [[nodiscard]] Span userinfo(std::size_t colon) const {
    if (!text_.substr(colon).starts_with("://")) return {};
    const std::size_t begin = colon + 3;
    const auto in_url = [](char c) { return !is_space(c) && !is_quote(c) && c != '<'; };
    std::size_t end = skip_while(begin, [&](char c) { return c != '/' && in_url(c); });
    if (!has_port_at_most(text_.substr(begin, end - begin))) end = skip_while(begin, in_url);
    const std::size_t at_sign = text_.substr(begin, end - begin).rfind('@');
    return at_sign == nowhere ? Span{} : Span{begin, begin + at_sign};
  }

  /// True for "host", "host:8443" and "[::1]:8443", false for "user:pass".
  [[nodiscard]] static bool has_port_at_most(std::string_view authority) {
    const auto host_end = std::min(authority.find(']'), authority.size());
    const auto colon = authority.find(':', host_end == authority.size() ? 0 : host_end);
    if (colon == nowhere) return true;
    const auto port = authority.substr(colon + 1);
    return std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  }

  /// The position after `= `, `": "` or similar; `nowhere` if no = or : follows.
  [[nodiscard]] std::size_t value_begin(std::size_t at) const {
    if (at < text_.size() && is_quote(text_[at])) ++at;
    at = skip_while(at, is_blank);
    if (at == text_.size() || (text_[at] != '=' && text_[at] != ':')) return nowhere;
    return skip_while(at + 1, is_blank);
  }

  [[nodiscard]] Span quoted_value(std::size_t open) const {
    std::size_t end = open + 1;
    while (end < text_.size() && text_[end] != text_[open]) {
      end += text_[end] == '\\' ? 2 : 1;
    }
    return {open + 1, std::min(end, text_.size())};
  }

  [[nodiscard]] Span value_after(std::size_t name_end) const {
    const std::size_t begin = value_begin(name_end);
    if (begin == nowhere || begin == text_.size()) return {};
    if (is_quote(text_[begin])) return quoted_value(begin);
    return {begin, skip_while(begin, [](char c) {
              return !is_space(c) && !is_quote(c) && c != '&' && c != ',' && c != ';';
            })};
  }

  /// Schemes may have several words ("Digest username=…, response=…"), so everything is masked.
  [[nodiscard]] Span authorization(std::size_t name_end) const {
    const std::size_t begin = value_begin(name_end);
    if (begin == nowhere || begin == text_.size()) return {};
    if (is_quote(text_[begin])) return quoted_value(begin);
    return {begin, skip_while(begin, [](char c) { return c != '\n' && c != '\r' && c != '"'; })};
  }

  [[nodiscard]] Span bearer(std::size_t word_end) const {
    const std::size_t begin = skip_while(word_end, is_blank);
    if (begin == word_end) return {};
    return {begin,
            skip_while(begin, [](char c) { return !is_space(c) && !is_quote(c) && c != ','; })};
  }

  std::string_view text_;
};

/// Collects characters until a bound is reached.
class Bounded {
 public:
  explicit Bounded(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  /// Returns false, and adds nothing, if `piece` does not fit any more.
  bool add(std::string_view piece, std::size_t characters) {
    if (piece.size() > bytes_max_ - out_.size()) return false;
    if (characters > error_characters_max - characters_) return false;
    out_ += piece;
    characters_ += characters;
    return true;
  }
  std::string take() { return std::move(out_); }

 private:
  std::size_t bytes_max_;
  std::size_t characters_ = 0;
  std::string out_;
};

/// Uses memmem because it is linear. std::string_view::find is not, and handlers control both
/// texts.
std::size_t find_payload(std::string_view text, std::size_t from, std::string_view payload) {
  if (payload.size() < payload_bytes_recognised || payload.size() > text.size() - from)
    return nowhere;
  const void* found =
      memmem(text.data() + from, text.size() - from, payload.data(), payload.size());
  return found == nullptr ? nowhere
                          : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

/// True if nothing in the text can need masking or replacing: all secrets need a : or =, or the b
/// of bearer.
bool is_plain(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != ':' && c != '=' && lower(c) != 'b';
  });
}

}  // namespace

std::string clean_error(std::string_view text, std::size_t bytes_max, std::string_view payload) {
  std::size_t payload_at = find_payload(text, 0, payload);
  if (payload_at == nowhere && text.size() <= std::min(bytes_max, error_characters_max) &&
      is_plain(text)) {
    return std::string(text);
  }
  const Secrets secrets(text);
  Bounded out(bytes_max);
  Span secret;
  for (std::size_t at = 0; at < text.size();) {
    if (at == payload_at) {
      if (!out.add(payload_mark, payload_mark.size())) break;
      at += payload.size();
      payload_at = find_payload(text, at, payload);
      // A secret that began in the payload and continues after it is still masked.
      if (secret.begin < at) secret = secret.end > at ? Span{at, secret.end} : Span{};
      continue;
    }
    if (secret.begin == nowhere) secret = secrets.announced_at(at);
    if (at == secret.begin) {
      if (secret.end > at && !out.add(secret_mask, secret_mask.size())) break;
      at = secret.end;
      secret = {};
      if (payload_at < at) payload_at = find_payload(text, at, payload);
      continue;
    }
    const auto c = utf8_front(text.substr(at));
    const std::string_view piece = c.bytes == 0               ? replacement_character
                                   : is_control(c.code_point) ? std::string_view(" ")
                                                              : text.substr(at, c.bytes);
    if (!out.add(piece, 1)) break;
    at += std::max<std::size_t>(c.bytes, 1);
  }
  return out.take();
}

}  // namespace sagabox
