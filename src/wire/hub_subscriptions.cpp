#include "core/text.hpp"
#include "wire/field_reading.hpp"
#include "wire/hub.hpp"

#include <string_view>
#include <utility>

namespace sagabox::wire {
namespace {

constexpr std::string_view challenge_name = "challenge";
constexpr std::string_view no_proof_name = "none";

SubscriptionId subscription_id_in(Fields& fields, std::string_view name) {
  auto id = SubscriptionId::parse(text_in(fields, name));
  if (id.ok()) return *id;
  fields.wrong(name, id.error().message);
  return {};
}

SubscriptionState subscription_state_in(Fields& fields, std::string_view name) {
  const auto text = text_in(fields, name);
  const auto state = subscription_state_from_name(text);
  if (!state) fields.wrong(name, quoted(text) + " is unknown");
  return state.value_or(SubscriptionState::disabled);
}

std::string settings_from(Fields& fields) {
  const auto text = fields.raw("settings").value_or("");
  // Null must not be taken for empty settings.
  if (text == "null") fields.wrong("settings", "is null; give a value, or leave it out");
  return std::string(text);
}

void put_types(JsonOut& json, const std::vector<std::string>& types) {
  put_array(json, "types", types, [&](const std::string& type) { json.value(type); });
}

void put_secret(JsonOut& json, const SecretView& secret) {
  json.begin_object()
      .field("number", secret.number)
      .field("created_at", secret.created_at)
      .field_if("expires_at", secret.expires_at)
      .end_object();
}

SecretView read_secret_view(Fields& fields) {
  return {.number = small_in<std::uint32_t>(fields, "number"),
          .created_at = time_in(fields, "created_at"),
          .expires_at = fields.time("expires_at")};
}

void put_duration_if(JsonOut& json, std::string_view name, const std::optional<Duration>& time) {
  if (time) json.field(name, seconds(*time));
}

}  // namespace

std::string_view verify_name(bool verify) noexcept {
  return verify ? challenge_name : no_proof_name;
}

bool read_verify(Fields& fields) {
  const auto text = fields.maybe_text("verify").value_or(std::string(challenge_name));
  if (text != challenge_name && text != no_proof_name) {
    fields.wrong("verify", quoted(text) + "; give challenge or none");
  }
  return text != no_proof_name;
}

void put_members(JsonOut& json, const SubscriptionView& subscription) {
  const auto& record = subscription.record;
  json.field("id", record.id.view())
      .field("tenant", record.tenant)
      .field_if("name", record.name)
      .field("state", subscription_state_name(record.state))
      .field_if("reason", record.reason);
  put_types(json, record.types);
  json.field("target", record.target);
  json.name("settings").raw(record.settings.empty() ? "{}" : std::string_view(record.settings));
  json.field("version", record.version)
      .field_if("active_since", record.active_since)
      .field("created_at", record.created_at)
      .field("changed_at", record.changed_at)
      .field_if("problem", subscription.problem);
  if (subscription.secrets.empty()) return;
  put_array(json, "secrets", subscription.secrets,
            [&](const SecretView& secret) { put_secret(json, secret); });
}

SubscriptionView read_subscription(Fields& fields) {
  SubscriptionView view{.record = {.id = subscription_id_in(fields, "id"),
                                   .tenant = text_in(fields, "tenant"),
                                   .name = fields.text("name"),
                                   .state = subscription_state_in(fields, "state"),
                                   .types = texts_in(fields, "types"),
                                   .target = text_in(fields, "target"),
                                   .settings = settings_from(fields),
                                   .reason = fields.text("reason"),
                                   .active_since = fields.time("active_since"),
                                   .version = number_in(fields, "version"),
                                   .created_at = time_in(fields, "created_at"),
                                   .changed_at = time_in(fields, "changed_at")},
                        .problem = fields.text("problem")};
  if (fields.has_value("secrets")) view.secrets = list_in(fields, "secrets", read_secret_view);
  return view;
}

void put_members(JsonOut& json, const SubscriptionPage& page) {
  put_array(json, "subscriptions", page.rows);
  json.field_if("next", page.next);
}

SubscriptionPage read_subscription_page(Fields& fields) {
  return {.rows = list_in(fields, "subscriptions", read_subscription), .next = fields.text("next")};
}

void put_members(JsonOut& json, const SubscriptionOrder& order) {
  json.field("target", order.target)
      .field_if("tenant", order.tenant)
      .field_if("name", order.name)
      .field("verify", verify_name(order.verify));
  put_types(json, order.types);
  if (!order.settings.empty()) json.name("settings").raw(order.settings);
}

SubscriptionOrder read_subscription_order(Fields& fields) {
  return {.tenant = fields.maybe_text("tenant"),
          .name = fields.text("name"),
          .types = texts_in(fields, "types"),
          .target = text_in(fields, "target"),
          .settings = settings_from(fields),
          .verify = read_verify(fields)};
}

void put_members(JsonOut& json, const CreatedSubscription& created) {
  put_members(json, created.subscription);
  json.field("duplicate", created.duplicate);
  if (created.secret) put(json.name("secret"), *created.secret);
}

CreatedSubscription read_created_subscription(Fields& fields) {
  CreatedSubscription created{.subscription = read_subscription(fields),
                              .duplicate = flag_in(fields, "duplicate")};
  if (fields.has_value("secret")) created.secret = object_in(fields, "secret", read_new_secret);
  return created;
}

void put_members(JsonOut& json, const SubscriptionChange& change) {
  json.field("verify", verify_name(change.verify))
      .field_if("name", change.name)
      .field_if("target", change.target)
      .field_if("version", change.version);
  if (change.types) put_types(json, *change.types);
  if (change.settings) json.name("settings").raw(*change.settings);
}

SubscriptionChange read_subscription_change(Fields& fields) {
  SubscriptionChange change{.name = fields.maybe_text("name"),
                            .target = fields.maybe_text("target"),
                            .verify = read_verify(fields),
                            .version = maybe_number_in(fields, "version")};
  if (fields.has("types")) change.types = fields.texts("types");
  if (fields.has("settings")) change.settings = settings_from(fields);
  return change;
}

void put_members(JsonOut& json, const NewSecret& secret) {
  json.field("number", secret.number)
      .field("secret", secret.secret)
      .field_if("overlap_until", secret.overlap_until);
}

NewSecret read_new_secret(Fields& fields) {
  return {.number = small_in<std::uint32_t>(fields, "number"),
          .secret = text_in(fields, "secret"),
          .overlap_until = fields.time("overlap_until")};
}

void put_members(JsonOut& json, const ProbeReport& report) {
  json.field("passed", report.passed);
  if (report.status != 0) json.field("status", report.status);
  json.field("took_seconds", seconds(report.took))
      .field_if("error", report.error)
      .field_if("answer", report.answer);
}

ProbeReport read_probe_report(Fields& fields) {
  constexpr std::uint64_t status_max = 999;
  return {.passed = flag_in(fields, "passed"),
          .status = static_cast<int>(fields.count("status", 0, status_max).value_or(0)),
          .error = fields.text("error"),
          .answer = fields.text("answer"),
          .took = maybe_seconds_in(fields, "took_seconds").value_or(Duration{})};
}

void put_members(JsonOut& json, const Verified& verified) {
  put(json.name("subscription"), verified.subscription);
  if (verified.report) put(json.name("report"), *verified.report);
}

Verified read_verified(Fields& fields) {
  Verified verified{.subscription = object_in(fields, "subscription", read_subscription)};
  if (fields.has_value("report")) verified.report = object_in(fields, "report", read_probe_report);
  return verified;
}

void put_members(JsonOut& json, const SubscriptionHealth& health) {
  const auto& attempts = health.attempts;
  json.field("id", health.id.view())
      .field_if("name", health.name)
      .field("state", subscription_state_name(health.state))
      .field_if("reason", health.reason)
      .field("since_seconds", seconds(health.since))
      .field("completed", attempts.completed)
      .field("failed", attempts.failed)
      .field_if("success_rate", health.success_rate());
  put_duration_if(json, "p50_seconds", attempts.p50);
  put_duration_if(json, "p95_seconds", attempts.p95);
  json.field_if("last_completed_at", attempts.last_completed_at)
      .field_if("last_failed_at", attempts.last_failed_at)
      .field_if("last_error", attempts.last_error)
      .field_if("sampled_from", attempts.sampled_from)
      .field("open", health.open)
      .field("dead", health.dead)
      .field_if("oldest_open", health.oldest_open);
  if (health.more_open) json.field("more_open", true);
  if (health.more_dead) json.field("more_dead", true);
}

SubscriptionHealth read_subscription_health(Fields& fields) {
  SubscriptionHealth health{.id = subscription_id_in(fields, "id"),
                            .name = fields.text("name"),
                            .state = subscription_state_in(fields, "state"),
                            .reason = fields.text("reason")};
  must_have(fields, "since_seconds");
  health.since = maybe_seconds_in(fields, "since_seconds").value_or(Duration{});
  (void)fields.number("success_rate");  // computed from the other two
  health.attempts = {.completed = number_in(fields, "completed"),
                     .failed = number_in(fields, "failed"),
                     .p50 = maybe_seconds_in(fields, "p50_seconds"),
                     .p95 = maybe_seconds_in(fields, "p95_seconds"),
                     .last_completed_at = fields.time("last_completed_at"),
                     .last_failed_at = fields.time("last_failed_at"),
                     .last_error = fields.text("last_error"),
                     .sampled_from = fields.time("sampled_from")};
  health.open = number_in(fields, "open");
  health.dead = number_in(fields, "dead");
  health.oldest_open = fields.time("oldest_open");
  health.more_open = fields.flag("more_open");
  health.more_dead = fields.flag("more_dead");
  return health;
}

}  // namespace sagabox::wire
