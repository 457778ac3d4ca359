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

/// Who delivers what is in a table.
enum class Delivery : std::uint8_t {
  here,       ///< this daemon, together with others that do
  elsewhere,  ///< somebody else; this one only takes messages in
  external,   ///< a reader of its own kind (change data capture); this one deletes by age
};

struct TableSettings {
  std::string preset{};  ///< whose defaults `options` began with; empty: ours
  Delivery delivery = Delivery::here;
  OutboxOptions options{};  ///< its `table` is the name; nothing that is not a setting is set
};

struct StoreSettings {
  std::string name;
  std::string url{};
  StoreOptions options{};
  BackendOptions backend{};
  std::vector<std::string> options_given{};  ///< of `backend`, by name
  TableSettings defaults{};                  ///< what its tables begin with
  std::vector<TableSettings> tables{};
};

struct RouteSettings {
  RouteOptions options{};
  std::string schema_file{};  ///< where `options.schema` was read
};

/// A function of the daemon that shows on standard output what it is given.
inline constexpr auto show_address = "fn:show";

/// `credentials` of its base are made of those here.
struct HttpSettings : http::Options {
  std::vector<TenantCredentials> tenant_credentials{};
};

/// The ways that routes can name. Only those that they do name are opened.
struct TransportSettings {
  HttpSettings http{};
  kafka::Options kafka{};
  nats::Options nats{};
  redis::Options redis{};
  amqp::Options amqp{};
  mqtt::Options mqtt{};
};

/// Of the listener; both or none.
struct TlsFiles {
  std::string certificate_file{};
  std::string key_file{};
};

/// What the REST API takes of its clients. Every limit is for the whole of what it names.
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

/// Of the tables of inboxes and requests in every store, where they are.
struct IdempotencySettings {
  std::optional<Duration> inbox_window{};  ///< null: see `Configuration::inbox_window`
  Duration purge_interval = std::chrono::minutes(1);
};

struct MetricsSettings {
  std::string path = "/metrics";
  std::string prefix = "sagabox_";
};

struct TracingSettings {
  OtlpOptions otlp{};       ///< without an endpoint: no spans
  double sample_ratio = 1;  ///< of messages without a trace

  [[nodiscard]] bool enabled() const noexcept { return !otlp.endpoint.empty(); }
  [[nodiscard]] Status check() const { return enabled() ? otlp.check() : Status(); }
};

/// A definition of a saga, in YAML or JSON.
struct SagaFile {
  std::string file{};
  std::string call_secret{};  ///< of its participants, instead of the one of all
};

/// The sagas that this daemon runs; none without definitions.
struct SagaSettings {
  std::string store{};  ///< empty: the only one
  std::vector<SagaFile> definitions{};
  /// Calls of participants are signed with it; empty: they are not.
  std::string call_secret{};
  SagaOptions options{};  ///< nothing that is not a setting is set

  [[nodiscard]] Status check() const { return options.check(); }
};

/// A type in the hub's catalogue.
struct EventTypeSettings {
  std::string type{};
  std::string description{};
  std::string schema_file{};  ///< where `schema` was read
  std::optional<JsonSchema> schema{};
};

/// The delivery hub that this daemon has.
struct HubSettings {
  bool enabled = false;
  std::string store{};       ///< empty: the only one
  std::string secret_key{};  ///< see delivery::SecretBox
  /// What targets may go by: their names under `transports`.
  std::vector<std::string> transports{"http"};
  std::vector<EventTypeSettings> event_types{};
  bool known_types_only = false;
  /// What this daemon does for the hub; see HubRole.
  std::vector<std::string> roles{"router", "orchestrator", "worker", "cleaner"};
  std::uint32_t subscriptions_max = HubAdminOptions{}.subscriptions_max;
  HubOptions options{};  ///< nothing that is not a setting is set

  [[nodiscard]] EventTypes catalogue() const;
  [[nodiscard]] Status check() const;
};

/// Everything a daemon can be told. `settings.cpp` describes how each part is written, and
/// docs/configuration.md what it means.
struct Configuration {
  std::string listen = "127.0.0.1:8700";
  std::string api_keys_file{};  ///< empty: none, and then only loopback is listened on
  TlsFiles tls{};
  RestSettings rest{};
  IdempotencySettings idempotency{};
  LogOptions log{};
  MetricsSettings metrics{};
  TracingSettings tracing{};
  bool demo = false;  ///< a producer writes messages to look at
  /// Whether the file is looked at for changes; SIGHUP has it read again in any case.
  bool watch = true;

  TableSettings defaults{};
  std::vector<StoreSettings> stores{};
  std::vector<RouteSettings> routes{};
  SagaSettings sagas{};
  HubSettings hub{};
  TransportSettings transports{};
  /// Limits, breaker and the like; routes and transports are those above.
  RouterOptions traffic{};

  /// Done messages of any table are kept so long, and may be replayed.
  [[nodiscard]] Duration longest_retention() const;
  /// How long keys of inboxes are kept. Unless set, a day longer than the longest retention, so
  /// that what is replayed is still known, and at least 8 days.
  [[nodiscard]] Duration inbox_window() const;
};

}  // namespace sagabox::assembly
