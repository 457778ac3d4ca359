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

/// A table that is served. The store outlives the server.
struct ServedTable {
  TableName table;  ///< also its name in paths: no two are the same
  Store* store = nullptr;
  OutboxSource outbox{};  ///< what writes go to; see `always`
  /// Of that outbox.
  std::function<MessageRules()> rules = [] { return MessageRules{}; };
  /// Why a message with this payload would not be sent, where routes have schemas.
  std::function<Status(const std::string& topic, const Payload& payload)> check_payload =
      [](const std::string&, const Payload&) { return Status(); };
  bool delivers = true;  ///< somebody of our kind delivers it: what is old is then a sign
  std::string store_name{"default"};  ///< as `?store=` of the audit operations names it
};

/// The delivery hub that is served. The store outlives the server.
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

/// When a process counts as ready: it is not while something has been pending too long and nothing
/// was delivered lately, nor while its store cannot be reached.
struct ReadyLimits {
  Duration oldest_pending_max = std::chrono::minutes(5);
  Duration last_success_max = std::chrono::minutes(1);
  /// A write that the store did not take counts for so long, unless another one is taken.
  Duration failed_write_max = std::chrono::seconds(30);
  /// A table is looked at no more often: everybody may ask.
  Duration look_interval = std::chrono::seconds(1);
};

struct ApiOptions {
  /// The first is meant by paths that name none.
  std::vector<ServedTable> tables{};
  std::optional<ServedHub> hub{};
  ReadyLimits ready{};
  GroupWriterOptions writing{};
  /// Bodies up to this size are read and checked where they arrive; longer ones by a worker.
  std::size_t brief_bytes_max = 64UL * 1024;
  /// Requests that may wait at the same time until a saga's owner has applied their command; those
  /// beyond are answered at once, as pending. Replies by token have a bound of their own, so that
  /// many of them do not take the places of operators. Together fewer than there are workers.
  std::uint32_t saga_waits_max = 2;
  std::uint32_t reply_waits_max = 1;
  /// Who may answer calls of sagas by their tokens alone; nobody unless told.
  SagaReplyOptions saga_replies{};
  std::string metrics_path = "/metrics";
  /// How the header `Idempotency-Key` of requests that write is taken, where the store of the table
  /// keeps keys; nullopt: it is ignored.
  std::optional<HttpIdempotencyOptions> idempotency{};
  /// See AdminOptions.
  std::function<Duration()> inbox_window = [] { return spi::inbox_window_default; };
  /// Of the router that the outboxes have as their sink; none: there is none.
  std::function<std::vector<DestinationState>()> destinations{};
  AskHeldUp held_up{};
  /// Sagas of this store that do not go on in this process; none: it runs none.
  std::function<std::vector<SagaFinding>(const Store& store)> saga_findings{};

  /// These outlive the server.
  const PrometheusMetrics* exposition = nullptr;  ///< nothing: no /metrics
  Metrics* metrics = &no_metrics();
  Audit* audit = &no_audit();
  Logger* log = &no_log();
  const Clock* clock = &system_clock();

  /// Names the option that is wrong.
  [[nodiscard]] Status check() const;
};

}  // namespace sagabox::server
