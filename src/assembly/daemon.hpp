#pragma once

#include "assembly/configuration.hpp"
#include "assembly/daemon_hub.hpp"
#include "assembly/outage_log.hpp"
#include "assembly/routes.hpp"
#include "assembly/switching_sink.hpp"

#include <sagabox/idempotency_upkeep.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/outbox.hpp>
#include <sagabox/saga.hpp>
#include <sagabox/store.hpp>
#include <sagabox/tracing.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace sagabox::assembly {

/// Dependencies that a daemon does not create itself.
struct DaemonDependencies {
  /// The function of the target `fn:show`.
  Listener show{};
  /// Null: lines on standard error, as configured. Otherwise it must outlive the daemon.
  Logger* log = nullptr;
  const Clock* clock = &system_clock();
  Random* random = &system_random();
};

/// A log whose level can change while it is in use.
class LevelledLog final : public Logger {
 public:
  explicit LevelledLog(const LogOptions& options);
  void set_level(LogLevel level) noexcept { level_ = level; }
  [[nodiscard]] bool enabled(LogLevel level) const noexcept override { return level >= level_; }
  void write(LogLevel level, std::string_view event,
             std::span<const LogField> fields) noexcept override {
    lines_->write(level, event, fields);
  }

 private:
  std::atomic<LogLevel> level_;
  std::unique_ptr<Logger> lines_;
};

/// The stores, tables, routes and transports of a configuration, in one process.
class Daemon {
 public:
  /// One table of one store. A reload that changes the table's settings replaces its outbox: call
  /// `tables` again instead of keeping it. A kept outbox can still write.
  struct Table {
    std::string store_name;
    Store* store = nullptr;
    TableName name;
    Delivery delivery = Delivery::here;
    MessageRules rules{};
    std::shared_ptr<Outbox> outbox;
  };
  struct Reloaded {
    std::vector<std::string> changed;       ///< paths of settings that are in effect now
    std::vector<std::string> need_restart;  ///< settings that need a restart of the process
  };

  /// Makes a daemon with its log and its metrics, but opens nothing: it has no tables yet.
  static Result<std::unique_ptr<Daemon>> make(const Configuration& configuration,
                                              const DaemonDependencies& dependencies);
  /// Opens everything; delivers nothing yet. After an error nothing is open, and it may be called
  /// again. STORAGE.UNAVAILABLE: a store cannot be reached now.
  Status open();
  /// Calls `make` and `open`.
  static Result<std::unique_ptr<Daemon>> open(const Configuration& configuration,
                                              const DaemonDependencies& dependencies);
  /// Every error that `open` would find without a store; connects to nothing. Each text begins with
  /// the path of a setting.
  static std::vector<Error> check(const Configuration& configuration);

  /// Calls `stop`.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  Status start();
  /// Each table takes at most its `relay.drain_timeout`, and the spans then `tracing.flush_max`.
  /// TX.TIMEOUT if something was still running.
  Status stop();
  /// Applies the settings that can change at run time. An error leaves everything as it was.
  Result<Reloaded> reload(const Configuration& next);

  /// All tables, in the order of the configuration; the first is the default.
  [[nodiscard]] std::vector<Table> tables() const;
  /// The state of the routes' targets.
  [[nodiscard]] std::vector<DestinationState> destinations() const;
  /// See `Router::held_up`.
  [[nodiscard]] std::vector<HeldUp> held_up(const std::string& topic,
                                            const std::string& tenant) const;
  /// See `Router::check_payload`.
  [[nodiscard]] Status check_payload(const std::string& topic, const Payload& payload) const;
  /// Where its sagas are; null: it runs none.
  [[nodiscard]] Store* store_of_sagas() const noexcept { return saga_store_; }
  /// See `Sagas::findings`; empty for another store than that of its sagas.
  [[nodiscard]] std::vector<SagaFinding> saga_findings(const Store& store) const;
  /// Null: it has none.
  [[nodiscard]] DaemonHub* hub() const noexcept { return hub_.get(); }
  /// The effective configuration.
  [[nodiscard]] Configuration configuration() const;
  [[nodiscard]] PrometheusMetrics& metrics() noexcept { return *metrics_; }
  [[nodiscard]] Logger& log() noexcept { return *log_; }

 private:
  struct OpenStore {
    std::string name;
    std::unique_ptr<Store> store;
    std::unique_ptr<IdempotencyUpkeep> upkeep{};  ///< while the daemon runs
  };

  Daemon(const Configuration& configuration, const DaemonDependencies& dependencies);
  Status open_all();
  void close_all();
  void watch_stores();
  Status open_stores();
  Status open_tables();
  [[nodiscard]] RouteDependencies route_dependencies();
  Status open_tracing();
  Status start_upkeep();
  Status open_sagas();
  Status open_hub();
  Result<std::shared_ptr<Outbox>> open_table(Store& store, const TableSettings& table);
  Status reopen(std::size_t number, const TableSettings& settings);
  [[nodiscard]] bool running() const;

  const DaemonDependencies dependencies_;
  std::unique_ptr<LevelledLog> own_log_;
  std::unique_ptr<OutageLog> outages_;
  Logger* log_;
  std::unique_ptr<PrometheusMetrics> metrics_;
  std::unique_ptr<OtlpExporter> spans_;  // null: disabled
  std::vector<OpenStore> stores_;
  const std::shared_ptr<CredentialBook> credentials_;
  std::shared_ptr<SwitchingSink> sink_;
  std::vector<SagaDefinition> definitions_;
  Store* saga_store_ = nullptr;     // null: no definitions
  Store* hub_store_ = nullptr;      ///< null: no hub
  std::optional<Sagas> sagas_;      // nullopt: no sagas
  std::unique_ptr<DaemonHub> hub_;  // null: disabled

  std::mutex acting_;         // one start, stop or reload at a time
  mutable std::mutex mutex_;  // guards the members below
  Configuration configuration_;
  std::vector<Table> tables_;
  bool running_ = false;
};

}  // namespace sagabox::assembly
