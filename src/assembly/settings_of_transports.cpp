#include "assembly/settings_of_transports.hpp"

#include "assembly/configuration.hpp"
#include "assembly/describe.hpp"

namespace sagabox::assembly {
namespace {

using Parts = std::vector<Setting>;
using Kind = Setting::Kind;

/// A URL that `Options::from_url` reads; its parts can also be given one by one.
template <class Options>
Setting url(std::string doc) {
  return read_only<Options>(
             "url",
             [](Options& options, const std::string& text) {
               auto found = Options::from_url(text);
               if (!found.ok()) return found.error().message;
               options = std::move(*found);
               return std::string();
             },
             std::move(doc))
      .hidden(Setting::Secret::password_of_url);
}

template <class Options>
Setting in_flight(std::string most = "1000000") {
  return value<Options>("in_flight_max", &Options::in_flight_max, "under way at the same time")
      .between("1", std::move(most));
}

template <class Options>
Setting connect_max() {
  return value<Options>("connect_max", &Options::connect_max, "longer is unreachable")
      .between("1ms", "1h");
}

Parts tls_parts() {
  using T = transports::Tls;
  Parts parts;
  parts.push_back(value<T>("enabled", &T::enabled, "as `…s://` in the URL says too"));
  parts.push_back(value<T>("ca_file", &T::ca_file,
                           "who may vouch for the server; default: the system's", Kind::path));
  parts.push_back(value<T>("certificate_file", &T::certificate_file, "ours", Kind::path));
  parts.push_back(value<T>("key_file", &T::key_file, "its private key", Kind::path));
  return parts;
}

template <class Options>
Setting tls() {
  return section<Options>("tls", &Options::tls, tls_parts(), "TLS to the server");
}

template <class Options>
void add_server(Parts& parts) {
  parts.push_back(value<Options>("host", &Options::host, "of the server"));
  parts.push_back(value<Options>("port", &Options::port, "of the server").between("1", "65535"));
  parts.push_back(value<Options>("username", &Options::username, "to log in with"));
  parts.push_back(value<Options>("password", &Options::password, "to log in with").hidden());
}

/// An empty variable must not cause requests without a password.
Setting not_empty(Setting setting) {
  setting.read = [read = std::move(setting.read)](const Setting& self, void* holder,
                                                  const std::string& text) {
    if (text.empty()) return std::string("it is empty; give it, or leave it out");
    return read(self, holder, text);
  };
  return setting;
}

Setting tenant_credentials() {
  using T = TenantCredentials;
  Parts parts;
  parts.push_back(not_empty(value<T>("tenant", &T::tenant, "whose; default: every tenant's")));
  parts.push_back(values<T>("hosts", &T::hosts,
                            "that get these, as URLs have them, without the port: "
                            "`hooks.example.com`; `*`: every host"));
  parts.push_back(not_empty(
      value<T>("bearer", &T::bearer, "a token: the header `Authorization: Bearer …`").hidden()));
  parts.push_back(not_empty(
      value<T>("username", &T::username, "with `password`: the header `Authorization: Basic …`")));
  parts.push_back(not_empty(value<T>("password", &T::password, "of the username").hidden()));
  parts.push_back(
      not_empty(value<T>("header", &T::header, "the name of another header, `X-Api-Key`")));
  parts.push_back(not_empty(value<T>("value", &T::value, "of that header").hidden()));
  return list<HttpSettings>("credentials", &HttpSettings::tenant_credentials, std::move(parts),
                            "what lets requests of a tenant in; the first entry that fits tenant "
                            "and host counts. Where entries name a host, other tenants are "
                            "denied")
      .checked(own_check<T>());
}

Parts http_parts() {
  using O = HttpSettings;
  Parts parts;
  parts.push_back(values<O>("allow", &O::allow,
                            "private addresses and hosts that may be spoken to all the same: "
                            "`10.1.0.0/16`, `::1`, `hooks.internal`"));
  parts.push_back(value<O>("ca_file", &O::ca_file,
                           "who may vouch for a server; default: the system's", Kind::path));
  parts.push_back(
      values<O>("resolve", &O::resolve, "`host:port:address`: names that are not looked up"));
  parts.push_back(in_flight<O>());
  parts.push_back(value<O>("connections_max", &O::connections_max, "requests at a time, all hosts")
                      .between("1", "65536"));
  parts.push_back(value<O>("concurrency", &O::concurrency, "requests at a time to one host")
                      .between("1", "65536"));
  parts.push_back(connect_max<O>());
  parts.push_back(tenant_credentials());
  return parts;
}

Parts kafka_parts() {
  using O = kafka::Options;
  Parts parts;
  parts.push_back(value<O>("brokers", &O::brokers, "`host:9092,host:9092`"));
  parts.push_back(pairs<O>("properties", &O::properties,
                           "librdkafka's own: `security.protocol`, `sasl.username` …"));
  parts.push_back(read_only<O>(
                      "sasl_password",
                      [](O& options, const std::string& text) {
                        options.properties.emplace_back("sasl.password", text);
                        return std::string();
                      },
                      "the property `sasl.password`")
                      .hidden());
  parts.push_back(value<O>("backoff_min", &O::backoff_min, "between attempts to reach a broker")
                      .between("1ms", "1h"));
  parts.push_back(value<O>("backoff_max", &O::backoff_max, "longest of them").between("1ms", "1h"));
  parts.push_back(in_flight<O>());
  parts.push_back(
      value<O>("payload_bytes_max", &O::payload_bytes_max, "larger ones are rejected", Kind::bytes)
          .between("1", "1MiB"));
  return parts;
}

Parts nats_parts() {
  using O = nats::Options;
  using C = nats::Credentials;
  using T = nats::Tls;
  Parts credentials;
  credentials.push_back(value<C>("user", &C::user, "with a password"));
  credentials.push_back(value<C>("password", &C::password, "of the user").hidden());
  credentials.push_back(value<C>("token", &C::token, "instead").hidden());
  credentials.push_back(value<C>("file", &C::file, "of `nsc`, instead", Kind::path));
  credentials.push_back(value<C>("nkey", &C::nkey, "public, instead"));
  credentials.push_back(value<C>("nkey_seed_file", &C::nkey_seed_file, "of the nkey", Kind::path));
  Parts tls;
  tls.push_back(value<T>("required", &T::required, "as `tls://` in a server's URL says too"));
  tls.push_back(value<T>("ca_file", &T::ca_file,
                         "who may vouch for the server; default: the system's", Kind::path));
  tls.push_back(value<T>("certificate_file", &T::certificate_file, "ours", Kind::path));
  tls.push_back(value<T>("key_file", &T::key_file, "its private key", Kind::path));
  tls.push_back(
      value<T>("host_name", &T::host_name, "expected in the certificate; default: the URL's"));
  Parts parts;
  parts.push_back(values<O>("servers", &O::servers, "`nats://host:4222`; any of them is taken")
                      .hidden(Setting::Secret::password_of_url));
  parts.push_back(
      section<O>("credentials", &O::credentials, std::move(credentials), "to log in with"));
  parts.push_back(section<O>("tls", &O::tls, std::move(tls), "TLS to the server"));
  parts.push_back(value<O>("name", &O::name, "what the server shows of us"));
  parts.push_back(value<O>("api_prefix", &O::api_prefix, "`$JS.<domain>.API` for another domain"));
  parts.push_back(connect_max<O>());
  parts.push_back(
      value<O>("backoff_min", &O::backoff_min, "between attempts to connect").between("1ms", "1h"));
  parts.push_back(value<O>("backoff_max", &O::backoff_max, "longest of them").between("1ms", "1h"));
  parts.push_back(in_flight<O>());
  parts.push_back(
      value<O>("payload_bytes_max", &O::payload_bytes_max, "larger ones are rejected", Kind::bytes)
          .between("1", "1MiB"));
  return parts;
}

Parts redis_parts() {
  using O = redis::Options;
  Parts parts;
#ifdef SAGABOX_REDIS
  parts.push_back(
      url<O>("`redis://user:password@host:6379/0`, `rediss://…`, `unix:///run/redis.sock`"));
#endif
  add_server<O>(parts);
  parts.push_back(value<O>("socket_path", &O::socket_path, "a Unix socket instead"));
  parts.push_back(value<O>("database", &O::database, "its number").between("0", "1000000"));
  parts.push_back(tls<O>());
  parts.push_back(in_flight<O>());
  parts.push_back(connect_max<O>());
  parts.push_back(value<O>("replicas_max", &O::replicas_max,
                           "how long the server waits for replicas where an address says `wait`")
                      .between("1ms", "1h"));
  return parts;
}

Parts amqp_parts() {
  using O = amqp::Options;
  Parts parts;
#ifdef SAGABOX_AMQP
  parts.push_back(url<O>("`amqp://user:password@host:5672/vhost`, `amqps://…`"));
#endif
  add_server<O>(parts);
  parts.push_back(value<O>("virtual_host", &O::virtual_host, "where the exchanges are"));
  parts.push_back(tls<O>());
  parts.push_back(in_flight<O>());
  parts.push_back(connect_max<O>());
  parts.push_back(value<O>("heartbeat", &O::heartbeat,
                           "a server that is silent for twice as long is gone; 0: none")
                      .between("0", "1h"));
  return parts;
}

Parts mqtt_parts() {
  using O = mqtt::Options;
  Parts parts;
#ifdef SAGABOX_MQTT
  parts.push_back(url<O>("`mqtt://user:password@host:1883`, `mqtts://…`"));
#endif
  add_server<O>(parts);
  parts.push_back(value<O>("client_id", &O::client_id, "default: the server makes one"));
  parts.push_back(tls<O>());
  parts.push_back(in_flight<O>("65535"));
  parts.push_back(connect_max<O>());
  parts.push_back(
      value<O>("keep_alive", &O::keep_alive, "a server that is silent for longer is asked")
          .between("5s", "1h"));
  return parts;
}

}  // namespace

std::vector<Setting> transports_parts() {
  using T = TransportSettings;
  Parts parts;
  parts.push_back(section<T>("http", &T::http, http_parts(), "`http://…`, `https://…`"));
  parts.push_back(section<T>("kafka", &T::kafka, kafka_parts(), "`kafka:topic`"));
  parts.push_back(section<T>("nats", &T::nats, nats_parts(), "`nats:subject`"));
  parts.push_back(section<T>("redis", &T::redis, redis_parts(), "`redis:stream`"));
  parts.push_back(section<T>("amqp", &T::amqp, amqp_parts(), "`amqp:exchange/key`, `amqp:/queue`"));
  parts.push_back(section<T>("mqtt", &T::mqtt, mqtt_parts(), "`mqtt:topic`"));
  return parts;
}

}  // namespace sagabox::assembly
