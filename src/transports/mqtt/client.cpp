#include "transports/envelope.hpp"
#include "transports/mqtt/link.hpp"

#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>
#include <system_error>

namespace sagabox::mqtt {
namespace {

constexpr int qos = 1;
constexpr std::string_view header_prefix = "header:";

Error unusable(std::string message) { return {Code::provider_unavailable, std::move(message)}; }

struct Properties {
  Properties() = default;
  ~Properties() { mosquitto_property_free_all(&all); }
  Properties(const Properties&) = delete;
  Properties& operator=(const Properties&) = delete;

  /// Only the first error is kept.
  void add(std::string_view prefix, std::string_view name, std::string_view value) {
    if (code != MOSQ_ERR_SUCCESS) return;
    name_.assign(prefix).append(name);
    value_.assign(value);
    code = mosquitto_property_add_string_pair(&all, MQTT_PROP_USER_PROPERTY, name_.c_str(),
                                              value_.c_str());
  }

  mosquitto_property* all = nullptr;
  int code = MOSQ_ERR_SUCCESS;

 private:
  std::string name_;
  std::string value_;
};

}  // namespace

Result<std::unique_ptr<Client>> Client::open(const Options& options, BootTime deadline) {
  static std::once_flag once;
  std::call_once(once, [] { mosquitto_lib_init(); });
  auto* const id = options.client_id.empty() ? nullptr : options.client_id.c_str();
  auto* const raw = mosquitto_new(id, true, nullptr);
  if (raw == nullptr) throw std::bad_alloc();
  std::unique_ptr<Client> client(new Client(raw));
  if (auto prepared = client->prepare(options); !prepared) return prepared.error();

  const int begun = mosquitto_connect_async(raw, options.host.c_str(), options.port,
                                            static_cast<int>(options.keep_alive.count()));
  if (begun != MOSQ_ERR_SUCCESS) return client->trouble(begun);
  while (!client->connected_) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - options.clock->boot_now()).count();
    if (left <= 0) return unusable("no answer within the time allowed");
    pollfd one{client->fd(), static_cast<short>(POLLIN | (client->wants_write() ? POLLOUT : 0)), 0};
    poll(&one, 1, static_cast<int>(std::min<long>(left, 1000)));
    const auto turned = client->turn();
    if (client->refusal_ != 0) {
      return unusable("logging in: " + std::string(mosquitto_reason_string(client->refusal_)));
    }
    if (!turned) return turned.error();
  }
  return client;
}

Status Client::prepare(const Options& options) {
  mosquitto_user_data_set(client_, this);
  mosquitto_int_option(client_, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
  mosquitto_int_option(client_, MOSQ_OPT_TCP_NODELAY, 1);
  // The server's limit applies, not libmosquitto's default of 20.
  mosquitto_int_option(client_, MOSQ_OPT_SEND_MAXIMUM, 65'535);
  if (!options.username.empty()) {
    mosquitto_username_pw_set(client_, options.username.c_str(),
                              options.password.empty() ? nullptr : options.password.c_str());
  }
  mosquitto_connect_v5_callback_set(
      client_, [](mosquitto*, void* self, int reason, int, const mosquitto_property* properties) {
        auto& client = *static_cast<Client*>(self);
        client.connected_ = reason == 0;
        client.refusal_ = reason;
        auto& limits = client.limits_;
        std::uint8_t retains = 1;
        mosquitto_property_read_byte(properties, MQTT_PROP_RETAIN_AVAILABLE, &retains, false);
        limits.retains = retains != 0;
        mosquitto_property_read_int32(properties, MQTT_PROP_MAXIMUM_PACKET_SIZE,
                                      &limits.packet_bytes_max, false);
        mosquitto_property_read_int16(properties, MQTT_PROP_RECEIVE_MAXIMUM, &limits.receive_max,
                                      false);
      });
  mosquitto_disconnect_v5_callback_set(
      client_, [](mosquitto*, void* self, int reason, const mosquitto_property*) {
        static_cast<Client*>(self)->farewell_ = reason;
      });
  mosquitto_publish_v5_callback_set(
      client_, [](mosquitto*, void* self, int id, int reason, const mosquitto_property*) {
        static_cast<Client*>(self)->answers_.emplace_back(id, reason);
      });
  if (!options.tls.enabled) return {};
  const auto file = [](const std::string& path) { return path.empty() ? nullptr : path.c_str(); };
  const auto* const system_list =
      options.tls.ca_file.empty() ? X509_get_default_cert_dir() : nullptr;
  if (mosquitto_tls_set(client_, file(options.tls.ca_file), system_list,
                        file(options.tls.certificate_file), file(options.tls.key_file),
                        nullptr) != MOSQ_ERR_SUCCESS) {
    return unusable("TLS: cannot read the CA file, our certificate or its key");
  }
  constexpr int verify_peer = 1;
  mosquitto_tls_opts_set(client_, verify_peer, "tlsv1.2", nullptr);
  return {};
}

Client::~Client() {
  if (const int socket = mosquitto_socket(client_); socket >= 0 && cut_) {
    const linger at_once{1, 0};
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  mosquitto_destroy(client_);
}

int Client::fd() const { return mosquitto_socket(client_); }
bool Client::wants_write() const { return mosquitto_want_write(client_); }

Error Client::trouble(int code) const {
  if (farewell_ >= first_error_reason) {
    return unusable(std::string("the server ended it: ") + mosquitto_reason_string(farewell_));
  }
  if (code == MOSQ_ERR_ERRNO && errno != 0) {
    return unusable(std::generic_category().message(errno));
  }
  if (code == MOSQ_ERR_TLS || code == MOSQ_ERR_TLS_HANDSHAKE) {
    return unusable("TLS: the server's certificate is not accepted, or no TLS is spoken there");
  }
  return unusable(mosquitto_strerror(code));
}

Client::Published Client::publish(const spi::Parcel& parcel, const TopicAddress& address) {
  const auto& message = *parcel.message;
  const transports::Envelope envelope(parcel);
  Properties properties;
  properties.code = mosquitto_property_add_string(&properties.all, MQTT_PROP_CONTENT_TYPE,
                                                  message.content_type().c_str());
  for (const auto& [name, value] : envelope.attributes()) properties.add({}, name, value);
  for (const auto& [name, value] : message.headers()) {
    if (transports::may_travel(name)) properties.add(header_prefix, name, value);
  }
  if (properties.code != MOSQ_ERR_SUCCESS) return {properties.code, 0};
  const auto payload = message.payload().view();
  Published made;
  made.code = mosquitto_publish_v5(client_, &made.id, address.topic.c_str(),
                                   static_cast<int>(payload.size()), payload.data(), qos,
                                   address.retain, properties.all);
  return made;
}

Status Client::turn() {
  if (mosquitto_want_write(client_)) {
    const int code = mosquitto_loop_write(client_, 1);
    if (code != MOSQ_ERR_SUCCESS) return trouble(code);
  }
  if (const int code = mosquitto_loop_read(client_, 1); code != MOSQ_ERR_SUCCESS) {
    return trouble(code);
  }
  if (const int code = mosquitto_loop_misc(client_); code != MOSQ_ERR_SUCCESS) {
    return trouble(code);
  }
  if (mosquitto_socket(client_) < 0) return trouble(MOSQ_ERR_CONN_LOST);
  return {};
}

void Client::leave() {
  cut_ = false;
  mosquitto_disconnect_v5(client_, 0, nullptr);
}

}  // namespace sagabox::mqtt
