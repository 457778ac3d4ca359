#include "core/base64.hpp"

#include <openssl/evp.h>

#include <algorithm>

namespace sagabox {
namespace {

const unsigned char* octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* octets(std::string& text, std::size_t at) {
  return reinterpret_cast<unsigned char*>(text.data() + at);
}

bool is_base64_digit(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/';
}

}  // namespace

void append_base64(std::string_view bytes, std::string& out) {
  const auto at = out.size();
  const auto size = (bytes.size() + 2) / 3 * 4;
  out.resize(at + size + 1);  // OpenSSL appends a NUL
  EVP_EncodeBlock(octets(out, at), octets(bytes), static_cast<int>(bytes.size()));
  out.resize(at + size);
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty()) return std::string();
  const auto digits = text.substr(0, text.find_last_not_of('=') + 1);
  const auto padding = text.size() - digits.size();
  // OpenSSL would skip white space at the ends.
  if (text.size() % 4 != 0 || padding > 2 ||
      !std::all_of(digits.begin(), digits.end(), is_base64_digit)) {
    return std::nullopt;
  }
  std::string bytes(text.size() / 4 * 3, '\0');
  if (EVP_DecodeBlock(octets(bytes, 0), octets(text), static_cast<int>(text.size())) < 0) {
    return std::nullopt;
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace sagabox
