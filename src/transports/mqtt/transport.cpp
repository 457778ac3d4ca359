#include "core/masked_url.hpp"
#include "core/text.hpp"
#include "transports/broken_pipes.hpp"
#include "transports/mqtt/link.hpp"
#include "transports/server_url.hpp"
#include "transports/settings.hpp"

#include <mosquitto.h>

namespace sagabox::mqtt {
namespace {

using transports::Courier;

constexpr std::uint16_t port_plain = 1883;
constexpr std::uint16_t port_tls = 8883;
/// Packet ids have 16 bits.
constexpr std::uint32_t in_flight_ceiling = 32'768;
constexpr std::uint16_t receive_max_low = 100;

std::string server_name(const Options& options) {
  return "MQTT server at " + options.host + ":" + std::to_string(options.port);
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

class MqttTransport final : public spi::Transport {
 public:
  explicit MqttTransport(Options options)
      : options_(std::move(options)),
        courier_({.server = server_name(options_),
                  .in_flight_max = options_.in_flight_max,
                  .connect_max = options_.connect_max,
                  .clock = options_.clock},
                 [options = options_](BootTime deadline) -> Courier::Connected {
                   auto client = Client::open(options, deadline);
                   if (!client) return client.error();
                   return std::unique_ptr<transports::Link>(
                       std::make_unique<MqttLink>(std::move(*client), options.clock->boot_now()));
                 }) {}

  [[nodiscard]] spi::TransportTraits traits() const override {
    // A quota may refuse the first message of a key and accept the second a moment later.
    return {.keeps_order = false, .in_flight_max = options_.in_flight_max};
  }

  Result<std::shared_ptr<const spi::Address>> address(std::string_view text,
                                                      const spi::AddressSettings& given) override {
    constexpr std::string_view example = "mqtt:orders/placed";
    const auto topic = transports::after_scheme(text, "mqtt:", example);
    if (!topic) return topic.error();
    const auto wrong = [&](std::string_view what) {
      return Error{Code::config_invalid, "address " + quoted(masked_url(text)) + ": " +
                                             std::string(what) + "; write it as " +
                                             std::string(example)};
    };
    if (topic->starts_with('$')) return wrong("topics with $ are the server's own");
    if (mosquitto_pub_topic_check2(topic->data(), topic->size()) != MOSQ_ERR_SUCCESS) {
      return wrong("+ and # are for subscribers, and a topic has at most 65535 bytes");
    }
    auto address = std::make_shared<TopicAddress>();
    transports::Settings settings(given);
    address->topic = *topic;
    address->retain = settings.flag("retain", false);
    address->require_subscriber = settings.flag("require_subscriber", false);
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

Result<std::vector<std::string>> MqttTransport::findings(BootTime deadline) {
  const auto name = server_name(options_);
  auto asking = options_;
  // With our client id the server would close the connection that is in use.
  asking.client_id.clear();
  const transports::BrokenPipes are_errors;
  auto client = Client::open(asking, deadline);
  if (!client) return Error{client.error().code, name + ": " + client.error().message};
  const auto& limits = (*client)->limits();
  std::vector<std::string> found;
  if (!options_.tls.enabled && !is_loopback(options_.host)) {
    found.push_back(name + ": without TLS; the password and all messages can be read on the way");
  }
  if (limits.packet_bytes_max != 0 &&
      limits.packet_bytes_max < MessageRules::payload_bytes_ceiling) {
    found.push_back(name + ": takes at most " + std::to_string(limits.packet_bytes_max) +
                    " bytes a message; larger ones are rejected");
  }
  if (limits.receive_max < receive_max_low) {
    found.push_back(name + ": takes at most " + std::to_string(limits.receive_max) +
                    " messages before it has answered one (Mosquitto: max_inflight_messages), "
                    "which bounds the speed");
  }
  if (!limits.retains) found.push_back(name + ": retains nothing; routes with retain are rejected");
  (*client)->leave();
  return found;
}

}  // namespace

Result<Options> Options::from_url(std::string_view text) {
  auto url =
      transports::ServerUrl::parse(text, {"mqtt", "mqtts"}, "mqtt://user:password@host:1883");
  if (!url) return url.error();
  if (!url->path.empty()) {
    return Error{Code::config_invalid,
                 "server URL: a path has no meaning here; topics stand in routes, mqtt:topic"};
  }
  Options options;
  options.tls.enabled = url->scheme == "mqtts";
  if (!url->host.empty()) options.host = url->host;
  options.port = url->port != 0 ? url->port : options.tls.enabled ? port_tls : port_plain;
  options.username = url->user;
  options.password = url->password;
  return options;
}

Result<std::unique_ptr<spi::Transport>> open(Options options) {
  const auto wrong = [](std::string what) { return Error{Code::config_invalid, std::move(what)}; };
  if (options.in_flight_max == 0 || options.in_flight_max > in_flight_ceiling) {
    return wrong("in_flight_max: must be from 1 to 32768");
  }
  if (options.host.empty() || options.port == 0) return wrong("MQTT: a host and a port are needed");
  if (options.keep_alive.count() < 5 || options.keep_alive.count() > 65'535) {
    return wrong("keep_alive: must be from 5 to 65535 seconds");
  }
  if (options.username.empty() && !options.password.empty()) {
    return wrong("username: needed where a password is given");
  }
  return std::unique_ptr<spi::Transport>(std::make_unique<MqttTransport>(std::move(options)));
}

}  // namespace sagabox::mqtt
