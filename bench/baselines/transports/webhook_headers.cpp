#include "bench/baselines/transports/webhook_headers.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <ctime>
#include <stdexcept>

namespace sagabox::bench::baselines {
namespace {

constexpr int mac_bytes = 32;
constexpr std::size_t mac_text_bytes = 45;  // base64 of it, and the zero

std::string mac_of(const std::string& text, const std::string& key) {
  std::array<unsigned char, mac_bytes> mac{};
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, text.size(), mac.data(),
           nullptr) == nullptr) {
    throw std::runtime_error("the baseline cannot sign");
  }
  std::array<unsigned char, mac_text_bytes> base64{};
  EVP_EncodeBlock(base64.data(), mac.data(), mac_bytes);
  return reinterpret_cast<const char*>(base64.data());
}

}  // namespace

std::vector<std::string> webhook_headers(const spi::Parcel& parcel, const std::string& key) {
  const auto id = parcel.message->id().str();
  const auto now = std::to_string(std::time(nullptr));
  const auto text = id + "." + now + "." + std::string(parcel.message->payload().view());
  return {"webhook-id: " + id, "webhook-timestamp: " + now,
          "webhook-signature: v1," + mac_of(text, key),
          // As long as the id of a delivery.
          "Hub-Delivery: d0123456789abcdef0123456789abcdef", "Hub-Attempt: 1"};
}

}  // namespace sagabox::bench::baselines
