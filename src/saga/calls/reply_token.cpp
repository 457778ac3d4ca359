#include "saga/calls/reply_token.hpp"

#include "core/base64.hpp"

#include <sagabox/payload.hpp>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace sagabox::saga {
namespace {

constexpr char claim_end = '\n';
constexpr std::size_t claim_fields = 7;
constexpr std::size_t token_bytes_max = 1024;

Error denied() {
  return {Code::auth_denied,
          "this is not a reply token of ours; pass on the one that came with "
          "the call, as it was"};
}

/// Base 64 in the alphabet of URLs, without padding.
std::string to_url_form(std::string_view bytes) {
  std::string text;
  append_base64(bytes, text);
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  text.erase(std::ranges::find(text, '='), text.end());
  return text;
}

std::optional<std::string> from_url_form(std::string_view text) {
  std::string padded(text);
  std::ranges::replace(padded, '-', '+');
  std::ranges::replace(padded, '_', '/');
  padded.append((4 - padded.size() % 4) % 4, '=');
  return from_base64(padded);
}

std::vector<std::string> fields_of(std::string_view claim) {
  std::vector<std::string> fields;
  while (true) {
    const auto end = claim.find(claim_end);
    fields.emplace_back(claim.substr(0, end));
    if (end == std::string_view::npos) return fields;
    claim.remove_prefix(end + 1);
  }
}

std::int64_t whole_seconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

/// Takes the same time for every `mac` of the right length.
bool is_mac_of(std::string_view secret, std::string_view body, std::string_view mac) {
  const auto right = hmac_sha256_hex(secret, body);
  return mac.size() == right.size() && CRYPTO_memcmp(mac.data(), right.data(), right.size()) == 0;
}

template <class Number>
bool read_whole(const std::string& text, Number& number) {
  const auto* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc{} && read.ptr == end;
}

}  // namespace

std::string hmac_sha256_hex(std::string_view secret, std::string_view text) {
  Digest digest{};
  unsigned int length = digest.size();
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &length);
  return hex(digest);
}

std::string reply_token(const ReplyClaim& claim, std::string_view secret) {
  std::string text = claim.saga.str();
  for (const auto& field :
       {claim.definition, claim.tenant, claim.step,
        std::string(barrier_direction_name(claim.direction)), std::to_string(claim.round),
        std::to_string(whole_seconds(claim.expires_at))}) {
    text += claim_end;
    text += field;
  }
  const auto body = to_url_form(text);
  return body + "." + hmac_sha256_hex(secret, body);
}

Result<ReplyClaim> read_reply_token(std::string_view token, const ReplySecrets& secrets,
                                    WallTime now) {
  const auto dot = token.find('.');
  if (secrets.newest.empty() || dot == std::string_view::npos || token.size() > token_bytes_max) {
    return denied();
  }
  const auto body = token.substr(0, dot);
  const auto mac = token.substr(dot + 1);
  const bool is_before = !secrets.before.empty() && is_mac_of(secrets.before, body, mac);
  if (!is_mac_of(secrets.newest, body, mac) && !is_before) return denied();
  const auto text = from_url_form(body);
  if (!text) return denied();
  const auto fields = fields_of(*text);
  if (fields.size() != claim_fields) return denied();
  auto saga = SagaId::parse(fields[0]);
  if (!saga.ok()) return denied();
  ReplyClaim claim{.saga = *saga, .definition = fields[1], .tenant = fields[2], .step = fields[3]};
  claim.direction =
      fields[4] == "action" ? BarrierDirection::action : BarrierDirection::compensation;
  std::int64_t expires = 0;
  if (!read_whole(fields[5], claim.round) || !read_whole(fields[6], expires)) return denied();
  claim.expires_at = WallTime(std::chrono::seconds(expires));
  return now < claim.expires_at ? Result<ReplyClaim>(std::move(claim)) : denied();
}

}  // namespace sagabox::saga
