#include "transports/http/signature.hpp"

#include "core/base64.hpp"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <array>
#include <charconv>
#include <stdexcept>

namespace sagabox::http {
namespace {

constexpr std::string_view symmetric_prefix = "whsec_";
constexpr std::string_view asymmetric_prefix = "whsk_";
constexpr std::size_t symmetric_bytes_min = 24;
constexpr std::size_t symmetric_bytes_max = 64;
constexpr std::size_t seed_bytes = 32;
constexpr std::size_t hmac_bytes = 32;
constexpr std::size_t ed25519_bytes = 64;
constexpr std::size_t digits_max = 20;

template <auto free_function>
struct FreedBy {
  template <class T>
  void operator()(T* what) const noexcept {
    free_function(what);
  }
};
using Mac = std::unique_ptr<EVP_MAC, FreedBy<EVP_MAC_free>>;
using MacContext = std::unique_ptr<EVP_MAC_CTX, FreedBy<EVP_MAC_CTX_free>>;
using Key = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, FreedBy<EVP_MD_CTX_free>>;

/// OpenSSL fails here only if it is out of memory or its installation is broken.
void require(bool fine) {
  if (!fine) throw std::runtime_error("OpenSSL could not sign");
}

const unsigned char* octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// "id.timestamp."
std::string head_of(const Signed& what) {
  std::array<char, digits_max> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), what.timestamp).ptr;
  std::string head;
  head.reserve(what.id.size() + digits_max + 2);
  head.append(what.id).append(1, '.').append(digits.begin(), end).append(1, '.');
  return head;
}

class HmacKey final : public SigningKey {
 public:
  explicit HmacKey(std::string_view key) {
    const Mac mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
    keyed_.reset(EVP_MAC_CTX_new(mac.get()));
    char digest[] = "SHA256";
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0), OSSL_PARAM_END};
    require(EVP_MAC_init(keyed_.get(), octets(key), key.size(), parameters) == 1);
  }

  void sign(const Signed& what, std::string& out) const override {
    const MacContext context(EVP_MAC_CTX_dup(keyed_.get()));
    const auto head = head_of(what);
    std::array<unsigned char, hmac_bytes> mac{};
    std::size_t size = 0;
    require(context != nullptr && EVP_MAC_update(context.get(), octets(head), head.size()) == 1 &&
            EVP_MAC_update(context.get(), octets(what.body), what.body.size()) == 1 &&
            EVP_MAC_final(context.get(), mac.data(), &size, mac.size()) == 1);
    out.append("v1,");
    append_base64({reinterpret_cast<const char*>(mac.data()), size}, out);
  }

 private:
  MacContext keyed_;
};

class Ed25519Key final : public SigningKey {
 public:
  explicit Ed25519Key(std::string_view seed)
      : key_(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, octets(seed), seed.size())) {
    require(key_ != nullptr);
  }

  void sign(const Signed& what, std::string& out) const override {
    // ed25519 reads its input twice, so the input must be contiguous.
    auto whole = head_of(what);
    whole.append(what.body);
    const DigestContext context(EVP_MD_CTX_new());
    std::array<unsigned char, ed25519_bytes> signature{};
    auto size = signature.size();
    require(context != nullptr &&
            EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
            EVP_DigestSign(context.get(), signature.data(), &size, octets(whole), whole.size()) ==
                1);
    out.append("v1a,");
    append_base64({reinterpret_cast<const char*>(signature.data()), size}, out);
  }

 private:
  Key key_;
};

Error wrong_secret(std::string what) {
  return {Code::config_invalid, "secret: " + std::move(what)};
}

}  // namespace

Result<std::unique_ptr<const SigningKey>> SigningKey::parse(std::string_view text) {
  const auto is_symmetric = text.starts_with(symmetric_prefix);
  if (!is_symmetric && !text.starts_with(asymmetric_prefix)) {
    return wrong_secret(
        "does not begin with whsec_ (symmetric) or whsk_ (ed25519), as Standard Webhooks keys do");
  }
  const auto prefix = is_symmetric ? symmetric_prefix : asymmetric_prefix;
  const auto bytes = from_base64(text.substr(prefix.size()));
  if (!bytes) return wrong_secret("what follows " + std::string(prefix) + " is not base64");
  if (is_symmetric) {
    if (bytes->size() < symmetric_bytes_min || bytes->size() > symmetric_bytes_max) {
      return wrong_secret(std::to_string(bytes->size()) + " bytes after whsec_; it takes 24 to 64");
    }
    return std::unique_ptr<const SigningKey>(std::make_unique<HmacKey>(*bytes));
  }
  if (bytes->size() != seed_bytes) {
    return wrong_secret(std::to_string(bytes->size()) +
                        " bytes after whsk_; it takes the 32 bytes of an ed25519 seed");
  }
  return std::unique_ptr<const SigningKey>(std::make_unique<Ed25519Key>(*bytes));
}

std::string signatures(const SigningKeys& keys, const Signed& what) {
  std::string all;
  for (const auto& key : keys) {
    if (!all.empty()) all.push_back(' ');
    key->sign(what, all);
  }
  return all;
}

}  // namespace sagabox::http
