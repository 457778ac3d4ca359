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
  /// The API keys of callers; see `sagabox key create`. Without it every caller on this machine may
  /// do everything, and the listener only binds to loopback.
  std::optional<std::string> key_file{};
};

/// The options of `Server::listen`.
struct ListenOptions {
  ListenerOptions listener{};
  std::optional<std::string> key_file{};  ///< see `ServerOptions::key_file`
  Starting starting = [] { return std::vector<wire::TableReadiness>(); };
};

/// The REST API of some tables. The objects that the options point to must outlive it.
class Server {
 public:
  /// Serves when it returns. CONFIG.INVALID names the wrong option.
  static Result<std::unique_ptr<Server>> start(ServerOptions options);
  /// Binds the address, and answers that the daemon is starting: `/health/live` with 200,
  /// `/health/ready` with the result of `starting` and 503, all else with SERVER.BUSY.
  /// TX.INVALID_STATE if the address cannot be bound now, CONFIG.INVALID if it never can.
  static Result<std::unique_ptr<Server>> listen(ListenOptions options);
  /// Call it once, after `listen`.
  Status serve(ApiOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return listener_->port(); }
  /// "http://127.0.0.1:8700"
  [[nodiscard]] std::string url() const;
  /// Answers requests that have arrived, for at most `stop_timeout`. Returns false if some were cut
  /// off. Stop it before the outboxes that it writes to.
  bool stop() { return listener_->stop(); }
  /// After a stop: false while a store still processes a request that was not answered in time.
  /// Destroying the server waits for it.
  [[nodiscard]] bool has_ended() const { return listener_->has_ended(); }
  /// Reads certificate and key again, for new connections. On an error the previous ones are kept.
  Status reload_certificate() { return listener_->reload_certificate(); }

 private:
  Server(ListenOptions& options, std::unique_ptr<KeyRing> keys);

  Front front_;
  std::unique_ptr<KeyRing> keys_;  ///< those of the API, once it exists
  std::unique_ptr<Api> api_;       ///< null while starting
  std::string host_;               ///< including the scheme
  std::unique_ptr<Listener> listener_;
};

}  // namespace sagabox::server
