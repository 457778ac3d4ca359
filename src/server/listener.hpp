#pragma once

#include "server/request.hpp"
#include "server/response.hpp"

#include <sagabox/log.hpp>
#include <sagabox/message.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace sagabox::server {

/// PEM files.
struct TlsFiles {
  std::string certificate;  ///< with the chain, the own one first
  std::string key;
};

struct ListenerOptions {
  /// A numeric address, or localhost.
  std::string address = "127.0.0.1";
  std::uint16_t port = 8700;  ///< 0: one that is free
  std::optional<TlsFiles> tls{};

  std::uint32_t io_threads = 1;
  std::uint32_t workers = 4;            ///< requests that wait for a store at the same time
  std::uint32_t worker_queue_max = 64;  ///< that wait for a worker; more are told to come back
  std::uint32_t connections_max = 1024;

  /// A payload of the largest size in base64, and what is said about it.
  std::size_t body_bytes_max = MessageRules::payload_bytes_ceiling / 3 * 4 + 256UL * 1024;
  std::uint32_t header_bytes_max = 16 * 1024;
  Duration header_timeout = std::chrono::seconds(10);  ///< from its first byte; also for TLS
  Duration body_timeout = std::chrono::seconds(30);
  Duration idle_timeout = std::chrono::seconds(60);  ///< between requests
  Duration write_timeout = std::chrono::seconds(30);
  Duration stop_timeout = std::chrono::seconds(10);

  Logger* log = &no_log();  ///< outlives the listener

  /// Names the option that is wrong.
  [[nodiscard]] Status check() const;
};

/// What a listener hands its requests to. Safe from any thread.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  /// Replies once, now or later, from any thread. The request is gone when this returns.
  virtual void begin(const Request& request, const Reply& reply) = 0;
  /// `begin` does not block.
  [[nodiscard]] virtual bool is_brief(const Request& request) const = 0;
};

/// Whether the address can be reached from this machine only; CONFIG.INVALID when it is none.
Result<bool> is_loopback(const std::string& address);

/// HTTP/1.1, with keep-alive, on threads of its own. Clients that are slow, too big or malformed
/// cost a connection for a limited time and nothing else.
class Listener {
 public:
  /// Listens when it returns. CONFIG.INVALID: the address is taken, no file can be read …
  /// `handler` outlives it.
  static Result<std::unique_ptr<Listener>> start(ListenerOptions options, RequestHandler& handler);
  /// Stops.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] std::size_t connections() const;
  /// Accepts nothing more; requests that have come are answered, for `stop_timeout` at most. False
  /// when some were cut off.
  bool stop();

  class Core;  // what its connections know

 private:
  explicit Listener(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace sagabox::server
