#include "support/mqtt_client.hpp"

#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <unistd.h>

#include <cstdlib>

namespace sagabox::testing {
namespace {

constexpr auto mqtt_wait_max = std::chrono::seconds(120);
constexpr auto pause = std::chrono::milliseconds(20);

std::string taken(char* text) {
  std::string copy = text == nullptr ? "" : text;
  std::free(text);  // NOLINT(*-no-malloc): allocated by libmosquitto
  return copy;
}

}  // namespace

struct MqttClient::Callbacks {
  static void connected(mosquitto* client, void* self, int, int, const mosquitto_property*) {
    mosquitto_subscribe_v5(client, nullptr, static_cast<MqttClient*>(self)->filter_.c_str(), 1, 0,
                           nullptr);
  }
  static void subscribed(mosquitto*, void* self, int, int, const int*, const mosquitto_property*) {
    auto& client = *static_cast<MqttClient*>(self);
    const std::lock_guard lock(client.mutex_);
    client.subscribed_ = true;
    client.changed_.notify_all();
  }
  static void disconnected(mosquitto*, void* self, int, const mosquitto_property*) {
    auto& client = *static_cast<MqttClient*>(self);
    const std::lock_guard lock(client.mutex_);
    client.subscribed_ = false;
    client.changed_.notify_all();
  }
  static void arrived(mosquitto*, void* self, const mosquitto_message* message,
                      const mosquitto_property* properties) {
    auto& client = *static_cast<MqttClient*>(self);
    Got got{.payload = {static_cast<const char*>(message->payload),
                        static_cast<std::size_t>(message->payloadlen)},
            .retained = message->retain};
    char* text = nullptr;
    if (mosquitto_property_read_string(properties, MQTT_PROP_CONTENT_TYPE, &text, false) !=
        nullptr) {
      got.content_type = taken(text);
    }
    const auto* at = properties;
    for (bool skip = false;; skip = true) {
      char* name = nullptr;
      char* value = nullptr;
      at = mosquitto_property_read_string_pair(at, MQTT_PROP_USER_PROPERTY, &name, &value, skip);
      if (at == nullptr) break;
      auto first = taken(name);
      got.properties.emplace_back(std::move(first), taken(value));
    }
    const std::lock_guard lock(client.mutex_);
    client.by_topic_[message->topic].push_back(std::move(got));
    client.changed_.notify_all();
  }
};

MqttClient::MqttClient(std::uint16_t port, const std::string& filter)
    : filter_(filter),
      client_(mosquitto_new(("subscriber-" + std::to_string(getpid())).c_str(), false, this)) {
  mosquitto_int_option(client_, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
  mosquitto_connect_v5_callback_set(client_, &Callbacks::connected);
  mosquitto_subscribe_v5_callback_set(client_, &Callbacks::subscribed);
  mosquitto_disconnect_v5_callback_set(client_, &Callbacks::disconnected);
  mosquitto_message_v5_callback_set(client_, &Callbacks::arrived);
  mosquitto_property* properties = nullptr;
  mosquitto_property_add_int32(&properties, MQTT_PROP_SESSION_EXPIRY_INTERVAL, 3600);
  mosquitto_connect_bind_v5(client_, "127.0.0.1", port, 60, nullptr, properties);
  mosquitto_property_free_all(&properties);
  mosquitto_threaded_set(client_, true);
  loop_ = std::thread([this] { run(); });
}

MqttClient::~MqttClient() {
  stopping_ = true;
  mosquitto_disconnect(client_);
  loop_.join();
  mosquitto_destroy(client_);
}

// Not on libmosquitto's own thread, which is cancelled at any point, with locks held.
void MqttClient::run() {
  while (!stopping_) {
    if (mosquitto_loop(client_, static_cast<int>(pause.count()), 1) == MOSQ_ERR_SUCCESS) continue;
    std::this_thread::sleep_for(pause);
    if (!stopping_) mosquitto_reconnect(client_);
  }
}

bool MqttClient::wait_for_subscription() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, mqtt_wait_max, [&] { return subscribed_; });
}

bool MqttClient::wait_for_loss() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, mqtt_wait_max, [&] { return !subscribed_; });
}

std::vector<MqttClient::Got> MqttClient::wait_for(const std::string& topic, std::size_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, mqtt_wait_max, [&] { return by_topic_[topic].size() >= count; });
  // There may be more than requested. Messages that the server received before this one arrive
  // before it.
  const auto last = filter_.substr(0, filter_.find('#')) + "last/" + std::to_string(++lasts_);
  mosquitto_publish(client_, nullptr, last.c_str(), 0, nullptr, 1, false);
  changed_.wait_for(lock, mqtt_wait_max, [&] { return !by_topic_[last].empty(); });
  return by_topic_[topic];
}

}  // namespace sagabox::testing
