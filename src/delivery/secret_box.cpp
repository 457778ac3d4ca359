#include "delivery/secret_box.hpp"

#include "core/base64.hpp"
#include "core/text.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace sagabox::delivery {
namespace {

constexpr std::string_view version_prefix = "v1:";

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const noexcept { EVP_CIPHER_CTX_free(context); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;

const unsigned char* octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* octets(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
int length_of(std::string_view text) { return static_cast<int>(text.size()); }

Error no_cipher() {
  return {Code::unknown_internal, "OpenSSL cannot compute AES-256-GCM; check its providers"};
}

Error not_sealed() {
  return {Code::schema_validation_failed,
          "this is not a sealed secret; it begins with v1: and the id of a key"};
}

/// Ciphertext and tag.
std::optional<std::string> encrypted(const unsigned char* key, std::string_view nonce,
                                     std::string_view context, std::string_view plain) {
  const Cipher cipher(EVP_CIPHER_CTX_new());
  std::string out(plain.size() + SecretBox::tag_bytes, '\0');
  int written = 0;
  int rest = 0;
  const bool done =
      cipher &&
      EVP_EncryptInit_ex2(cipher.get(), EVP_aes_256_gcm(), key, octets(nonce), nullptr) == 1 &&
      EVP_EncryptUpdate(cipher.get(), nullptr, &written, octets(context), length_of(context)) ==
          1 &&
      EVP_EncryptUpdate(cipher.get(), octets(out), &written, octets(plain), length_of(plain)) ==
          1 &&
      EVP_EncryptFinal_ex(cipher.get(), octets(out) + written, &rest) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, SecretBox::tag_bytes,
                          octets(out) + plain.size()) == 1;
  return done ? std::optional(std::move(out)) : std::nullopt;
}

/// Nullopt if the tag does not fit.
std::optional<std::string> decrypted(const unsigned char* key, std::string_view nonce,
                                     std::string_view context, std::string_view sealed) {
  const Cipher cipher(EVP_CIPHER_CTX_new());
  const auto body = sealed.substr(0, sealed.size() - SecretBox::tag_bytes);
  std::string tag(sealed.substr(body.size()));
  std::string out(body.size(), '\0');
  int written = 0;
  int rest = 0;
  const bool done =
      cipher &&
      EVP_DecryptInit_ex2(cipher.get(), EVP_aes_256_gcm(), key, octets(nonce), nullptr) == 1 &&
      EVP_DecryptUpdate(cipher.get(), nullptr, &written, octets(context), length_of(context)) ==
          1 &&
      EVP_DecryptUpdate(cipher.get(), octets(out), &written, octets(body), length_of(body)) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, SecretBox::tag_bytes, octets(tag)) ==
          1 &&
      EVP_DecryptFinal_ex(cipher.get(), octets(out) + written, &rest) == 1;
  if (done) return out;
  OPENSSL_cleanse(out.data(), out.size());
  return std::nullopt;
}

bool is_key_id(std::string_view id) {
  return !id.empty() && id.size() <= SecretBox::key_id_length_max &&
         std::ranges::all_of(id, [](char c) {
           return c == '-' || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                  (c >= 'A' && c <= 'Z');
         });
}

struct SealedParts {
  std::string_view key_id;
  std::string_view body;
};

std::optional<SealedParts> parts_of(std::string_view sealed) {
  if (!sealed.starts_with(version_prefix)) return std::nullopt;
  sealed.remove_prefix(version_prefix.size());
  const auto colon = sealed.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return SealedParts{sealed.substr(0, colon), sealed.substr(colon + 1)};
}

std::string random_bytes(std::size_t count, Random& random) {
  std::string bytes;
  std::uint64_t number = 0;
  constexpr std::size_t number_bytes = sizeof(number);
  while (bytes.size() < count) {
    number = bytes.size() % number_bytes == 0 ? random.next() : number >> 8U;
    bytes += static_cast<char>(number & 0xffU);
  }
  return bytes;
}

}  // namespace

Result<std::string> SecretBox::new_key(std::string_view id, Random& random) {
  if (!is_key_id(id)) {
    return Error{Code::config_invalid,
                 quoted(id) + ": an id has 1 to 32 letters, digits, - or _, such as k1"};
  }
  std::string text(id);
  text += ':';
  append_base64(random_bytes(key_bytes, random), text);
  return text;
}

Result<SecretBox::Key> SecretBox::read_key(std::string_view text, std::size_t number) {
  const auto wrong = [number](std::string_view what) {
    return Error{Code::config_invalid,
                 "hub.secret_key: key " + std::to_string(number) + " " + std::string(what)};
  };
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return wrong("has no id; write ID:BASE64");
  Key key{.id = std::string(text.substr(0, colon))};
  if (!is_key_id(key.id)) {
    return wrong("has an id that is not 1 to 32 letters, digits, - or _; write ID:BASE64");
  }
  auto bytes = from_base64(text.substr(colon + 1));
  if (!bytes || bytes->size() != key_bytes) {
    return wrong("is not 32 bytes in base64; make one with: sagabox hub key --out FILE");
  }
  std::ranges::transform(*bytes, key.bytes.begin(),
                         [](char c) { return static_cast<unsigned char>(c); });
  OPENSSL_cleanse(bytes->data(), bytes->size());
  return key;
}

Result<SecretBox> SecretBox::create(std::string_view text) {
  constexpr std::string_view gaps = " \t\r\n,";
  std::vector<Key> keys;
  for (auto from = text.find_first_not_of(gaps); from != std::string_view::npos;
       from = text.find_first_not_of(gaps, from)) {
    const auto end = std::min(text.find_first_of(gaps, from), text.size());
    auto key = read_key(text.substr(from, end - from), keys.size() + 1);
    if (!key.ok()) return key.error();
    if (std::ranges::find(keys, key->id, &Key::id) != keys.end()) {
      return Error{Code::config_invalid,
                   "hub.secret_key: the id " + quoted(key->id) + " is there twice"};
    }
    keys.push_back(std::move(key).value());
    from = end;
  }
  if (keys.empty()) {
    return Error{Code::config_invalid,
                 "hub.secret_key: is empty; write ID:BASE64 of 32 random bytes"};
  }
  return SecretBox(std::move(keys));
}

SecretBox::~SecretBox() {
  for (auto& key : keys_) OPENSSL_cleanse(key.bytes.data(), key.bytes.size());
}

Result<std::string> SecretBox::seal(std::string_view secret, std::string_view context,
                                    Random& random) const {
  if (secret.empty() || secret.size() > secret_bytes_max) {
    return Error{Code::schema_validation_failed,
                 "a secret has 1 to " + std::to_string(secret_bytes_max) + " bytes"};
  }
  const auto& key = keys_.front();
  auto body = random_bytes(nonce_bytes, random);
  const auto cipher = encrypted(key.bytes.data(), body, context, secret);
  if (!cipher) return no_cipher();
  body += *cipher;
  auto sealed = std::string(version_prefix) + key.id + ":";
  append_base64(body, sealed);
  return sealed;
}

Result<std::string> SecretBox::open(std::string_view sealed, std::string_view context) const {
  const auto parts = parts_of(sealed);
  if (!parts) return not_sealed();
  const auto body = from_base64(parts->body);
  if (!body || body->size() <= nonce_bytes + tag_bytes ||
      body->size() > nonce_bytes + secret_bytes_max + tag_bytes) {
    return not_sealed();
  }
  const auto key = std::ranges::find(keys_, parts->key_id, &Key::id);
  if (key == keys_.end()) {
    return Error{Code::config_invalid,
                 "the secret was sealed with the key " + quoted(parts->key_id) +
                     ", which hub.secret_key does not have; add it behind the first one"};
  }
  const auto nonce = std::string_view(*body).substr(0, nonce_bytes);
  auto secret =
      decrypted(key->bytes.data(), nonce, context, std::string_view(*body).substr(nonce_bytes));
  if (secret) return *std::move(secret);
  return Error{Code::auth_denied,
               "the secret cannot be opened: it was changed, belongs to another subscription, or "
               "the key " +
                   quoted(key->id) + " has another value than when it was sealed"};
}

bool SecretBox::is_sealed_by_first(std::string_view sealed) const {
  const auto parts = parts_of(sealed);
  return parts && parts->key_id == keys_.front().id;
}

}  // namespace sagabox::delivery
