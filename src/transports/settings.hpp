#pragma once

#include <sagabox/spi/transport.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::transports {

/// The part after `scheme` ("redis:") in the name of a place. CONFIG.INVALID, with the example of a
/// correct one, if the scheme differs, nothing follows it, or some characters are not printable.
Result<std::string_view> after_scheme(std::string_view text, std::string_view scheme,
                                      std::string_view example);

/// Reads an address's settings; the first error is kept for `check`.
class Settings {
 public:
  explicit Settings(const spi::AddressSettings& given) : given_(given) {}

  /// Nullopt if it is not given.
  std::optional<std::uint64_t> number(std::string_view name, std::uint64_t min, std::uint64_t max);
  /// "true" or "false".
  bool flag(std::string_view name, bool otherwise);

  /// Call it after all settings were read: those that were not read are unknown.
  [[nodiscard]] Status check() const;

 private:
  const std::string* find(std::string_view name);

  const spi::AddressSettings& given_;
  std::vector<std::string_view> known_;
  std::string problem_;
};

}  // namespace sagabox::transports
