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

using Opened = Result<std::unique_ptr<spi::Transport>>;
using Scheme = assembly::Scheme<Opened (*)(const std::string& url)>;

Opened open_file(const std::string&) { return file::open(); }

#ifdef SAGABOX_HTTP
Opened open_http(const std::string&) { return http::open({}); }
#else
constexpr auto open_http = nullptr;
#endif

constexpr std::string_view kafka_scheme = "kafka://";
#ifdef SAGABOX_KAFKA
Opened open_kafka(const std::string& url) {
  kafka::Options options;
  options.brokers = url.substr(kafka_scheme.size());
  return kafka::open(std::move(options));
}
#else
constexpr auto open_kafka = nullptr;
#endif

#ifdef SAGABOX_NATS
Opened open_nats(const std::string& url) {
  nats::Options options;
  options.servers = {url};
  return nats::open(std::move(options));
}
#else
constexpr auto open_nats = nullptr;
#endif

/// For those whose options can be read from a URL.
template <class Options>
Opened open_by_url(const std::string& url, Opened (*open)(Options)) {
  auto options = Options::from_url(url);
  if (!options.ok()) return options.error();
  return open(std::move(options).value());
}

#ifdef SAGABOX_REDIS
Opened open_redis(const std::string& url) { return open_by_url<redis::Options>(url, redis::open); }
#else
constexpr auto open_redis = nullptr;
#endif

#ifdef SAGABOX_AMQP
Opened open_amqp(const std::string& url) { return open_by_url<amqp::Options>(url, amqp::open); }
#else
constexpr auto open_amqp = nullptr;
#endif

#ifdef SAGABOX_MQTT
Opened open_mqtt(const std::string& url) { return open_by_url<mqtt::Options>(url, mqtt::open); }
#else
constexpr auto open_mqtt = nullptr;
#endif

constexpr std::string_view no_redis = "built without hiredis, or with SAGABOX_REDIS=OFF";
constexpr std::string_view no_amqp = "built without librabbitmq, or with SAGABOX_AMQP=OFF";
constexpr std::string_view no_mqtt = "built without libmosquitto, or with SAGABOX_MQTT=OFF";

constexpr std::array schemes{
    Scheme{"file:", open_file},
    Scheme{"http:", open_http, "built without libcurl, or with SAGABOX_HTTP=OFF"},
    Scheme{kafka_scheme, open_kafka, "built without librdkafka, or with SAGABOX_KAFKA=OFF"},
    Scheme{"nats://", open_nats, "built without libnats, or with SAGABOX_NATS=OFF"},
    Scheme{"redis://", open_redis, no_redis},
    Scheme{"rediss://", open_redis, no_redis},
    Scheme{"amqp://", open_amqp, no_amqp},
    Scheme{"amqps://", open_amqp, no_amqp},
    Scheme{"mqtt://", open_mqtt, no_mqtt},
    Scheme{"mqtts://", open_mqtt, no_mqtt},
};

}  // namespace

Result<std::unique_ptr<spi::Transport>> open_transport(const std::string& url) {
  const auto found = assembly::find<Scheme>(schemes, url, "transport");
  return found.ok() ? (*found)->open(url) : found.error();
}

std::vector<std::string> transport_schemes() { return assembly::names<Scheme>(schemes); }

}  // namespace sagabox
