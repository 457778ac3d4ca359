#include "transports/http/address_guard.hpp"

#include "core/masked_url.hpp"
#include "core/text.hpp"
#include "transports/http/header_rules.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace sagabox::http {
namespace {

constexpr std::size_t v4_bytes = 4;
constexpr std::size_t v6_bytes = 16;
constexpr std::array<std::uint8_t, 12> mapped_prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

struct NotPublic {
  std::array<std::uint8_t, v6_bytes> first;
  std::size_t prefix;
  std::string_view what;
};

// Special-purpose ranges of IANA, and multicast.
constexpr NotPublic v4_ranges[] = {
    {{0, 0, 0, 0}, 8, "this network"},
    {{10, 0, 0, 0}, 8, "private network"},
    {{100, 64, 0, 0}, 10, "carrier network"},
    {{127, 0, 0, 0}, 8, "loopback"},
    {{169, 254, 0, 0}, 16, "link-local"},
    {{172, 16, 0, 0}, 12, "private network"},
    {{192, 0, 0, 0}, 24, "protocol assignments"},
    {{192, 0, 2, 0}, 24, "documentation"},
    {{192, 88, 99, 0}, 24, "6to4 relay"},
    {{192, 168, 0, 0}, 16, "private network"},
    {{198, 18, 0, 0}, 15, "benchmarks"},
    {{198, 51, 100, 0}, 24, "documentation"},
    {{203, 0, 113, 0}, 24, "documentation"},
    {{224, 0, 0, 0}, 4, "multicast"},
    {{240, 0, 0, 0}, 4, "reserved"},
};

constexpr NotPublic v6_ranges[] = {
    {{}, 128, "unspecified"},
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, "loopback"},
    {{0xfc}, 7, "private network"},
    {{0xfe, 0x80}, 10, "link-local"},
    {{0xfe, 0xc0}, 10, "site-local"},
    {{0xff}, 8, "multicast"},
    {{0x20, 0x01, 0x00, 0x00}, 32, "Teredo"},
    {{0x20, 0x01, 0x00}, 23, "protocol assignments"},
    {{0x20, 0x01, 0x0d, 0xb8}, 32, "documentation"},
    {{0x3f, 0xff, 0x00}, 20, "documentation"},
};

struct Wrapping {
  std::array<std::uint8_t, v6_bytes> first;
  std::size_t prefix;
  std::size_t v4_at;  ///< byte at which the IPv4 address begins
};

constexpr Wrapping wrappings[] = {
    {{}, 96, 12},                        // IPv4-compatible
    {{0x00, 0x64, 0xff, 0x9b}, 96, 12},  // NAT64
    {{0x20, 0x02}, 16, 2},               // 6to4
};
constexpr NotPublic global_unicast = {{0x20}, 3, ""};

bool starts_with(std::span<const std::uint8_t> bytes, std::span<const std::uint8_t> first,
                 std::size_t prefix) noexcept {
  const auto whole = prefix / 8;
  if (!std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(whole),
                  first.begin())) {
    return false;
  }
  if (prefix % 8 == 0) return true;
  const auto shift = 8 - prefix % 8;
  return bytes[whole] >> shift == first[whole] >> shift;
}

std::string_view listed(std::span<const NotPublic> ranges,
                        std::span<const std::uint8_t> bytes) noexcept {
  const auto* const found = std::find_if(
      ranges.data(), ranges.data() + ranges.size(),
      [&](const NotPublic& range) { return starts_with(bytes, range.first, range.prefix); });
  return found == ranges.data() + ranges.size() ? std::string_view{} : found->what;
}

/// Whether the interface identifier is that of ISATAP: 0000:5efe or 0200:5efe, then an IPv4
/// address.
bool is_isatap(std::span<const std::uint8_t> bytes) noexcept {
  return (bytes[8] & 0xfdU) == 0 && bytes[9] == 0 && bytes[10] == 0x5e && bytes[11] == 0xfe;
}

std::string_view not_public_v6(std::span<const std::uint8_t> bytes) noexcept {
  if (const auto what = listed(v6_ranges, bytes); !what.empty()) return what;
  if (is_isatap(bytes)) {
    if (const auto what = listed(v4_ranges, bytes.subspan(12)); !what.empty()) return what;
  }
  for (const auto& wrapping : wrappings) {
    if (starts_with(bytes, wrapping.first, wrapping.prefix)) {
      return listed(v4_ranges, bytes.subspan(wrapping.v4_at, v4_bytes));
    }
  }
  return starts_with(bytes, global_unicast.first, global_unicast.prefix) ? "" : "reserved";
}

bool is_host_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-' ||
           letter == '.' || letter == '_';
  }) && std::any_of(text.begin(), text.end(), [](char letter) {
    return letter >= 'a' && letter <= 'z';
  });
}

Error wrong_entry(std::string_view entry, std::string_view what) {
  return {Code::config_invalid, "allow: " + quoted(masked_url(entry)) + " " + std::string(what)};
}

/// The configuration that would allow it.
std::string cure(const AddressGuard::Question& question) {
  return R"(; in YAML: transports: { http: { allow: [")" + question.address.text() + R"("] } })";
}

Result<IpRange> range_of(const IpAddress& address, std::string_view entry,
                         std::string_view prefix_text) {
  const auto bits = address.bytes().size() * 8;
  std::size_t prefix = bits;
  if (!prefix_text.empty()) {
    const auto* const end = prefix_text.data() + prefix_text.size();
    const auto read = std::from_chars(prefix_text.data(), end, prefix);
    if (read.ec != std::errc{} || read.ptr != end || prefix > bits) {
      return wrong_entry(entry, "does not end in /0 to /" + std::to_string(bits));
    }
  }
  for (auto bit = prefix; bit < bits; ++bit) {
    if ((address.bytes()[bit / 8] >> (7 - bit % 8) & 1U) != 0) {
      return wrong_entry(entry,
                         "has bits set behind its prefix; write the first address of the range");
    }
  }
  return IpRange{address, prefix};
}

}  // namespace

IpAddress::IpAddress(std::span<const std::uint8_t> bytes) {
  const auto is_mapped = bytes.size() == v6_bytes &&
                         std::equal(mapped_prefix.begin(), mapped_prefix.end(), bytes.begin());
  if (is_mapped) bytes = bytes.subspan(mapped_prefix.size());
  is_v4_ = bytes.size() == v4_bytes;
  std::copy(bytes.begin(), bytes.end(), bytes_.begin());
}

std::optional<IpAddress> IpAddress::parse(const std::string& text) {
  std::array<std::uint8_t, v6_bytes> bytes{};
  if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) {
    return IpAddress(std::span(bytes).first(v4_bytes));
  }
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return IpAddress(bytes);
  return std::nullopt;
}

std::optional<IpAddress> IpAddress::of(const sockaddr& socket_address, std::size_t size) {
  std::array<std::uint8_t, v6_bytes> bytes{};
  if (socket_address.sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    sockaddr_in v4{};
    std::memcpy(&v4, &socket_address, sizeof v4);
    std::memcpy(bytes.data(), &v4.sin_addr, v4_bytes);
    return IpAddress(std::span(bytes).first(v4_bytes));
  }
  if (socket_address.sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &socket_address, sizeof v6);
    std::memcpy(bytes.data(), &v6.sin6_addr, v6_bytes);
    return IpAddress(bytes);
  }
  return std::nullopt;
}

std::string IpAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(is_v4_ ? AF_INET : AF_INET6, bytes_.data(), text.data(), text.size());
  return text.data();
}

bool IpRange::contains(const IpAddress& address) const noexcept {
  return address.is_v4() == first.is_v4() && starts_with(address.bytes(), first.bytes(), prefix);
}

std::string_view not_public(const IpAddress& address) noexcept {
  return address.is_v4() ? listed(v4_ranges, address.bytes()) : not_public_v6(address.bytes());
}

Result<AddressGuard> AddressGuard::make(std::span<const std::string> allow) {
  AddressGuard guard;
  for (const auto& entry : allow) {
    const auto slash = entry.find('/');
    const auto address = IpAddress::parse(entry.substr(0, slash));
    if (address) {
      const auto is_range = slash != std::string::npos;
      const auto prefix = is_range ? std::string_view(entry).substr(slash + 1) : "";
      if (is_range && prefix.empty()) return wrong_entry(entry, "has no number behind its /");
      auto range = range_of(*address, entry, prefix);
      if (!range) return range.error();
      guard.ranges_.push_back(*range);
    } else if (auto host = lower_case(entry); is_host_name(host)) {
      guard.hosts_.push_back(std::move(host));
    } else {
      return wrong_entry(
          entry,
          "is neither an address (10.1.2.3), a range (10.1.0.0/16, fd00::/8) nor the "
          "name of a host (hooks.internal)");
    }
  }
  return guard;
}

bool AddressGuard::allowed(const Question& question) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&](const IpRange& range) { return range.contains(question.address); }) ||
         std::find(hosts_.begin(), hosts_.end(), question.host) != hosts_.end();
}

bool AddressGuard::allows_everything() const noexcept {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [](const IpRange& range) { return range.prefix == 0; });
}

std::string AddressGuard::refusal(const Question& question) const {
  if (allowed(question)) return {};
  const auto where = quoted(question.host) + " is at " + question.address.text();
  const auto what = not_public(question.address);
  if (!what.empty()) {
    return where + " (" + std::string(what) +
           "), where nothing is sent unless `allow` names the host, the address or its range" +
           cure(question);
  }
  if (question.encrypted) return {};
  return where + ", which plain http:// may reach only if `allow` names it; better use https://" +
         cure(question);
}

}  // namespace sagabox::http
