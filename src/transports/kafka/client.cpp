#include "transports/kafka/client.hpp"

#include "core/error_text.hpp"
#include "core/text.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

namespace sagabox::kafka {
namespace {

/// Defaults, which the user's properties override.
constexpr std::array<std::pair<const char*, const char*>, 13> defaults = {{
    {"client.id", "sagabox"},
    {"linger.ms", "2"},
    {"message.max.bytes", "1048588"},   // the default of brokers
    {"message.timeout.ms", "300000"},   // our own deadlines are shorter
    {"partitioner", "murmur2_random"},  // keys map to the same partitions as with the Java client
    {"reconnect.backoff.ms", "50"},
    {"reconnect.backoff.max.ms", "1000"},
    {"retry.backoff.ms", "50"},
    {"socket.keepalive.enable", "true"},
    {"socket.connection.setup.timeout.ms", "5000"},
    {"log.connection.close", "false"},
    {"enable.idempotence", "true"},
    {"acks", "all"},
}};

/// Properties that the guarantees depend on, or that load code.
constexpr std::array<std::string_view, 7> not_the_users = {"acks",
                                                           "bootstrap.servers",
                                                           "enable.idempotence",
                                                           "metadata.broker.list",
                                                           "request.required.acks",
                                                           "transactional.id",
                                                           "plugin.library.paths"};

constexpr std::array<std::string_view, 7> secret_parts = {
    "password", "secret", "key.pem", "token", "credential", "oauthbearer.config", "key.string"};

constexpr std::size_t secret_length_min = 3;  // shorter ones would match by chance

bool is_secret(std::string_view name) {
  return std::any_of(secret_parts.begin(), secret_parts.end(), [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  });
}

Error wrong_property(std::string_view name, const std::string& problem) {
  return {Code::config_invalid, "transports kafka: property " + quoted(name) + ": " + problem};
}

Status set(rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
  std::array<char, 512> ignored{};  // the reason contains the value
  switch (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), ignored.data(), ignored.size())) {
    case RD_KAFKA_CONF_OK:
      return {};
    case RD_KAFKA_CONF_UNKNOWN:
      return wrong_property(name,
                            "librdkafka has no such property; its CONFIGURATION.md names all");
    default:
      return wrong_property(name, "librdkafka does not take this value; see its CONFIGURATION.md");
  }
}

/// After a close, the kernel must not send data that was not sent yet.
int socket_without_linger(int domain, int type, int protocol, void* /*opaque*/) {
  const int made = socket(domain, type | SOCK_CLOEXEC, protocol);
  if (made < 0) return made;
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(made, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  return made;
}

void no_log(const rd_kafka_t*, int, const char*, const char*) {}

}  // namespace

Result<ConfHandle> client_conf(const Options& options) {
  ConfHandle conf(rd_kafka_conf_new());
  for (const auto& [name, value] : defaults) {
    if (auto status = set(conf.get(), name, value); !status) return status.error();
  }
  if (auto status = set(conf.get(), "bootstrap.servers", options.brokers); !status) {
    return status.error();
  }
  for (const auto& [name, value] : options.properties) {
    if (std::find(not_the_users.begin(), not_the_users.end(), name) != not_the_users.end()) {
      return wrong_property(name, "cannot be changed here; brokers are given as `brokers`");
    }
    if (auto status = set(conf.get(), name, value); !status) return status.error();
  }
  rd_kafka_conf_set_socket_cb(conf.get(), socket_without_linger);
  rd_kafka_conf_set_log_cb(conf.get(), no_log);
  return conf;
}

std::string hushed(std::string_view text, const Options& options) {
  std::string out(text);
  for (const auto& [name, value] : options.properties) {
    if (is_secret(name) && value.size() >= secret_length_min) out = replaced(out, value, "***");
  }
  return clean_error(out);
}

}  // namespace sagabox::kafka
