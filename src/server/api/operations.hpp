#pragma once

#include "server/api/routes.hpp"

/// The operations of the routes. The caller turns errors into problem+json.
namespace sagabox::server::operations {

void enqueue(const Call& call, Reply reply);
void enqueue_batch(const Call& call, Reply reply);

Result<Response> list_messages(const Call& call);
Result<Response> get_message(const Call& call);
Result<Response> explain_message(const Call& call);
Result<Response> list_blocked_keys(const Call& call);

Result<Response> list_dead_letters(const Call& call);
Result<Response> get_dead_letter(const Call& call);
Result<Response> replay_dead_letter(const Call& call);
Result<Response> replay_dead_letters(const Call& call);
Result<Response> quarantine_messages(const Call& call);
Result<Response> release_messages(const Call& call);

Result<Response> preview_replay(const Call& call);
Result<Response> start_replay(const Call& call);
Result<Response> list_replays(const Call& call);
Result<Response> get_replay(const Call& call);
Result<Response> stop_replay(const Call& call);
Result<Response> resume_replay(const Call& call);

Result<Response> list_tables(const Call& call);
Result<Response> get_table(const Call& call);
Result<Response> list_owners(const Call& call);
Result<Response> list_pauses(const Call& call);
Result<Response> pause(const Call& call);
Result<Response> resume(const Call& call);
Result<Response> purge(const Call& call);

Result<Response> count_messages(const Call& call);
Result<Response> list_strays(const Call& call);

Result<Response> list_stores(const Call& call);
Result<Response> list_findings(const Call& call);
Result<Response> list_destinations(const Call& call);

Result<Response> list_idempotency_keys(const Call& call);
Result<Response> purge_idempotency_keys(const Call& call);

Result<Response> list_sagas(const Call& call);
Result<Response> count_sagas(const Call& call);
Result<Response> get_saga(const Call& call);
Result<Response> get_saga_history(const Call& call);
Result<Response> explain_saga(const Call& call);
Result<Response> list_saga_commands(const Call& call);
Result<Response> start_saga(const Call& call);
Result<Response> command_saga(const Call& call);
Result<Response> purge_sagas(const Call& call);
Result<Response> reply_to_saga(const Call& call);
Result<Response> list_saga_definitions(const Call& call);
Result<Response> define_saga(const Call& call);

Result<Response> publish_event(const Call& call);
Result<Response> publish_events(const Call& call);
Result<Response> list_events(const Call& call);
Result<Response> get_event(const Call& call);
Result<Response> create_subscription(const Call& call);
Result<Response> list_subscriptions(const Call& call);
Result<Response> get_subscription(const Call& call);
Result<Response> change_subscription(const Call& call);
Result<Response> pause_subscription(const Call& call);
Result<Response> resume_subscription(const Call& call);
Result<Response> disable_subscription(const Call& call);
Result<Response> enable_subscription(const Call& call);
Result<Response> verify_subscription(const Call& call);
Result<Response> ping_subscription(const Call& call);
Result<Response> rotate_secret(const Call& call);
Result<Response> get_subscription_health(const Call& call);
Result<Response> explain_subscription(const Call& call);
Result<Response> list_deliveries(const Call& call);
Result<Response> count_deliveries(const Call& call);
Result<Response> get_delivery(const Call& call);
Result<Response> explain_delivery(const Call& call);
Result<Response> requeue_deliveries(const Call& call);
Result<Response> requeue_matching(const Call& call);

Result<Response> export_audit(const Call& call);
Result<Response> verify_audit(const Call& call);

Result<Response> live(const Call& call);
Result<Response> ready(const Call& call);
Result<Response> metrics(const Call& call);
Result<Response> openapi(const Call& call);

}  // namespace sagabox::server::operations
