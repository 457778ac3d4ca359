#include "bench/baselines/transports/mqtt_loop.hpp"

#include "bench/baselines/transports/attributes.hpp"
#include "bench/measure.hpp"

#include <mosquitto.h>
#include <mqtt_protocol.h>

#include <atomic>
#include <memory>
#include <stdexcept>

namespace sagabox::bench::baselines {
namespace {

struct Progress {
  std::atomic<std::uint32_t> connected{0};
  std::atomic<std::uint32_t> answered{0};
  std::atomic<bool> failed{false};
};

void wait_for(std::atomic<std::uint32_t>& counter, std::uint32_t count) {
  for (auto now = counter.load(); now < count; now = counter.load()) counter.wait(now);
}

void publish_to_topic(mosquitto* client, const std::string& topic, const spi::Parcel& parcel) {
  const auto& message = *parcel.message;
  mosquitto_property* properties = nullptr;
  mosquitto_property_add_string(&properties, MQTT_PROP_CONTENT_TYPE,
                                message.content_type().c_str());
  for_each_attribute(parcel, "", [&](const std::string& name, const std::string& value) {
    mosquitto_property_add_string_pair(&properties, MQTT_PROP_USER_PROPERTY, name.c_str(),
                                       value.c_str());
  });
  const auto payload = message.payload().view();
  const int code =
      mosquitto_publish_v5(client, nullptr, topic.c_str(), static_cast<int>(payload.size()),
                           payload.data(), 1, false, properties);
  mosquitto_property_free_all(&properties);
  if (code != MOSQ_ERR_SUCCESS) throw std::runtime_error(mosquitto_strerror(code));
}

}  // namespace

double mqtt_loop(std::uint16_t port, const std::string& to, std::uint32_t messages,
                 std::uint32_t window, const std::function<spi::Parcel(std::uint32_t)>& parcel) {
  Progress progress;
  const std::unique_ptr<mosquitto, decltype(&mosquitto_destroy)> owner(
      mosquitto_new(nullptr, true, &progress), mosquitto_destroy);
  auto* const client = owner.get();
  mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
  mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1);
  mosquitto_int_option(client, MOSQ_OPT_SEND_MAXIMUM, 65'535);
  mosquitto_connect_v5_callback_set(
      client, [](mosquitto*, void* seen, int, int, const mosquitto_property*) {
        auto& connected = static_cast<Progress*>(seen)->connected;
        connected = 1;
        connected.notify_all();
      });
  mosquitto_publish_v5_callback_set(
      client, [](mosquitto*, void* seen, int, int reason, const mosquitto_property*) {
        auto& all = *static_cast<Progress*>(seen);
        if (reason >= MQTT_RC_UNSPECIFIED) all.failed = true;
        ++all.answered;
        all.answered.notify_all();
      });
  if (mosquitto_connect(client, "127.0.0.1", port, 60) != MOSQ_ERR_SUCCESS) {
    throw std::runtime_error("no Mosquitto");
  }
  mosquitto_loop_start(client);
  wait_for(progress.connected, 1);
  const auto begin = Steady::now();
  for (std::uint32_t sent = 0; sent < messages; ++sent) {
    if (sent >= window) wait_for(progress.answered, sent - window + 1);
    publish_to_topic(client, to, parcel(sent));
  }
  wait_for(progress.answered, messages);
  const auto rate = messages / seconds_since(begin);
  mosquitto_disconnect(client);
  mosquitto_loop_stop(client, false);
  if (progress.failed) throw std::runtime_error("Mosquitto refused a message of the baseline");
  return rate;
}

}  // namespace sagabox::bench::baselines
