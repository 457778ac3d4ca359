#pragma once

#include <sagabox/result.hpp>
#include <sagabox/spi/transport.hpp>
#include <sagabox/transports/tls.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

/// MQTT 5, QoS 1.
namespace sagabox::mqtt {

struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 1883;
  std::string username{};  ///< empty: no login
  std::string password{};
  std::string client_id{};  ///< empty: the server assigns one
  transports::Tls tls{};

  /// The server's own limit (Receive Maximum) is also respected; messages above it wait here.
  std::uint32_t in_flight_max = 1024;
  Duration connect_max = std::chrono::seconds(5);
  /// A server that sends nothing for longer gets a ping. 5 s or more.
  std::chrono::seconds keep_alive{15};

  const Clock* clock = &system_clock();

  /// `mqtt://user:password@host:1883`, `mqtts://…` with TLS.
  static Result<Options> from_url(std::string_view url);
};

/// Connects when the first message is sent. An address is `mqtt:topic`; its settings are `retain`
/// (the server keeps the last message for later subscribers; default false) and
/// `require_subscriber` (a message without a subscriber is rejected; default false).
Result<std::unique_ptr<spi::Transport>> open(Options options);

}  // namespace sagabox::mqtt
