#pragma once

#include <sagabox/spi/transport.hpp>

#include <string>
#include <string_view>

namespace sagabox::nats {

/// A subject to publish to.
class Subject final : public spi::Address {
 public:
  /// `nats:billing.issued`; the setting `stream` names the only stream that
  /// may take it.
  static Result<std::shared_ptr<const Subject>> parse(std::string_view text,
                                                      const spi::AddressSettings& settings);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const std::string& stream() const noexcept { return stream_; }

 private:
  std::string text_;
  std::string stream_;
};

}  // namespace sagabox::nats
