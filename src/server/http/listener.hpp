#pragma once

#include "server/http/listener_options.hpp"
#include "server/http/request_handler.hpp"

#include <sagabox/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sagabox::server {

/// HTTP/1.1, with keep-alive, on threads of its own. Clients that are slow, too big or malformed
/// cost a connection for a limited time and nothing else.
class Listener {
 public:
  /// Listens when it returns. CONFIG.INVALID: the address is taken, no file can be read …
  /// `handler` outlives it.
  static Result<std::unique_ptr<Listener>> start(ListenerOptions options, RequestHandler& handler);
  /// Stops, and waits for handlers however long they take.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] std::size_t connections() const;
  /// Reads certificate and key again, for connections to come. An error leaves the ones before.
  Status reload_certificate();

  /// Accepts nothing more; requests that have come are answered, for `stop_timeout` at most. False
  /// when some were cut off.
  bool stop();
  /// After a stop: false while a handler that did not answer in time still has its request.
  [[nodiscard]] bool has_ended() const;

 private:
  class Core;
  explicit Listener(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace sagabox::server
