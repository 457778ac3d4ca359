#pragma once

#include <sagabox/spi/transport.hpp>

#include <string>
#include <string_view>

namespace sagabox::kafka {

class KafkaTopic final : public spi::Address {
 public:
  /// `kafka:orders`; no settings.
  static Result<std::shared_ptr<const KafkaTopic>> parse(std::string_view text,
                                                         const spi::AddressSettings& settings);
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  std::string name_;
};

}  // namespace sagabox::kafka
