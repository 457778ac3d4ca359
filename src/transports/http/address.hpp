#pragma once

#include "transports/http/address_guard.hpp"
#include "transports/http/signature.hpp"
#include "transports/http/turns.hpp"

#include <sagabox/message.hpp>
#include <sagabox/spi/transport.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sagabox::http {

enum class Mode : std::uint8_t { binary, structured };

/// A URL and the settings of its route.
struct HttpAddress final : spi::Address {
  std::string url;
  std::string host;                    ///< lower case, in the URL too
  std::string endpoint_name;           ///< scheme, host and port
  std::shared_ptr<Endpoint> endpoint;  ///< shared by all addresses of that name
  bool encrypted = true;
  Mode mode = Mode::binary;
  std::string method = "POST";
  SigningKeys keys;
  std::uint32_t concurrency = 0;
  [[nodiscard]] std::optional<std::uint32_t> at_once() const override { return concurrency; }
  std::optional<Duration> timeout;
  Headers headers;
};

/// Settings shared by the addresses of a transport.
struct AddressRules {
  const AddressGuard& guard;
  std::uint32_t concurrency_default = 0;
  std::uint32_t concurrency_max = 0;
};

/// Parses everything but the endpoint. CONFIG.INVALID says what is wrong and what would be right;
/// secrets are not quoted.
Result<std::shared_ptr<HttpAddress>> parse_address(std::string_view text,
                                                   const spi::AddressSettings& settings,
                                                   const AddressRules& rules);

}  // namespace sagabox::http
