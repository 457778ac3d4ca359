#pragma once

#include "server/http/listener_options.hpp"
#include "server/http/request_handler.hpp"

#include <sagabox/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sagabox::server {

/// HTTP/1.1, with keep-alive, on threads of its own. A slow, oversized or malformed client can only
/// occupy one connection for a limited time.
class Listener {
 public:
  /// Listens when it returns. CONFIG.INVALID: the address is invalid, a file cannot be read …
  /// `handler` must outlive it.
  static Result<std::unique_ptr<Listener>> start(ListenerOptions options, RequestHandler& handler);
  /// Stops, and waits for handlers without a limit.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] std::size_t connections() const;
  /// Reads certificate and key again, for new connections. On an error the previous ones are kept.
  Status reload_certificate();

  /// Accepts no more connections; requests that have arrived are answered, for at most
  /// `stop_timeout`. Returns false if some were cut off.
  bool stop();
  /// After a stop: false while a handler that did not answer in time still processes its request.
  [[nodiscard]] bool has_ended() const;

 private:
  class Core;
  explicit Listener(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace sagabox::server
