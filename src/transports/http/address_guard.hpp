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

/// An IPv4 or IPv6 address as numbers. An IPv4 address mapped into IPv6 is treated as IPv4.
class IpAddress {
 public:
  /// Four or sixteen bytes.
  explicit IpAddress(std::span<const std::uint8_t> bytes);
  static std::optional<IpAddress> parse(const std::string& text);
  /// Returns nullopt unless it is an internet address.
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

/// Empty for an address of the public internet, otherwise its kind: "loopback", "private network" …
/// IPv4 inside IPv6 (compatible, NAT64, 6to4, ISATAP) is unwrapped and checked too.
std::string_view not_public(const IpAddress& address) noexcept;

/// Decides whether a connection is allowed, by the address that it would connect to.
class AddressGuard {
 public:
  /// CONFIG.INVALID names an entry that is not an address, a range or a host name.
  static Result<AddressGuard> make(std::span<const std::string> allow);

  struct Question {
    std::string_view host;  ///< as in the URL, lower case
    const IpAddress& address;
    bool encrypted = true;
  };
  /// Empty if allowed. Otherwise the reason, and how to allow it.
  [[nodiscard]] std::string refusal(const Question& question) const;

  [[nodiscard]] bool allows_anything() const noexcept {
    return !ranges_.empty() || !hosts_.empty();
  }
  /// Whether all addresses are allowed, private ones too.
  [[nodiscard]] bool allows_everything() const noexcept;

 private:
  [[nodiscard]] bool allowed(const Question& question) const;

  std::vector<IpRange> ranges_;
  std::vector<std::string> hosts_;
};

}  // namespace sagabox::http
