#include "core/masked_url.hpp"
#include "core/text.hpp"
#include "transports/amqp/link.hpp"
#include "transports/broken_pipes.hpp"
#include "transports/server_url.hpp"
#include "transports/settings.hpp"

#include <limits>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace sagabox::amqp {
namespace {

using transports::Courier;

constexpr std::uint16_t port_plain = 5672;
constexpr std::uint16_t port_tls = 5671;
constexpr std::uint32_t in_flight_ceiling = 1'000'000;
constexpr std::size_t name_bytes_max = 255;

std::string server_name(const Options& options) {
  return "RabbitMQ at " + options.host + ":" + std::to_string(options.port);
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

class AmqpTransport final : public spi::Transport {
 public:
  explicit AmqpTransport(Options options)
      : options_(std::move(options)),
        courier_({.server = server_name(options_),
                  .in_flight_max = options_.in_flight_max,
                  .connect_max = options_.connect_max,
                  .clock = options_.clock},
                 [options = options_](BootTime deadline) -> Courier::Connected {
                   auto connection = Connection::open(options, deadline);
                   if (!connection) return connection.error();
                   return std::unique_ptr<transports::Link>(std::make_unique<AmqpLink>(
                       std::move(*connection), options.clock->boot_now()));
                 }) {}

  [[nodiscard]] spi::TransportTraits traits() const override {
    // A full queue may refuse the first message of a key and accept the second a moment later.
    return {.keeps_order = false, .in_flight_max = options_.in_flight_max};
  }

  Result<std::shared_ptr<const spi::Address>> address(std::string_view text,
                                                      const spi::AddressSettings& given) override {
    constexpr std::string_view example = "amqp:exchange/key, or amqp:/queue";
    const auto place = transports::after_scheme(text, "amqp:", example);
    if (!place) return place.error();
    const auto wrong = [&](std::string_view what) {
      return Error{Code::config_invalid, "address " + quoted(masked_url(text)) + ": " +
                                             std::string(what) + "; write it as " +
                                             std::string(example)};
    };
    const auto slash = place->find('/');
    if (slash == std::string_view::npos) return wrong("no / between exchange and key");
    auto address = std::make_shared<RoutingAddress>();
    address->exchange = place->substr(0, slash);
    address->key = place->substr(slash + 1);
    if (address->exchange.size() > name_bytes_max || address->key.size() > name_bytes_max) {
      return wrong("exchange and key have at most 255 bytes");
    }
    if (address->exchange.empty() && address->key.empty()) {
      return wrong("the default exchange needs the name of a queue");
    }
    transports::Settings settings(given);
    address->mandatory = settings.flag("mandatory", true);
    address->persistent = settings.flag("persistent", true);
    if (auto right = settings.check(); !right) return right.error();
    {
      const std::scoped_lock lock(mutex_);
      const bool is_queue = address->exchange.empty();
      places_.insert_or_assign({address->exchange, is_queue ? address->key : std::string()},
                               *address);
    }
    return std::shared_ptr<const spi::Address>(std::move(address));
  }

  void send(std::span<spi::Parcel> parcels, spi::SendResults& results) override {
    courier_.send(parcels, results);
  }

  Result<std::vector<std::string>> findings(BootTime deadline) override {
    const transports::BrokenPipes are_errors;
    auto connection = Connection::open(options_, deadline);
    if (!connection) {
      return Error{connection.error().code,
                   server_name(options_) + ": " + connection.error().message};
    }
    std::vector<std::string> found;
    if (!options_.tls.enabled && !is_loopback(options_.host)) {
      found.push_back(server_name(options_) +
                      ": without TLS; the password and all messages can be read on the way");
    }
    if (options_.heartbeat.count() == 0) {
      found.push_back(server_name(options_) +
                      ": heartbeats are off; a server that is gone is noticed at a deadline only");
    }
    if (auto looked = look_for_places(**connection, deadline, found); !looked) {
      return Error{looked.error().code, server_name(options_) + ": " + looked.error().message};
    }
    return found;
  }

  void close(BootTime deadline) override { courier_.close(deadline); }

 private:
  /// Reports what routes name but the server does not have.
  Status look_for_places(Connection& connection, BootTime deadline,
                         std::vector<std::string>& found) {
    const std::scoped_lock lock(mutex_);
    amqp_channel_t channel = 0;
    for (const auto& [names, address] : places_) {
      if (channel == connection.channel_max()) return {};  // no more channels to ask on
      const auto said = connection.look_for(address, ++channel, deadline, *options_.clock);
      if (!said) return said.error();
      if (said->empty()) continue;
      found.push_back((names.first.empty() ? "queue " + quoted(names.second)
                                           : "exchange " + quoted(names.first)) +
                      ": " + *said + "; declare it, or change the route");
    }
    return {};
  }

  const Options options_;
  std::mutex mutex_;
  /// The exchanges, and queues of the default exchange, that routes have named.
  std::map<std::pair<std::string, std::string>, RoutingAddress> places_;
  Courier courier_;
};

}  // namespace

Result<Options> Options::from_url(std::string_view text) {
  auto url =
      transports::ServerUrl::parse(text, {"amqp", "amqps"}, "amqp://user:password@host:5672/vhost");
  if (!url) return url.error();
  Options options;
  options.tls.enabled = url->scheme == "amqps";
  if (!url->host.empty()) options.host = url->host;
  options.port = url->port != 0 ? url->port : options.tls.enabled ? port_tls : port_plain;
  if (url->has_path && !url->path.empty()) options.virtual_host = url->path;
  if (!url->user.empty()) {
    options.username = url->user;
    options.password = url->password;
  }
  return options;
}

Result<std::unique_ptr<spi::Transport>> open(Options options) {
  const auto wrong = [](std::string what) { return Error{Code::config_invalid, std::move(what)}; };
  if (options.in_flight_max == 0 || options.in_flight_max > in_flight_ceiling) {
    return wrong("in_flight_max: must be from 1 to 1000000");
  }
  if (options.host.empty() || options.port == 0) return wrong("AMQP: a host and a port are needed");
  if (options.virtual_host.size() > name_bytes_max) {
    return wrong("virtual_host: has at most 255 bytes");
  }
  if (options.username.size() + options.password.size() > 4096) {
    return wrong("username and password: have at most 4096 bytes");
  }
  if (options.username.empty() && options.tls.certificate_file.empty()) {
    return wrong("username: needed where no certificate of ours (tls.certificate_file) is given");
  }
  if (options.heartbeat.count() < 0 ||
      options.heartbeat.count() > std::numeric_limits<std::uint16_t>::max()) {
    return wrong("heartbeat: must be from 0 to 65535 seconds");
  }
  return std::unique_ptr<spi::Transport>(std::make_unique<AmqpTransport>(std::move(options)));
}

}  // namespace sagabox::amqp
