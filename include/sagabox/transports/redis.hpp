#pragma once

#include <sagabox/result.hpp>
#include <sagabox/spi/transport.hpp>
#include <sagabox/transports/tls.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

/// Redis Streams, Redis 5 and newer: one server or a primary with replicas, no cluster.
namespace sagabox::redis {

struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  std::string socket_path{};  ///< a Unix socket, used instead of host and port
  std::string username{};     ///< empty: the server's default user
  std::string password{};     ///< empty: no login
  std::uint32_t database = 0;
  transports::Tls tls{};

  std::uint32_t in_flight_max = 4096;
  Duration connect_max = std::chrono::seconds(5);
  /// How long the server waits for replicas if an address has the setting `wait`; later messages on
  /// this connection wait too.
  Duration replicas_max = std::chrono::seconds(1);

  const Clock* clock = &system_clock();

  /// `redis://user:password@host:6379/0`, `rediss://…` with TLS, `unix:///run/redis.sock`.
  static Result<Options> from_url(std::string_view url);
};

/// Connects when the first message is sent. An address is a stream's key; its settings are `maxlen`
/// (entries kept), `approximate` (`maxlen` may be exceeded slightly, default true) and `wait` (the
/// number of replicas that must confirm).
Result<std::unique_ptr<spi::Transport>> open(Options options);

}  // namespace sagabox::redis
