#pragma once

#include <sagabox/result.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct sockaddr;

namespace sagabox::http {

/// An IPv4 or IPv6 address as numbers. IPv4 mapped into IPv6 is IPv4: it is the same place.
class IpAddress {
 public:
  /// Four or sixteen bytes.
  explicit IpAddress(std::span<const std::uint8_t> bytes);
  static std::optional<IpAddress> parse(const std::string& text);
  /// Nothing unless it is an internet address.
  static std::optional<IpAddress> of(const sockaddr& socket_address, std::size_t size);

  [[nodiscard]] bool is_v4() const noexcept { return is_v4_; }
  [[nodiscard]] std::span<const std::uint8_t> bytes() const noexcept {
    return std::span(bytes_).first(is_v4_ ? 4 : 16);
  }
  [[nodiscard]] std::string text() const;

 private:
  std::array<std::uint8_t, 16> bytes_{};
  bool is_v4_ = false;
};

struct IpRange {
  IpAddress first;
  std::size_t prefix = 0;  ///< bits
  [[nodiscard]] bool contains(const IpAddress& address) const noexcept;
};

/// Empty for an address of the public internet, else what it is: "loopback", "private network" …
/// IPv4 inside IPv6 (compatible, NAT64, 6to4, ISATAP) is unwrapped and looked at too.
std::string_view not_public(const IpAddress& address) noexcept;

/// Decides whether a connection may be made, from the address it would go to.
class AddressGuard {
 public:
  /// CONFIG.INVALID names the entry that is neither an address, a range nor a host name.
  static Result<AddressGuard> make(std::span<const std::string> allow);

  struct Question {
    std::string_view host;  ///< as in the URL, lower case
    const IpAddress& address;
    bool encrypted = true;
  };
  /// Empty: it may. Otherwise why not, and how to allow it.
  [[nodiscard]] std::string refusal(const Question& question) const;

  [[nodiscard]] bool allows_anything() const noexcept {
    return !ranges_.empty() || !hosts_.empty();
  }
  /// Whether the whole internet was allowed, private parts and all.
  [[nodiscard]] bool allows_everything() const noexcept;

 private:
  [[nodiscard]] bool allowed(const Question& question) const;

  std::vector<IpRange> ranges_;
  std::vector<std::string> hosts_;
};

}  // namespace sagabox::http
