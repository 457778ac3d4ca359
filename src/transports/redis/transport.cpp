#include "transports/broken_pipes.hpp"
#include "transports/redis/link.hpp"
#include "transports/server_url.hpp"
#include "transports/settings.hpp"

#include <hiredis/hiredis.h>

#include <charconv>
#include <limits>

namespace sagabox::redis {
namespace {

using transports::Courier;

constexpr std::uint16_t port_default = 6379;
constexpr std::uint32_t in_flight_ceiling = 1'000'000;

std::string server_name(const Options& options) {
  if (!options.socket_path.empty()) return "Redis at " + options.socket_path;
  return "Redis at " + options.host + ":" + std::to_string(options.port);
}

class RedisTransport final : public spi::Transport {
 public:
  explicit RedisTransport(Options options)
      : options_(std::move(options)),
        courier_({.server = server_name(options_),
                  .in_flight_max = options_.in_flight_max,
                  .connect_max = options_.connect_max,
                  .clock = options_.clock},
                 [options = options_](BootTime deadline) -> Courier::Connected {
                   auto connection = Connection::open(options, deadline);
                   if (!connection) return connection.error();
                   return std::unique_ptr<transports::Link>(
                       std::make_unique<RedisLink>(std::move(*connection), options.replicas_max));
                 }) {}

  [[nodiscard]] spi::TransportTraits traits() const override {
    // In a pipeline, the second message of a key is sent before the first is refused for lack of
    // memory.
    return {.keeps_order = false, .in_flight_max = options_.in_flight_max};
  }

  Result<std::shared_ptr<const spi::Address>> address(std::string_view text,
                                                      const spi::AddressSettings& given) override {
    const auto key = transports::after_scheme(text, "redis:", "redis:orders");
    if (!key) return key.error();
    auto address = std::make_shared<StreamAddress>();
    constexpr auto count_max = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    transports::Settings settings(given);
    address->key = *key;
    const auto maxlen = settings.number("maxlen", 1, count_max);
    const auto replicas = settings.number("wait", 0, 100);
    address->maxlen = maxlen.value_or(0);
    address->approximate = settings.flag("approximate", true);
    address->replicas = static_cast<std::uint32_t>(replicas.value_or(0));
    if (auto right = settings.check(); !right) return right.error();
    return std::shared_ptr<const spi::Address>(std::move(address));
  }

  void send(std::span<spi::Parcel> parcels, spi::SendResults& results) override {
    courier_.send(parcels, results);
  }

  Result<std::vector<std::string>> findings(BootTime deadline) override;
  void close(BootTime deadline) override { courier_.close(deadline); }

 private:
  const Options options_;
  Courier courier_;
};

/// The value of one setting; empty if the server does not report it.
std::string setting(Connection& connection, std::string_view name, BootTime deadline,
                    const Clock& clock) {
  auto reply = connection.ask({"CONFIG", "GET", name}, deadline, clock);
  if (!reply || (*reply)->type != REDIS_REPLY_ARRAY || (*reply)->elements != 2) return {};
  const auto* const value = (*reply)->element[1];
  return value->str == nullptr ? std::string() : std::string(value->str, value->len);
}

Result<std::vector<std::string>> RedisTransport::findings(BootTime deadline) {
  const transports::BrokenPipes are_errors;
  auto connection = Connection::open(options_, deadline);
  if (!connection) {
    return Error{connection.error().code,
                 server_name(options_) + ": " + connection.error().message};
  }
  std::vector<std::string> found;
  const auto ask = [&](std::string_view name) {
    return setting(**connection, name, deadline, *options_.clock);
  };
  if (ask("appendonly") == "no") {
    found.push_back(server_name(options_) +
                    ": appendonly is off; messages that it said it has are gone when it stops");
  } else if (const auto sync = ask("appendfsync"); !sync.empty() && sync != "always") {
    found.push_back(server_name(options_) + ": appendfsync is " + sync +
                    "; messages that it said it has may be gone after a loss of power");
  }
  if (const auto policy = ask("maxmemory-policy"); policy.starts_with("allkeys")) {
    found.push_back(server_name(options_) + ": maxmemory-policy is " + policy +
                    "; whole streams are thrown away when memory runs out");
  }
  return found;
}

}  // namespace

Result<Options> Options::from_url(std::string_view text) {
  constexpr std::string_view example = "redis://user:password@host:6379/0";
  auto url = transports::ServerUrl::parse(text, {"redis", "rediss", "unix"}, example);
  if (!url) return url.error();
  Options options;
  options.username = url->user;
  options.password = url->password;
  if (url->scheme == "unix") {
    options.socket_path = "/" + url->path;
    return options;
  }
  if (!url->host.empty()) options.host = url->host;
  options.port = url->port == 0 ? port_default : url->port;
  options.tls.enabled = url->scheme == "rediss";
  if (!url->path.empty()) {
    const auto* const end = url->path.data() + url->path.size();
    const auto [stop, error] = std::from_chars(url->path.data(), end, options.database);
    if (error != std::errc() || stop != end) {
      return Error{Code::config_invalid,
                   "server URL: the database must be a number, as in " + std::string(example)};
    }
  }
  return options;
}

Result<std::unique_ptr<spi::Transport>> open(Options options) {
  if (options.in_flight_max == 0 || options.in_flight_max > in_flight_ceiling) {
    return Error{Code::config_invalid, "in_flight_max: must be from 1 to 1000000"};
  }
  if (options.socket_path.empty() && (options.host.empty() || options.port == 0)) {
    return Error{Code::config_invalid, "Redis: a host and a port, or a socket_path, are needed"};
  }
  return std::unique_ptr<spi::Transport>(std::make_unique<RedisTransport>(std::move(options)));
}

}  // namespace sagabox::redis
