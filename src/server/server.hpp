#pragma once

#include "server/api/api.hpp"
#include "server/front.hpp"
#include "server/http/listener.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sagabox::server {

struct ServerOptions {
  ApiOptions api{};
  ListenerOptions listener{};
  /// Keys of those who may call; see `sagabox key create`. Without it everybody on this machine may
  /// do everything, and the listener binds to no other address than loopback.
  std::optional<std::string> key_file{};
};

/// What `Server::listen` needs.
struct ListenOptions {
  ListenerOptions listener{};
  std::optional<std::string> key_file{};  ///< as `ServerOptions::key_file`
  Starting starting = [] { return std::vector<wire::TableReadiness>(); };
};

/// The REST API of some tables. What the options point to outlives it.
class Server {
 public:
  /// Serves when it returns. CONFIG.INVALID names what is wrong.
  static Result<std::unique_ptr<Server>> start(ServerOptions options);
  /// Takes the address, and answers that it starts: `/health/live` with 200, `/health/ready` with
  /// what `starting` tells and 503, all else with SERVER.BUSY. TX.INVALID_STATE when the address
  /// cannot be had now, CONFIG.INVALID when it never can.
  static Result<std::unique_ptr<Server>> listen(ListenOptions options);
  /// Once, after `listen`.
  Status serve(ApiOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return listener_->port(); }
  /// "http://127.0.0.1:8700"
  [[nodiscard]] std::string url() const;
  /// Answers what has come, for `stop_timeout` at most. False when some were cut off. Stop it
  /// before the outboxes that it writes to.
  bool stop() { return listener_->stop(); }
  /// After a stop: false while a store still has a request that was not answered in time.
  /// Destroying the server waits for it.
  [[nodiscard]] bool has_ended() const { return listener_->has_ended(); }
  /// Certificate and key are read again, for connections to come. An error leaves the ones before.
  Status reload_certificate() { return listener_->reload_certificate(); }

 private:
  Server(ListenOptions& options, std::unique_ptr<KeyRing> keys);

  Front front_;
  std::unique_ptr<KeyRing> keys_;  ///< the API's, once there is one
  std::unique_ptr<Api> api_;       ///< null: it starts
  std::string host_;               ///< with the scheme
  std::unique_ptr<Listener> listener_;
};

}  // namespace sagabox::server
