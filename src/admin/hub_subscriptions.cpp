#include "admin/checks.hpp"
#include "admin/hub_checks.hpp"
#include "admin/hub_explain.hpp"
#include "admin/hub_view.hpp"
#include "core/masked_url.hpp"
#include "core/secret_random.hpp"
#include "core/text.hpp"
#include "delivery/decide.hpp"
#include "delivery/secret_box.hpp"
#include "delivery/worker/targets.hpp"
#include "spi/hub_rules.hpp"

#include <sagabox/hub_admin.hpp>
#include <sagabox/random.hpp>

#include <algorithm>
#include <utility>

namespace sagabox {
namespace {

constexpr int change_tries = 3;
/// A disabled subscription costs its row for ever: there may be so many times as many as others.
constexpr std::uint64_t disabled_per_enabled_max = 10;

struct ActPlan {
  SubscriptionState from;  ///< the only allowed state besides the resulting one
  SubscriptionState to;
  AuditKind kind;
};

/// `from` of disable is ignored: every subscription that is not disabled can be.
ActPlan plan_of(SubscriptionAct act, const SubscriptionRecord& record) {
  using State = SubscriptionState;
  switch (act) {
    case SubscriptionAct::pause:
      return {State::active, State::paused, AuditKind::hub_subscription_paused};
    case SubscriptionAct::resume:
      return {State::paused, State::active, AuditKind::hub_subscription_resumed};
    case SubscriptionAct::disable:
      return {record.state, State::disabled, AuditKind::hub_subscription_disabled};
    case SubscriptionAct::enable:
      break;
  }
  const bool proves = admin::is_http_target(record.target);
  return {State::disabled, proves ? State::unverified : State::active,
          AuditKind::hub_subscription_enabled};
}

/// What to do with a subscription in that state.
std::string_view way_out(SubscriptionState state) {
  switch (state) {
    case SubscriptionState::unverified:
      return "verify it first";
    case SubscriptionState::paused:
      return "resume it first";
    case SubscriptionState::disabled:
      return "enable it first";
    case SubscriptionState::active:
      break;
  }
  return "it needs nothing";
}

Error not_from(const SubscriptionRecord& record, std::string_view act) {
  return {Code::tx_invalid_state, "subscription " + record.id.str() + " is " +
                                      std::string(subscription_state_name(record.state)) +
                                      " and cannot be " + std::string(act) + "; " +
                                      std::string(way_out(record.state))};
}

std::string_view participle(SubscriptionAct act) {
  switch (act) {
    case SubscriptionAct::pause:
      return "paused";
    case SubscriptionAct::resume:
      return "resumed";
    case SubscriptionAct::disable:
      return "disabled";
    case SubscriptionAct::enable:
      break;
  }
  return "enabled";
}

bool says_the_same(const SubscriptionRecord& one, const SubscriptionRecord& other) {
  return one.tenant == other.tenant && one.name == other.name && one.types == other.types &&
         one.target == other.target && one.settings == other.settings;
}

/// The names of the fields that differ: "name, target".
std::string differences(const SubscriptionRecord& before, const SubscriptionRecord& after) {
  std::string text;
  const auto add = [&](bool differs, std::string_view what) {
    if (!differs) return;
    text += text.empty() ? "" : ", ";
    text += what;
  };
  add(before.name != after.name, "name");
  add(before.types != after.types, "types");
  add(before.target != after.target, "target");
  add(before.settings != after.settings, "settings");
  return text;
}

/// An HTTP endpoint cannot be replaced by another kind of target, or the reverse.
Status check_same_kind(const SubscriptionRecord& before, const SubscriptionRecord& changed) {
  if (admin::is_http_target(changed.target) == admin::is_http_target(before.target)) return {};
  return admin::wrong(
      "target: an HTTP endpoint and another target cannot replace each other; make another "
      "subscription");
}

/// True if it matches events, and the change would lead to an endpoint that is not verified.
bool needs_proof_first(const SubscriptionRecord& before, const SubscriptionRecord& changed) {
  const bool matches =
      before.state == SubscriptionState::active || before.state == SubscriptionState::paused;
  return matches && admin::is_http_target(changed.target) && before.target != changed.target;
}

}  // namespace

Status HubAdmin::check(const SubscriptionRecord& record, bool verify) const {
  if (auto status = admin::check_subscription_texts(record); !status.ok()) return status;
  if (record.target.find(secret_mask) != std::string::npos) {
    return admin::wrong("target: *** only stands for a part that is not shown; give that itself");
  }
  const bool http = admin::is_http_target(record.target);
  if (!http) {
    auto status = admin::everybodys(options_.admin, "a target that is not an HTTP endpoint");
    if (!status.ok()) return status;
  }
  if (options_.check_target) {
    if (auto status = options_.check_target(record.target); !status.ok()) return status;
  }
  if (verify) return {};
  return admin::everybodys(options_.admin, "an endpoint that need not prove itself");
}

Status HubAdmin::check_room(const std::string& tenant) const {
  const auto count = hub_.subscriptions.count(tenant);
  if (!count.ok()) return count.error();
  const auto disabled_max = options_.subscriptions_max * disabled_per_enabled_max;
  if (count->disabled >= disabled_max) {
    return Error{Code::tx_invalid_state,
                 "tenant " + quoted(tenant) + " has " + std::to_string(count->disabled) +
                     " disabled subscriptions, and " + std::to_string(disabled_per_enabled_max) +
                     " times hub.subscriptions_max is the most; change and enable one of them, or "
                     "raise it"};
  }
  if (count->enabled < options_.subscriptions_max) return {};
  return Error{Code::tx_invalid_state, "tenant " + quoted(tenant) + " has " +
                                           std::to_string(count->enabled) +
                                           " subscriptions, and hub.subscriptions_max is " +
                                           std::to_string(options_.subscriptions_max) +
                                           "; disable those that are not needed, or raise it"};
}

Result<SubscriptionRecord> HubAdmin::write(SubscriptionRecord record, AuditKind kind,
                                           const std::string& detail) {
  ++record.version;
  const auto event = admin::subscription_event(kind, record, options_.admin.actor, detail,
                                               options_.admin.clock->wall_now());
  const auto written = hub_.subscriptions.write(record, std::span(&event, 1));
  if (!written.ok()) return written.error();
  if (!*written) {
    return Error{Code::storage_conflict, "subscription " + record.id.str() +
                                             " was changed meanwhile; look at it and try again"};
  }
  tell(event);
  options_.admin.log->log(LogLevel::info, "subscription changed",
                          {{"subscription_id", record.id.view()},
                           {"act", audit_name(kind)},
                           {"state", subscription_state_name(record.state)},
                           {"actor", std::string_view(options_.admin.actor)}});
  wake_deliveries();
  return existing(record.id);
}

Result<SubscriptionRecord> HubAdmin::activate(const SubscriptionRecord& record, AuditKind kind,
                                              const std::string& detail) {
  if (admin::is_http_target(record.target)) {
    const auto secrets = secrets_of(record.id);
    if (!secrets.ok()) return secrets.error();
    if (secrets->empty()) {
      return Error{Code::tx_invalid_state,
                   "subscription " + record.id.str() +
                       " has no secret to sign with; rotate its secret first"};
    }
  }
  auto next = record;
  next.state = SubscriptionState::active;
  next.reason.clear();
  return write(std::move(next), kind, detail);
}

Result<NewSecret> HubAdmin::add_secret(const SubscriptionRecord& record, Duration overlap,
                                       AuditKind kind) {
  if (box_ == nullptr) {
    return Error{Code::tx_invalid_state,
                 "there is no key to keep a secret with; " + options_.secret_key_cure};
  }
  auto& random = options_.random != nullptr ? *options_.random : secret_random();
  NewSecret made{.secret = admin::new_webhook_secret(random)};
  const auto sealed = box_->seal(made.secret, delivery::secret_context(record.id), random);
  if (!sealed.ok()) return sealed.error();
  const auto now = options_.admin.clock->wall_now();
  const auto event = admin::subscription_event(kind, record, options_.admin.actor,
                                               "overlap " + duration_text(overlap), now);
  const auto number =
      hub_.subscriptions.add_secret(record.id, *sealed, overlap, std::span(&event, 1));
  if (!number.ok()) return number.error();
  tell(event);
  wake_deliveries();
  made.number = *number;
  if (*number > 1) made.overlap_until = now + std::chrono::ceil<WallTime::duration>(overlap);
  return made;
}

Result<CreatedSubscription> HubAdmin::create(const SubscriptionOrder& order) {
  auto tenant = admin::limited(options_.admin, order.tenant);
  if (!tenant.ok()) return tenant.error();
  UlidSource ids(*options_.admin.clock, system_random());
  SubscriptionRecord record{.id = order.id.value_or(ids.next<SubscriptionId>()),
                            .tenant = tenant->value_or(std::string(tenant_default)),
                            .name = order.name,
                            .types = order.types,
                            .target = order.target,
                            .settings = order.settings};
  if (auto status = check(record, order.verify); !status.ok()) return status.error();
  const bool http = admin::is_http_target(record.target);
  if (http && box_ == nullptr) {
    return Error{Code::tx_invalid_state,
                 "requests to HTTP endpoints are signed, and there is no key to keep their "
                 "secrets with; " +
                     options_.secret_key_cure};
  }
  // Active only after its secret is stored, so that nothing is sent unsigned.
  if (!http) record.state = SubscriptionState::active;
  const auto known = hub_.subscriptions.get(record.id);
  if (!known.ok()) return known.error();
  if (*known) return created_before(record, order.verify);
  if (auto status = check_room(record.tenant); !status.ok()) return status.error();
  auto written = write(record, AuditKind::hub_subscription_created, "");
  if (!written.ok()) return written.error();
  CreatedSubscription created;
  if (http) {
    auto secret = add_secret(*written, Duration{}, AuditKind::hub_secret_created);
    if (!secret.ok()) {
      return Error{secret.error().code,
                   "subscription " + record.id.str() +
                       " was made without a secret; rotate its secret: " + secret.error().message};
    }
    created.secret = *std::move(secret);
    if (!order.verify) {
      written = activate(*written, AuditKind::hub_subscription_verified, "no proof was asked for");
      if (!written.ok()) return written.error();
    }
  }
  created.subscription = admin::subscription_view(*written, Admin::PayloadToo::no);
  return created;
}

/// The same order was repeated: this finishes what the first request began.
Result<CreatedSubscription> HubAdmin::created_before(const SubscriptionRecord& wanted,
                                                     bool verify) {
  auto found = existing(wanted.id);
  if (!found.ok()) return found.error();
  if (!says_the_same(*found, wanted)) {
    return Error{Code::tx_idempotent_mismatch,
                 "subscription " + wanted.id.str() + " is there and says something else"};
  }
  CreatedSubscription created{.duplicate = true};
  if (admin::is_http_target(found->target)) {
    const auto secrets = secrets_of(found->id);
    if (!secrets.ok()) return secrets.error();
    if (secrets->empty()) {
      auto secret = add_secret(*found, Duration{}, AuditKind::hub_secret_created);
      if (!secret.ok()) return secret.error();
      created.secret = *std::move(secret);
    }
    if (!verify && found->state == SubscriptionState::unverified) {
      found = activate(*found, AuditKind::hub_subscription_verified, "no proof was asked for");
      if (!found.ok()) return found.error();
    }
  }
  created.subscription = admin::subscription_view(*found, Admin::PayloadToo::no);
  return created;
}

Result<SubscriptionPage> HubAdmin::subscriptions(const SubscriptionQuery& query) const {
  if (auto status = admin::check_rows("limit", query.rows_max, rows_max); !status.ok()) {
    return status.error();
  }
  auto tenant = admin::limited(options_.admin, query.filter.tenant);
  if (!tenant.ok()) return tenant.error();
  spi::SubscriptionList request{.filter = query.filter, .rows_max = query.rows_max};
  request.filter.tenant = *std::move(tenant);
  if (!query.cursor.empty()) {
    const auto after = SubscriptionId::parse(query.cursor);
    if (!after.ok()) {
      return admin::wrong("cursor: " + quoted(query.cursor) +
                          " is not one; give `next` of the page before");
    }
    request.after = *after;
  }
  const auto rows = hub_.subscriptions.list(request);
  if (!rows.ok()) return rows.error();
  SubscriptionPage page;
  for (const auto& row : *rows) {
    page.rows.push_back(admin::subscription_view(row, Admin::PayloadToo::no));
  }
  if (rows->size() == query.rows_max) page.next = rows->back().id.str();
  return page;
}

Result<std::vector<SecretView>> HubAdmin::secrets_of(const SubscriptionId& id) const {
  const auto found = hub_.subscriptions.secrets(std::span(&id, 1));
  if (!found.ok()) return found.error();
  std::vector<SecretView> secrets;
  for (const auto& secret : found->front().secrets) {
    secrets.push_back({secret.number, secret.created_at, secret.expires_at});
  }
  return secrets;
}

Result<std::optional<SubscriptionView>> HubAdmin::subscription(const SubscriptionId& id,
                                                               Admin::PayloadToo payload) const {
  const auto found = stored(id);
  if (!found.ok()) return found.error();
  if (!*found) return std::optional<SubscriptionView>();
  auto view = admin::subscription_view(**found, payload);
  auto secrets = secrets_of(id);
  if (!secrets.ok()) return secrets.error();
  view.secrets = *std::move(secrets);
  return std::optional(std::move(view));
}

Result<SubscriptionView> HubAdmin::change(const SubscriptionChange& change) {
  for (int tries = 1;; ++tries) {
    const auto found = existing(change.id);
    if (!found.ok()) return found.error();
    if (change.version && *change.version != found->version) {
      return Error{Code::storage_conflict, "version: subscription " + change.id.str() +
                                               " has version " + std::to_string(found->version) +
                                               "; look at it and try again"};
    }
    auto next = *found;
    next.name = change.name.value_or(found->name);
    next.types = change.types.value_or(found->types);
    next.target = change.target.value_or(found->target);
    next.settings = change.settings.value_or(found->settings);
    if (auto status = check(next, change.verify); !status.ok()) return status.error();
    if (auto status = check_same_kind(*found, next); !status.ok()) return status.error();
    const auto differs = differences(*found, next);
    if (differs.empty()) return admin::subscription_view(*found, Admin::PayloadToo::no);
    // Before the change: otherwise it would match nothing during the verification, and lose events.
    if (change.verify && needs_proof_first(*found, next)) {
      if (auto status = proved(next); !status.ok()) return status.error();
    }
    const auto written = write(std::move(next), AuditKind::hub_subscription_changed, differs);
    if (written.ok()) return admin::subscription_view(*written, Admin::PayloadToo::no);
    const bool again = written.error().code == Code::storage_conflict && !change.version;
    if (!again || tries == change_tries) return written.error();
  }
}

Result<SubscriptionView> HubAdmin::act(const SubscriptionId& id, SubscriptionAct act,
                                       const std::string& note) {
  if (auto status = admin::check_hub_note(note); !status.ok()) return status.error();
  for (int tries = 1;; ++tries) {
    const auto found = existing(id);
    if (!found.ok()) return found.error();
    const auto plan = plan_of(act, *found);
    const bool enabled =
        act == SubscriptionAct::enable && found->state == SubscriptionState::active;
    if (found->state == plan.to || enabled) {
      return admin::subscription_view(*found, Admin::PayloadToo::no);
    }
    if (found->state != plan.from) return not_from(*found, participle(act));
    if (auto status = delivery::check_transition(found->state, plan.to); !status.ok()) {
      return status.error();
    }
    if (act == SubscriptionAct::enable) {
      if (auto status = check_room(found->tenant); !status.ok()) return status.error();
    }
    auto next = *found;
    next.state = plan.to;
    const bool stops = act == SubscriptionAct::pause || act == SubscriptionAct::disable;
    next.reason = stops ? note : std::string();
    const auto written = write(std::move(next), plan.kind, note);
    if (written.ok()) return admin::subscription_view(*written, Admin::PayloadToo::no);
    const bool again = written.error().code == Code::storage_conflict;
    if (!again || tries == change_tries) return written.error();
  }
}

Result<ProbeReport> HubAdmin::send_probe(EndpointProbe::Kind kind, const SubscriptionRecord& record,
                                         Admin::PayloadToo payload) const {
  if (!admin::is_http_target(record.target)) {
    return Error{Code::tx_invalid_state,
                 "subscription " + record.id.str() + " has no HTTP endpoint to ask"};
  }
  if (!options_.probe) {
    return Error{Code::tx_invalid_state,
                 "this process does not send to endpoints; ask a daemon that runs the hub "
                 "(--server URL)"};
  }
  auto secrets = hub_.subscriptions.secrets(std::span(&record.id, 1));
  if (!secrets.ok()) return secrets.error();
  auto report = options_.probe(
      {.kind = kind, .subscription = record, .secrets = std::move(secrets->front().secrets)});
  // An endpoint may return the data that it received, and reveal what is behind its address.
  if (report.ok() && payload == Admin::PayloadToo::no) report->answer.clear();
  return report;
}

Result<Verified> HubAdmin::verify(const SubscriptionId& id, Proof proof,
                                  Admin::PayloadToo payload) {
  const auto found = existing(id);
  if (!found.ok()) return found.error();
  if (proof == Proof::none) {
    auto status = admin::everybodys(options_.admin, "an endpoint that need not prove itself");
    if (!status.ok()) return status.error();
  }
  if (found->state == SubscriptionState::disabled) return not_from(*found, "verified");
  Verified verified{.subscription = admin::subscription_view(*found, Admin::PayloadToo::no)};
  if (found->state != SubscriptionState::unverified) return verified;
  if (proof == Proof::challenge) {
    auto report = send_probe(EndpointProbe::Kind::challenge, *found, payload);
    if (!report.ok()) return report.error();
    verified.report = *std::move(report);
    if (!verified.report->passed) return verified;
  }
  const auto active =
      activate(*found, AuditKind::hub_subscription_verified,
               proof == Proof::none ? "no proof was asked for" : "the endpoint proved itself");
  if (!active.ok()) return active.error();
  verified.subscription = admin::subscription_view(*active, Admin::PayloadToo::no);
  return verified;
}

Status HubAdmin::proved(const SubscriptionRecord& changed) const {
  const auto report = send_probe(EndpointProbe::Kind::challenge, changed, Admin::PayloadToo::no);
  if (!report.ok()) {
    return Error{report.error().code,
                 "target: the new endpoint has to prove itself before it replaces the one of "
                 "subscription " +
                     changed.id.str() + ": " + report.error().message};
  }
  if (report->passed) return {};
  return Error{Code::tx_invalid_state,
               "target: the new endpoint did not prove itself, and subscription " +
                   changed.id.str() + " stays as it is: " + report->error};
}

Result<ProbeReport> HubAdmin::ping(const SubscriptionId& id, Admin::PayloadToo payload) {
  const auto found = existing(id);
  if (!found.ok()) return found.error();
  auto report = send_probe(EndpointProbe::Kind::ping, *found, payload);
  if (!report.ok()) return report;
  tell(admin::subscription_event(AuditKind::hub_endpoint_pinged, *found, options_.admin.actor,
                                 report->passed ? "it answered" : report->error,
                                 options_.admin.clock->wall_now()));
  return report;
}

Result<NewSecret> HubAdmin::rotate_secret(const SubscriptionId& id, Duration overlap) {
  if (overlap < Duration::zero() || overlap > overlap_max) {
    return admin::wrong("overlap: " + duration_text(overlap) + "; give 0 to " +
                        duration_text(overlap_max));
  }
  const auto found = existing(id);
  if (!found.ok()) return found.error();
  if (!admin::is_http_target(found->target)) {
    return Error{Code::tx_invalid_state, "subscription " + id.str() +
                                             " has no HTTP endpoint, and nothing is signed for it"};
  }
  return add_secret(*found, overlap, AuditKind::hub_secret_created);
}

Result<std::optional<SubscriptionHealth>> HubAdmin::health(const SubscriptionId& id,
                                                           Duration since) const {
  if (since <= Duration::zero() || since > health_since_max) {
    return admin::wrong("since: " + duration_text(since) + "; give more than 0 and at most " +
                        duration_text(health_since_max));
  }
  const auto found = stored(id);
  if (!found.ok()) return found.error();
  if (!*found) return std::optional<SubscriptionHealth>();
  const auto& record = **found;
  SubscriptionHealth health{.id = id,
                            .name = record.name,
                            .state = record.state,
                            .reason = record.reason,
                            .since = since};
  auto attempts = hub_.admin.health(id, since, health_rows_max);
  if (!attempts.ok()) return attempts.error();
  health.attempts = *std::move(attempts);
  const auto counts =
      hub_.admin.count({.tenant = record.tenant, .subscription = id, .rows_max = health_rows_max});
  if (!counts.ok()) return counts.error();
  for (const auto& count : *counts) {
    if (count.state == DeliveryState::dead) {
      health.dead += count.deliveries;
      health.more_dead = count.more;
      continue;
    }
    health.open += count.deliveries;
    health.more_open = health.more_open || count.more;
    if (count.oldest && (!health.oldest_open || *count.oldest < *health.oldest_open)) {
      health.oldest_open = count.oldest;
    }
  }
  return std::optional(std::move(health));
}

Result<std::optional<DeliveryExplanation>> HubAdmin::explain(const SubscriptionId& id) const {
  const auto found = stored(id);
  if (!found.ok()) return found.error();
  if (!*found) return std::optional<DeliveryExplanation>();
  admin::SubscriptionFacts facts{
      .subscription = **found,
      .shard = spi::delivery_shard(id, hub_.events.capabilities().shards),
      .now = options_.admin.clock->wall_now()};
  auto health = this->health(id);
  if (!health.ok()) return health.error();
  if (!*health) return std::optional<DeliveryExplanation>();
  facts.health = **std::move(health);
  auto owners = store_->ownership().census(std::string(admin::deliveries_scope));
  if (!owners.ok()) return owners.error();
  facts.owners = *std::move(owners);
  if (options_.endpoint) facts.endpoint = options_.endpoint(id);
  return std::optional(admin::explain(facts));
}

}  // namespace sagabox
