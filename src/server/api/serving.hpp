#pragma once

#include "server/api/group_writer.hpp"
#include "server/api/reply_gate.hpp"

#include <sagabox/admin.hpp>
#include <sagabox/hub_admin.hpp>
#include <sagabox/idempotency_http.hpp>
#include <sagabox/outbox.hpp>
#include <sagabox/router.hpp>
#include <sagabox/saga.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::server {

/// A table that is served. The store must outlive the server.
struct ServedTable {
  TableName table;  ///< also its name in paths; names must be unique
  Store* store = nullptr;
  OutboxSource outbox{};  ///< the outbox for writes; see `always`
  /// The rules of that outbox.
  std::function<MessageRules()> rules = [] { return MessageRules{}; };
  /// Why a message with this payload would not be sent, where routes have schemas.
  std::function<Status(const std::string& topic, const Payload& payload)> check_payload =
      [](const std::string&, const Payload&) { return Status(); };
  bool delivers = true;  ///< somebody of our kind delivers it: what is old is then a sign
  std::string store_name{"default"};  ///< as `?store=` of the audit operations names it
};

/// The delivery hub that is served. The store must outlive the server.
struct ServedHub {
  Store* store = nullptr;
  /// See HubAdminOptions.
  std::string secret_key{};
  ProbeEndpoint probe{};
  std::function<Status(std::string_view target)> check_target{};
  std::function<Status(const HubEvent& event)> check_event{};
  std::function<std::optional<EndpointState>(const SubscriptionId& id)> endpoint{};
  std::function<void()> changed{};
  std::uint32_t subscriptions_max = HubAdminOptions{}.subscriptions_max;
  bool routes = true;  ///< this process has the role of router
};

/// When a process counts as ready. It does not while something has been pending too long and
/// nothing was delivered recently, nor while its store cannot be reached.
struct ReadyLimits {
  Duration oldest_pending_max = std::chrono::minutes(5);
  Duration last_success_max = std::chrono::minutes(1);
  /// How long a failed write counts, unless a later one succeeds.
  Duration failed_write_max = std::chrono::seconds(30);
  /// A table is checked at most this often, because any caller may ask.
  Duration look_interval = std::chrono::seconds(1);
};

struct ApiOptions {
  /// The first is the default for paths without a table.
  std::vector<ServedTable> tables{};
  std::optional<ServedHub> hub{};
  ReadyLimits ready{};
  GroupWriterOptions writing{};
  /// Bodies up to this size are read and checked on the thread that receives them; longer ones by a
  /// worker.
  std::size_t brief_bytes_max = 64UL * 1024;
  /// How many requests may wait at the same time until a saga's owner has applied their command;
  /// the others are answered at once, as pending. Replies by token have a bound of their own, so
  /// that many of them do not block operators. The sum must be less than the number of workers.
  std::uint32_t saga_waits_max = 2;
  std::uint32_t reply_waits_max = 1;
  /// Replies to calls of sagas with their tokens alone; disabled by default.
  SagaReplyOptions saga_replies{};
  std::string metrics_path = "/metrics";
  /// How the header `Idempotency-Key` of writing requests is handled, if the store of the table
  /// keeps keys; nullopt: it is ignored.
  std::optional<HttpIdempotencyOptions> idempotency{};
  /// See AdminOptions.
  std::function<Duration()> inbox_window = [] { return spi::inbox_window_default; };
  /// The state of the router that is the sink of the outboxes; empty if there is none.
  std::function<std::vector<DestinationState>()> destinations{};
  AskHeldUp held_up{};
  /// Sagas of this store that do not go on in this process; none: it runs none.
  std::function<std::vector<SagaFinding>(const Store& store)> saga_findings{};

  /// These must outlive the server.
  const PrometheusMetrics* exposition = nullptr;  ///< null: no /metrics
  Metrics* metrics = &no_metrics();
  Audit* audit = &no_audit();
  Logger* log = &no_log();
  const Clock* clock = &system_clock();

  /// An error names the option that is wrong.
  [[nodiscard]] Status check() const;
};

}  // namespace sagabox::server
