#include "support/certificate.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>

namespace sagabox::testing {

Certificate Certificate::make(const std::filesystem::path& folder, const std::string& name,
                              Key kind) {
  constexpr long day = 24L * 3600;
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      kind == Key::rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> one(X509_new(), X509_free);
  X509_set_version(one.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(one.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(one.get()), -day);
  X509_gmtime_adj(X509_getm_notAfter(one.get()), day);
  X509_set_pubkey(one.get(), key.get());
  auto* const subject = X509_get_subject_name(one.get());
  const auto* const common = reinterpret_cast<const unsigned char*>("sagabox test");
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, common, -1, -1, 0);
  X509_set_issuer_name(one.get(), subject);
  auto* const names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, name.c_str());
  X509_add_ext(one.get(), names, -1);
  X509_EXTENSION_free(names);
  X509_sign(one.get(), key.get(), EVP_sha256());

  Certificate made{folder / "certificate.pem", folder / "key.pem"};
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> certificate_file(
      std::fopen(made.certificate.c_str(), "w"), std::fclose);
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> key_file(
      std::fopen(made.key.c_str(), "w"), std::fclose);
  PEM_write_X509(certificate_file.get(), one.get());
  PEM_write_PrivateKey(key_file.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return made;
}

}  // namespace sagabox::testing
