#include "assembly/schemes.hpp"

#include <sagabox/open.hpp>
#include <sagabox/transports/file.hpp>
#ifdef SAGABOX_AMQP
#include <sagabox/transports/amqp.hpp>
#endif
#ifdef SAGABOX_HTTP
#include <sagabox/transports/http.hpp>
#endif
#ifdef SAGABOX_KAFKA
#include <sagabox/transports/kafka.hpp>
#endif
#ifdef SAGABOX_MQTT
#include <sagabox/transports/mqtt.hpp>
#endif
#ifdef SAGABOX_NATS
#include <sagabox/transports/nats.hpp>
#endif
#ifdef SAGABOX_REDIS
#include <sagabox/transports/redis.hpp>
#endif

#include <array>
#include <string_view>
#include <utility>

namespace sagabox {
namespace {

using OpenedTransport = Result<std::unique_ptr<spi::Transport>>;
using TransportScheme = assembly::Scheme<OpenedTransport (*)(const std::string& url)>;

OpenedTransport open_file(const std::string&) { return file::open(); }

#ifdef SAGABOX_HTTP
OpenedTransport open_http(const std::string&) { return http::open({}); }
#else
constexpr auto open_http = nullptr;
#endif

constexpr std::string_view kafka_scheme = "kafka://";
#ifdef SAGABOX_KAFKA
OpenedTransport open_kafka(const std::string& url) {
  kafka::Options options;
  options.brokers = url.substr(kafka_scheme.size());
  return kafka::open(std::move(options));
}
#else
constexpr auto open_kafka = nullptr;
#endif

#ifdef SAGABOX_NATS
OpenedTransport open_nats(const std::string& url) {
  nats::Options options;
  options.servers = {url};
  return nats::open(std::move(options));
}
#else
constexpr auto open_nats = nullptr;
#endif

/// For transports whose options can be read from a URL.
template <class Options>
OpenedTransport open_by_url(const std::string& url, OpenedTransport (*open)(Options)) {
  auto options = Options::from_url(url);
  if (!options.ok()) return options.error();
  return open(std::move(options).value());
}

#ifdef SAGABOX_REDIS
OpenedTransport open_redis(const std::string& url) {
  return open_by_url<redis::Options>(url, redis::open);
}
#else
constexpr auto open_redis = nullptr;
#endif

#ifdef SAGABOX_AMQP
OpenedTransport open_amqp(const std::string& url) {
  return open_by_url<amqp::Options>(url, amqp::open);
}
#else
constexpr auto open_amqp = nullptr;
#endif

#ifdef SAGABOX_MQTT
OpenedTransport open_mqtt(const std::string& url) {
  return open_by_url<mqtt::Options>(url, mqtt::open);
}
#else
constexpr auto open_mqtt = nullptr;
#endif

constexpr std::string_view no_redis = "built without hiredis, or with SAGABOX_REDIS=OFF";
constexpr std::string_view no_amqp = "built without librabbitmq, or with SAGABOX_AMQP=OFF";
constexpr std::string_view no_mqtt = "built without libmosquitto, or with SAGABOX_MQTT=OFF";

constexpr std::array known_transports{
    TransportScheme{"file:", open_file},
    TransportScheme{"http:", open_http, "built without libcurl, or with SAGABOX_HTTP=OFF"},
    TransportScheme{kafka_scheme, open_kafka,
                    "built without librdkafka, or with SAGABOX_KAFKA=OFF"},
    TransportScheme{"nats://", open_nats, "built without libnats, or with SAGABOX_NATS=OFF"},
    TransportScheme{"redis://", open_redis, no_redis},
    TransportScheme{"rediss://", open_redis, no_redis},
    TransportScheme{"amqp://", open_amqp, no_amqp},
    TransportScheme{"amqps://", open_amqp, no_amqp},
    TransportScheme{"mqtt://", open_mqtt, no_mqtt},
    TransportScheme{"mqtts://", open_mqtt, no_mqtt},
};

}  // namespace

Result<std::unique_ptr<spi::Transport>> open_transport(const std::string& url) {
  const auto found = assembly::find<TransportScheme>(known_transports, url, "transport");
  return found.ok() ? (*found)->open(url) : found.error();
}

std::vector<std::string> transport_schemes() {
  return assembly::names<TransportScheme>(known_transports);
}

}  // namespace sagabox
