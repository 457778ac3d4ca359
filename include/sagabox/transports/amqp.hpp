#pragma once

#include <sagabox/result.hpp>
#include <sagabox/spi/transport.hpp>
#include <sagabox/transports/tls.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

/// AMQP 0-9-1 with publisher confirms: RabbitMQ.
namespace sagabox::amqp {

struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 5672;
  std::string virtual_host = "/";
  /// Empty: authentication by the certificate of `tls` (EXTERNAL).
  std::string username = "guest";
  std::string password = "guest";
  transports::Tls tls{};

  std::uint32_t in_flight_max = 1024;
  Duration connect_max = std::chrono::seconds(5);
  /// A server that sends nothing for twice this time is considered down. Whole seconds; 0: no
  /// heartbeat.
  std::chrono::seconds heartbeat{10};

  const Clock* clock = &system_clock();

  /// `amqp://user:password@host:5672/vhost`, `amqps://…` with TLS. A slash in the virtual host is
  /// %2F; without a path it is "/".
  static Result<Options> from_url(std::string_view url);
};

/// Connects when the first message is sent. An address is `amqp:exchange/key`, or `amqp:/queue` for
/// the default exchange; its settings are `mandatory` (a message that no queue receives is
/// rejected; default true) and `persistent` (default true).
Result<std::unique_ptr<spi::Transport>> open(Options options);

}  // namespace sagabox::amqp
