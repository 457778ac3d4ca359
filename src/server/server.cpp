#include "server/server.hpp"

#include "core/text.hpp"

#include <utility>

namespace sagabox::server {
namespace {

/// Without keys every caller that can reach it may do everything.
Status check_reach(const ListenOptions& options) {
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

Server::Server(ListenOptions& options, std::unique_ptr<KeyRing> keys)
    : front_(std::move(options.starting)),
      keys_(std::move(keys)),
      host_(listened_host(options.listener)) {}

// The listener must end before the handler of its requests.
Server::~Server() { listener_.reset(); }

std::string Server::url() const { return host_ + ":" + std::to_string(port()); }

Result<std::unique_ptr<Server>> Server::listen(ListenOptions options) {
  if (auto checked = check_reach(options); !checked.ok()) return checked.error();
  std::unique_ptr<KeyRing> keys;
  if (options.key_file) {
    auto opened = KeyRing::open(KeyFile(*options.key_file),
                                {.clock = options.listener.clock, .log = options.listener.log});
    if (!opened.ok()) return opened.error();
    keys = std::move(*opened);
  }
  auto server = std::unique_ptr<Server>(new Server(options, std::move(keys)));
  auto listener = Listener::start(std::move(options.listener), server->front_);
  if (!listener.ok()) return listener.error();
  server->listener_ = std::move(*listener);
  return server;
}

Status Server::serve(ApiOptions options) {
  if (auto checked = options.check(); !checked.ok()) return checked;
  api_ = std::make_unique<Api>(std::move(options), std::move(keys_));
  front_.open(*api_);
  return {};
}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options) {
  if (auto checked = options.api.check(); !checked.ok()) return checked.error();
  auto server = listen({.listener = std::move(options.listener), .key_file = options.key_file});
  if (!server.ok()) return server;
  if (auto served = (*server)->serve(std::move(options.api)); !served.ok()) return served.error();
  return server;
}

}  // namespace sagabox::server
