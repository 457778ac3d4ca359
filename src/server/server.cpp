#include "server/server.hpp"

#include "core/text.hpp"

#include <utility>

namespace sagabox::server {
namespace {

/// Without keys everybody who reaches it may do everything.
Status check_reach(const ServerOptions& options) {
  const auto loopback = is_loopback(options.listener.address);
  if (!loopback.ok()) return loopback.error();
  if (*loopback || options.key_file) return {};
  return Error{Code::config_invalid,
               "address " + quoted(options.listener.address) +
                   " can be reached by others, and there are no keys; give a key file (sagabox key "
                   "create makes one), or listen on 127.0.0.1"};
}

std::string listened_host(const ListenerOptions& options) {
  const bool six = options.address.find(':') != std::string::npos;
  return (options.tls ? "https://" : "http://") +
         (six ? "[" + options.address + "]" : options.address);
}

}  // namespace

Server::Server(std::unique_ptr<Api> api, std::string host)
    : api_(std::move(api)), host_(std::move(host)) {}

// The listener ends before what it hands its requests to.
Server::~Server() { listener_.reset(); }

std::string Server::url() const { return host_ + ":" + std::to_string(port()); }

Result<std::unique_ptr<Server>> Server::start(ServerOptions options) {
  if (auto checked = options.api.check(); !checked.ok()) return checked.error();
  if (auto checked = check_reach(options); !checked.ok()) return checked.error();
  std::unique_ptr<KeyRing> keys;
  if (options.key_file) {
    auto opened = KeyRing::open(KeyFile(*options.key_file),
                                {.clock = options.api.clock, .log = options.api.log});
    if (!opened.ok()) return opened.error();
    keys = std::move(*opened);
  }
  auto server = std::unique_ptr<Server>(
      new Server(std::make_unique<Api>(std::move(options.api), std::move(keys)),
                 listened_host(options.listener)));
  auto listener = Listener::start(std::move(options.listener), *server->api_);
  if (!listener.ok()) return listener.error();
  server->listener_ = std::move(*listener);
  return server;
}

}  // namespace sagabox::server
