#include "server/api/routes.hpp"

#include "server/api/operations.hpp"
#include "server/api/query.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

namespace sagabox::server {
namespace {

using namespace operations;

constexpr std::array table{
    Route{"GET", "/health/live", "live", Needs::nothing, live, nullptr, true},
    Route{"GET", "/health/ready", "ready", Needs::nothing, ready},
    Route{"GET", "/metrics", "metrics", Needs::read, operations::metrics, nullptr, true},
    Route{"GET", "/openapi.json", "openapi", Needs::nothing, openapi, nullptr, true},

    Route{"GET", "/v1/tables", "listTables", Needs::read, list_tables},
    Route{"GET", "/v1/tables/{table}", "getTable", Needs::read, get_table},
    Route{"GET", "/v1/tables/{table}/owners", "listOwners", Needs::read, list_owners},
    Route{"GET", "/v1/tables/{table}/blocked-keys", "listBlockedKeys", Needs::read,
          list_blocked_keys},
    Route{"GET", "/v1/tables/{table}/count", "countMessages", Needs::read, count_messages},
    Route{"GET", "/v1/tables/{table}/strays", "listStrays", Needs::read, list_strays},
    Route{"GET", "/v1/tables/{table}/pauses", "listPauses", Needs::read, list_pauses},
    Route{"POST", "/v1/tables/{table}/pause", "pause", Needs::operate, pause},
    Route{"POST", "/v1/tables/{table}/resume", "resume", Needs::operate, resume},
    Route{"POST", "/v1/tables/{table}/purge", "purge", Needs::admin, purge},

    Route{"POST", "/v1/tables/{table}/messages", "enqueue", Needs::operate, nullptr, enqueue},
    Route{"POST", "/v1/tables/{table}/messages/batch", "enqueueBatch", Needs::operate, nullptr,
          enqueue_batch},
    Route{"GET", "/v1/tables/{table}/messages", "listMessages", Needs::read, list_messages},
    Route{"GET", "/v1/tables/{table}/messages/{id}", "getMessage", Needs::read, get_message},
    Route{"GET", "/v1/tables/{table}/messages/{id}/explain", "explainMessage", Needs::read,
          explain_message},

    Route{"GET", "/v1/tables/{table}/dead-letters", "listDeadLetters", Needs::read,
          list_dead_letters},
    Route{"GET", "/v1/tables/{table}/dead-letters/{id}", "getDeadLetter", Needs::read,
          get_dead_letter},
    Route{"POST", "/v1/tables/{table}/dead-letters/{id}/replay", "replayDeadLetter", Needs::operate,
          replay_dead_letter},
    Route{"POST", "/v1/tables/{table}/dead-letters/replay", "replayDeadLetters", Needs::operate,
          replay_dead_letters},
    Route{"POST", "/v1/tables/{table}/dead-letters/quarantine", "quarantineMessages",
          Needs::operate, quarantine_messages},
    Route{"POST", "/v1/tables/{table}/dead-letters/release", "releaseMessages", Needs::operate,
          release_messages},

    Route{"POST", "/v1/tables/{table}/replays/preview", "previewReplay", Needs::read,
          preview_replay},
    Route{"POST", "/v1/tables/{table}/replays", "startReplay", Needs::operate, start_replay},
    Route{"GET", "/v1/tables/{table}/replays", "listReplays", Needs::read, list_replays},
    Route{"GET", "/v1/tables/{table}/replays/{job}", "getReplay", Needs::read, get_replay},
    Route{"POST", "/v1/tables/{table}/replays/{job}/stop", "stopReplay", Needs::operate,
          stop_replay},
    Route{"POST", "/v1/tables/{table}/replays/{job}/resume", "resumeReplay", Needs::operate,
          resume_replay},

    Route{"GET", "/v1/stores", "listStores", Needs::read, list_stores},
    Route{"GET", "/v1/stores/{store}/findings", "listFindings", Needs::read, list_findings},
    Route{"GET", "/v1/destinations", "listDestinations", Needs::read, list_destinations, nullptr,
          true},

    Route{"GET", "/v1/idempotency-keys", "listIdempotencyKeys", Needs::read, list_idempotency_keys},
    Route{"POST", "/v1/idempotency-keys/purge", "purgeIdempotencyKeys", Needs::admin,
          purge_idempotency_keys},

    Route{"GET", "/v1/sagas", "listSagas", Needs::read, list_sagas},
    Route{"POST", "/v1/sagas", "startSaga", Needs::operate, start_saga},
    Route{"GET", "/v1/sagas/count", "countSagas", Needs::read, count_sagas},
    Route{"POST", "/v1/sagas/purge", "purgeSagas", Needs::admin, purge_sagas},
    Route{"GET", "/v1/sagas/{id}", "getSaga", Needs::read, get_saga},
    Route{"GET", "/v1/sagas/{id}/history", "getSagaHistory", Needs::read, get_saga_history},
    Route{"GET", "/v1/sagas/{id}/explain", "explainSaga", Needs::read, explain_saga},
    Route{"GET", "/v1/sagas/{id}/commands", "listSagaCommands", Needs::read, list_saga_commands},
    Route{"POST", "/v1/sagas/{id}/commands", "commandSaga", Needs::operate, command_saga},
    Route{"POST", "/v1/saga-replies", "replyToSaga", Needs::nothing, reply_to_saga, nullptr, false,
          true},
    Route{"GET", "/v1/saga-definitions", "listSagaDefinitions", Needs::read, list_saga_definitions},
    Route{"POST", "/v1/saga-definitions", "defineSaga", Needs::admin, define_saga},

    Route{"POST", "/v1/events", "publishEvent", Needs::operate, publish_event},
    Route{"POST", "/v1/events/batch", "publishEvents", Needs::operate, publish_events},
    Route{"GET", "/v1/events", "listEvents", Needs::read, list_events},
    Route{"GET", "/v1/events/{id}", "getEvent", Needs::read, get_event},
    // A caller that may publish must not be able to choose where events are sent.
    Route{"POST", "/v1/subscriptions", "createSubscription", Needs::admin, create_subscription},
    Route{"GET", "/v1/subscriptions", "listSubscriptions", Needs::read, list_subscriptions},
    Route{"GET", "/v1/subscriptions/{id}", "getSubscription", Needs::read, get_subscription},
    Route{"POST", "/v1/subscriptions/{id}", "changeSubscription", Needs::admin,
          change_subscription},
    Route{"POST", "/v1/subscriptions/{id}/pause", "pauseSubscription", Needs::operate,
          pause_subscription},
    Route{"POST", "/v1/subscriptions/{id}/resume", "resumeSubscription", Needs::operate,
          resume_subscription},
    Route{"POST", "/v1/subscriptions/{id}/disable", "disableSubscription", Needs::admin,
          disable_subscription},
    Route{"POST", "/v1/subscriptions/{id}/enable", "enableSubscription", Needs::admin,
          enable_subscription},
    Route{"POST", "/v1/subscriptions/{id}/verify", "verifySubscription", Needs::admin,
          verify_subscription},
    Route{"POST", "/v1/subscriptions/{id}/ping", "pingSubscription", Needs::operate,
          ping_subscription},
    Route{"POST", "/v1/subscriptions/{id}/secrets", "rotateSecret", Needs::admin, rotate_secret},
    Route{"GET", "/v1/subscriptions/{id}/health", "getSubscriptionHealth", Needs::read,
          get_subscription_health},
    Route{"GET", "/v1/subscriptions/{id}/explain", "explainSubscription", Needs::read,
          explain_subscription},
    Route{"GET", "/v1/deliveries", "listDeliveries", Needs::read, list_deliveries},
    Route{"GET", "/v1/deliveries/count", "countDeliveries", Needs::read, count_deliveries},
    Route{"GET", "/v1/deliveries/{id}", "getDelivery", Needs::read, get_delivery},
    Route{"GET", "/v1/deliveries/{id}/explain", "explainDelivery", Needs::read, explain_delivery},
    Route{"POST", "/v1/deliveries/requeue", "requeueDeliveries", Needs::operate,
          requeue_deliveries},
    Route{"POST", "/v1/deliveries/requeue-matching", "requeueMatching", Needs::operate,
          requeue_matching},

    Route{"GET", "/v1/audit", "exportAudit", Needs::admin, export_audit},
    Route{"GET", "/v1/audit/verify", "verifyAudit", Needs::admin, verify_audit},
};

/// Whether the path matches; then `names` has the values of the parts in braces.
bool fits(std::string_view path, std::span<const std::string> segments,
          std::vector<std::string>& names) {
  names.clear();
  for (const auto& segment : segments) {
    if (!path.starts_with('/')) return false;
    path.remove_prefix(1);
    const auto part = path.substr(0, path.find('/'));
    path.remove_prefix(part.size());
    if (part.starts_with('{')) {
      if (segment.empty()) return false;
      names.push_back(segment);
    } else if (part != segment) {
      return false;
    }
  }
  return path.empty();
}

}  // namespace

std::span<const Route> routes() { return table; }

RouteMatch match_route(std::string_view method, std::span<const std::string> segments) {
  RouteMatch match;
  std::vector<std::string> names;
  std::size_t fewest_names = std::numeric_limits<std::size_t>::max();
  for (const auto& route : table) {
    if (!fits(route.path, segments, names) || names.size() > fewest_names) continue;
    // "messages/batch" is a path of its own, not the message "batch".
    if (names.size() < fewest_names) match = {};
    fewest_names = names.size();
    match.methods.push_back(route.method);
    if (match.route == nullptr && route.method == method) {
      match.route = &route;
      match.names = names;
    }
  }
  return match;
}

std::vector<HeldUp> Call::held_up(const std::string& topic, const std::string& tenant) const {
  const bool delivers = table != nullptr && table->delivers && options.held_up &&
                        table->outbox()->snapshot().shards_owned > 0;
  return delivers ? options.held_up(topic, tenant) : std::vector<HeldUp>{};
}

std::optional<RefusedResult> Call::refused(Sequence sequence) const {
  return table == nullptr ? std::nullopt : table->outbox()->refused(sequence);
}

std::optional<OwnerView> Call::owner_view(const MessageRecord& record) const {
  return table == nullptr ? std::nullopt : table->outbox()->owner_view(record);
}

Result<Admin> Call::admin_of(Store& store) const {
  return Admin::open(store, {.actor = caller.actor,
                             .tenant = caller.tenant,
                             .inbox_window = options.inbox_window(),
                             .held_up = std::bind_front(&Call::held_up, this),
                             .refused = std::bind_front(&Call::refused, this),
                             .owner_view = std::bind_front(&Call::owner_view, this),
                             .metrics = options.metrics,
                             .audit = options.audit,
                             .log = options.log,
                             .clock = options.clock});
}

}  // namespace sagabox::server
