#include "core/key_hash.hpp"

namespace sagabox {
namespace {

// FNV-1a, like `stable_hash`.
constexpr std::uint64_t basis = 0xcbf29ce484222325;
constexpr std::uint64_t prime = 0x100000001b3;

std::uint64_t mixed(std::uint64_t hash, std::string_view text) noexcept {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  return hash;
}

}  // namespace

std::uint64_t key_hash(std::string_view tenant, std::string_view key) noexcept {
  // The length comes first: it defines where the tenant ends.
  return mixed(mixed((basis ^ tenant.size()) * prime, tenant), key);
}

}  // namespace sagabox
