#include "assembly/secret_texts.hpp"

#include "core/error_text.hpp"
#include "core/masked_url.hpp"
#include "core/text.hpp"

namespace sagabox::assembly {
namespace {

/// A shorter one would match by chance in the middle of words.
constexpr std::size_t secret_bytes_min = 6;

bool may_hold_a_secret(std::string_view text) {
  return text.find("://") != std::string_view::npos || text.find('@') != std::string_view::npos ||
         clean_error(text) != text;
}

/// The text between the first : after the scheme and the last @.
std::string_view password_in(std::string_view url) {
  if (const auto scheme = url.find("://"); scheme != std::string_view::npos) {
    url.remove_prefix(scheme + 3);
  }
  const auto at = url.rfind('@');
  const auto colon = url.find(':');
  if (at == std::string_view::npos || colon > at) return {};
  return url.substr(colon + 1, at - colon - 1);
}

}  // namespace

void SecretTexts::add(std::string_view said, std::string_view shown) {
  if (said.size() < secret_bytes_min) return;
  replacements_.emplace(said, shown);
}

void SecretTexts::add_text(const std::string& text) {
  if (!may_hold_a_secret(text)) return;
  const auto shown = masked_url(text);
  if (shown == text) return;
  add(text, shown);
  add(password_in(text), secret_mask);
}

void SecretTexts::add_secret(const std::string& text) { add(text, secret_mask); }

std::string SecretTexts::masked(std::string text) const {
  for (const auto& [said, shown] : replacements_) {
    text = replaced(text, said, shown);
    // In the form in which errors quote it.
    const auto in_quotes = quoted(said);
    const auto escaped = std::string_view(in_quotes).substr(1, in_quotes.size() - 2);
    if (escaped != said && escaped.size() >= secret_bytes_min) {
      text = replaced(text, escaped, shown);
    }
  }
  return text;
}

}  // namespace sagabox::assembly
