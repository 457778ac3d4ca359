#pragma once

#include "assembly/open_store.hpp"
#include "assembly/tenant_credentials.hpp"

#include <sagabox/hub.hpp>
#include <sagabox/hub_admin.hpp>
#include <sagabox/json_schema.hpp>
#include <sagabox/log.hpp>
#include <sagabox/open.hpp>
#include <sagabox/outbox.hpp>
#include <sagabox/router.hpp>
#include <sagabox/saga.hpp>
#include <sagabox/tracing.hpp>
#include <sagabox/transports/amqp.hpp>
#include <sagabox/transports/http.hpp>
#include <sagabox/transports/kafka.hpp>
#include <sagabox/transports/mqtt.hpp>
#include <sagabox/transports/nats.hpp>
#include <sagabox/transports/redis.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace sagabox::assembly {

/// Which process delivers the messages of a table.
enum class Delivery : std::uint8_t {
  here,       ///< this daemon, together with others in this mode
  elsewhere,  ///< another process; this one only accepts messages
  external,   ///< a reader such as change data capture; this one deletes by age
};

struct TableSettings {
  std::string preset{};  ///< the preset that `options` started from; empty: the library's defaults
  Delivery delivery = Delivery::here;
  OutboxOptions options{};  ///< `table` is the name; options that are not settings are not set
};

struct StoreSettings {
  std::string name;
  std::string url{};
  StoreOptions options{};
  BackendOptions backend{};
  std::vector<std::string> options_given{};  ///< of `backend`, by name
  TableSettings defaults{};                  ///< the defaults of its tables
  std::vector<TableSettings> tables{};
};

struct RouteSettings {
  RouteOptions options{};
  std::string schema_file{};  ///< the file that `options.schema` was read from
};

/// A function of the daemon that prints its messages to standard output.
inline constexpr auto show_address = "fn:show";

/// The `credentials` of the base class are computed from those here.
struct HttpSettings : http::Options {
  std::vector<TenantCredentials> tenant_credentials{};
};

/// The transports that routes can name. Only those that are named are opened.
struct TransportSettings {
  HttpSettings http{};
  kafka::Options kafka{};
  nats::Options nats{};
  redis::Options redis{};
  amqp::Options amqp{};
  mqtt::Options mqtt{};
};

/// The listener's files; both or none.
struct TlsFiles {
  std::string certificate_file{};
  std::string key_file{};
};

/// Limits for clients of the REST API. Every limit is for the whole of what it names.
struct RestSettings {
  LogLevel request_log = LogLevel::debug;
  std::uint32_t connections_max = 1024;
  std::uint64_t bodies_bytes_max = 64UL * 1024 * 1024;
  Duration header_timeout = std::chrono::seconds(10);
  Duration body_timeout = std::chrono::seconds(30);
  Duration idle_timeout = std::chrono::seconds(60);
  Duration answer_timeout = std::chrono::seconds(60);
  Duration stop_timeout = std::chrono::seconds(10);
  bool idempotency_key_required = false;
  Duration idempotency_ttl = std::chrono::hours(24);
  std::uint64_t idempotency_answer_bytes_max = 64UL * 1024;
};

/// For the tables of inboxes and requests in every store that has them.
struct IdempotencySettings {
  std::optional<Duration> inbox_window{};  ///< nullopt: see `Configuration::inbox_window`
  Duration purge_interval = std::chrono::minutes(1);
};

struct MetricsSettings {
  std::string path = "/metrics";
  std::string prefix = "sagabox_";
};

struct TracingSettings {
  OtlpOptions otlp{};       ///< without an endpoint: no spans
  double sample_ratio = 1;  ///< for messages without a trace

  [[nodiscard]] bool enabled() const noexcept { return !otlp.endpoint.empty(); }
  [[nodiscard]] Status check() const { return enabled() ? otlp.check() : Status(); }
};

/// The definition of a saga, in YAML or JSON.
struct SagaFile {
  std::string file{};
  std::string call_secret{};  ///< for its participants, instead of the common one
};

/// The sagas that this daemon runs; none if there are no definitions.
struct SagaSettings {
  std::string store{};  ///< empty: the only store
  std::vector<SagaFile> definitions{};
  /// The key that signs calls of participants; empty: not signed.
  std::string call_secret{};
  SagaOptions options{};  ///< options that are not settings are not set

  [[nodiscard]] Status check() const { return options.check(); }
};

/// A type in the hub's catalogue.
struct EventTypeSettings {
  std::string type{};
  std::string description{};
  std::string schema_file{};  ///< the file that `schema` was read from
  std::optional<JsonSchema> schema{};
};

/// The delivery hub of this daemon.
struct HubSettings {
  bool enabled = false;
  std::string store{};       ///< empty: the only store
  std::string secret_key{};  ///< see delivery::SecretBox
  /// The transports that targets may use: their names under `transports`.
  std::vector<std::string> transports{"http"};
  std::vector<EventTypeSettings> event_types{};
  bool known_types_only = false;
  /// The parts of the hub that this daemon runs; see HubRole.
  std::vector<std::string> roles{"router", "orchestrator", "worker", "cleaner"};
  std::uint32_t subscriptions_max = HubAdminOptions{}.subscriptions_max;
  HubOptions options{};  ///< options that are not settings are not set

  [[nodiscard]] EventTypes catalogue() const;
  [[nodiscard]] Status check() const;
};

/// The whole configuration of a daemon. `settings.cpp` describes how each part is written, and
/// docs/configuration.md what it means.
struct Configuration {
  std::string listen = "127.0.0.1:8700";
  std::string api_keys_file{};  ///< empty: none; the daemon then listens on loopback only
  TlsFiles tls{};
  RestSettings rest{};
  IdempotencySettings idempotency{};
  LogOptions log{};
  MetricsSettings metrics{};
  TracingSettings tracing{};
  bool demo = false;  ///< a producer writes messages for trying it out
  /// Whether the file is watched for changes; SIGHUP reloads it in any case.
  bool watch = true;

  TableSettings defaults{};
  std::vector<StoreSettings> stores{};
  std::vector<RouteSettings> routes{};
  SagaSettings sagas{};
  HubSettings hub{};
  TransportSettings transports{};
  /// Limits, circuit breaker and similar; routes and transports are those above.
  RouterOptions traffic{};

  /// The longest time that any table keeps done messages, which may be replayed.
  [[nodiscard]] Duration longest_retention() const;
  /// How long keys of inboxes are kept. Unless set, a day longer than the longest retention, so
  /// that a replayed message is still known, and at least 8 days.
  [[nodiscard]] Duration inbox_window() const;
};

}  // namespace sagabox::assembly
