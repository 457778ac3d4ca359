#include "cli/views/hub_view.hpp"

#include "cli/views/operator_view.hpp"
#include "cli/views/text_table.hpp"
#include "core/base64.hpp"
#include "core/json_quote.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string_view>

namespace sagabox::cli {
namespace {

constexpr std::size_t name_shown_max = 40;
constexpr std::size_t problem_shown_max = 80;
constexpr double percent = 100;

Style subscription_style(SubscriptionState state) {
  switch (state) {
    case SubscriptionState::active:
      return Style::good;
    case SubscriptionState::disabled:
      return Style::bad;
    case SubscriptionState::unverified:
    case SubscriptionState::paused:
      break;
  }
  return Style::warning;
}

Style delivery_style(DeliveryState state) {
  if (state == DeliveryState::completed) return Style::good;
  return state == DeliveryState::dead ? Style::bad : Style::plain;
}

std::string hub_ago(WallTime then, WallTime now) { return age_text(now - then) + " ago"; }

std::string millis_text(Duration duration) {
  return fmt::format("{:.0f} ms", std::chrono::duration<double, std::milli>(duration).count());
}

std::string listed_types(const std::vector<std::string>& texts) {
  std::string all;
  for (const auto& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

/// Escapes characters that would affect a terminal.
std::string escaped(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  // JSON does not escape DEL and C1.
  return shortened(out, out.size());
}

/// "TX.TIMEOUT no answer in 15s"
std::string attempt_failure(const std::optional<Code>& code, std::string_view error) {
  std::string text = code ? std::string(code_name(*code)) : std::string();
  if (!text.empty() && !error.empty()) text += ' ';
  text += error;
  return shortened(text, problem_shown_max);
}

Line fact(std::string_view name, std::string_view value) {
  return Line().add(fmt::format("  {:<10}", name), Style::faint).add(value);
}

void add_fact(std::vector<Line>& lines, std::string_view name, std::string_view value) {
  if (!value.empty()) lines.push_back(fact(name, value));
}

void add_event_payload(std::vector<Line>& lines, const EventView& event) {
  if (!event.payload) return;
  for (const auto& [name, value] : event.headers) {
    lines.push_back(fact("header", shortened(name + ": " + value, name.size() + value.size() + 2)));
  }
  if (event.payload->form() == PayloadForm::json) {
    const auto text = event.payload->view();
    lines.push_back(fact("payload", shortened(text, text.size())));
    return;
  }
  std::string base64;
  append_base64(event.payload->view(), base64);
  lines.push_back(fact("base64", base64));
}

/// The result of an attempt, or its current state.
std::string attempt_text(const JobRecord& attempt) {
  const auto& result = attempt.result;
  switch (attempt.state) {
    case HubJobState::pending:
      return "waits for a worker";
    case HubJobState::leased:
      return "is made by " + attempt.worker;
    case HubJobState::completed:
    case HubJobState::failed:
      break;
  }
  std::string text = millis_text(result.took);
  if (result.status != 0) text += "  " + std::to_string(result.status);
  const auto failure = attempt_failure(result.code, result.error);
  if (!failure.empty()) text += "  " + failure;
  if (result.retry_after) text += "  asked to wait " + age_text(*result.retry_after);
  if (attempt.resets > 0) text += fmt::format("  workers lost: {}", attempt.resets);
  return text;
}

std::string_view attempt_symbol(HubJobState state) {
  if (state == HubJobState::completed) return "✓";
  return state == HubJobState::failed ? "✗" : "▸";
}

}  // namespace

std::string deliveries_text(std::uint64_t count) {
  return grouped(count) + (count == 1 ? " delivery" : " deliveries");
}

std::vector<Line> event_list(std::span<const EventView> events, WallTime now) {
  if (events.empty()) return {Line().add("no event", Style::faint)};
  TextTable table({{.heading = "id"},
                   {.heading = "type"},
                   {.heading = "published", .side = TextTable::Side::right},
                   {.heading = "bytes", .side = TextTable::Side::right},
                   {.heading = "tenant"},
                   {.heading = "key"},
                   {.heading = "source"},
                   {.heading = "external id"}});
  for (const auto& event : events) {
    table.add({{event.id.str()},
               {event.type},
               {age_text(now - event.published_at)},
               {grouped(event.payload_bytes)},
               {event.tenant},
               {shortened(event.key, name_shown_max)},
               {shortened(event.source, name_shown_max)},
               {shortened(event.external_id, name_shown_max)}});
  }
  return table.lines();
}

std::vector<Line> event_details(const EventView& event) {
  std::vector<Line> lines{
      Line().add(event.type, Style::strong).add(" · published " + utc_text(event.published_at))};
  add_fact(lines, "id", event.id.view());
  add_fact(lines, "tenant", event.tenant);
  add_fact(lines, "key", shortened(event.key, event.key.size()));
  add_fact(lines, "source", shortened(event.source, event.source.size()));
  add_fact(lines, "external", shortened(event.external_id, event.external_id.size()));
  add_fact(lines, "sequence", std::to_string(event.sequence.value));
  add_fact(lines, "correlates", event.correlation_id);
  add_fact(lines, "content",
           fmt::format("{}, {} bytes, sha256 {}", event.content_type, grouped(event.payload_bytes),
                       hex(event.digest)));
  add_event_payload(lines, event);
  return lines;
}

std::vector<Line> subscription_list(std::span<const SubscriptionView> subscriptions) {
  if (subscriptions.empty()) return {Line().add("no subscription", Style::faint)};
  TextTable table({{.heading = "id"},
                   {.heading = "name"},
                   {.heading = "state"},
                   {.heading = "tenant"},
                   {.heading = "types"},
                   {.heading = "target"}});
  for (const auto& one : subscriptions) {
    const auto& record = one.record;
    table.add({{record.id.str()},
               {shortened(record.name, name_shown_max)},
               {std::string(subscription_state_name(record.state)) +
                    (one.problem.empty() ? "" : ", waits"),
                one.problem.empty() ? subscription_style(record.state) : Style::bad},
               {record.tenant},
               {shortened(listed_types(record.types), name_shown_max)},
               {shortened(record.target, record.target.size())}});
  }
  return table.lines();
}

std::vector<Line> subscription_details(const SubscriptionView& subscription, WallTime now) {
  const auto& record = subscription.record;
  Line title;
  title.add(record.name.empty() ? record.id.str() : shortened(record.name, record.name.size()),
            Style::strong);
  title.add(" · ").add(subscription_state_name(record.state), subscription_style(record.state));
  title.add(" · changed " + hub_ago(record.changed_at, now));
  std::vector<Line> lines{std::move(title)};
  add_fact(lines, "id", record.id.view());
  add_fact(lines, "tenant", record.tenant);
  add_fact(lines, "types", listed_types(record.types));
  add_fact(lines, "target", shortened(record.target, record.target.size()));
  add_fact(lines, "settings", shortened(record.settings, record.settings.size()));
  add_fact(lines, "reason", shortened(record.reason, record.reason.size()));
  add_fact(lines, "version", std::to_string(record.version));
  if (record.active_since) add_fact(lines, "since", utc_text(*record.active_since));
  for (const auto& secret : subscription.secrets) {
    add_fact(lines, "secret",
             fmt::format("{}, made {}{}", secret.number, utc_text(secret.created_at),
                         secret.expires_at ? ", signs until " + utc_text(*secret.expires_at) : ""));
  }
  if (!subscription.problem.empty()) {
    lines.push_back(Line().add("  its deliveries wait: " + subscription.problem, Style::bad));
  }
  return lines;
}

std::vector<Line> new_secret_lines(const NewSecret& secret) {
  std::vector<Line> lines{Line("secret ").add(secret.secret, Style::strong)};
  if (secret.overlap_until) {
    lines.emplace_back("the secrets before sign until " + utc_text(*secret.overlap_until) +
                       ", too");
  }
  lines.push_back(
      Line().add("keep it now: it is not shown again; requests are signed with it as Standard "
                 "Webhooks says",
                 Style::faint));
  return lines;
}

Line probe_line(const ProbeReport& report) {
  Line line;
  line.add(report.passed ? "answered" : "failed", report.passed ? Style::good : Style::bad);
  if (report.status != 0) line.add("  " + std::to_string(report.status));
  line.add("  " + millis_text(report.took));
  if (!report.error.empty()) line.add("  " + escaped(report.error));
  if (!report.passed && !report.answer.empty()) line.add("  " + escaped(report.answer));
  return line;
}

std::vector<Line> health_lines(const SubscriptionHealth& health, WallTime now) {
  const auto& attempts = health.attempts;
  Line title;
  title.add(health.name.empty() ? health.id.str() : shortened(health.name, health.name.size()),
            Style::strong);
  title.add(" · ").add(subscription_state_name(health.state), subscription_style(health.state));
  if (!health.reason.empty()) title.add(": " + shortened(health.reason, problem_shown_max));
  std::vector<Line> lines{std::move(title)};
  const auto rate = health.success_rate();
  add_fact(lines, "attempts",
           rate
               ? fmt::format("{} completed, {} failed: {:.1f} % in {}", grouped(attempts.completed),
                             grouped(attempts.failed), *rate * percent, age_text(health.since))
               : "none in " + age_text(health.since));
  if (attempts.sampled_from) {
    add_fact(lines, "sample",
             "the newest " + grouped(attempts.completed + attempts.failed) +
                 " attempts; the first of them ended " + hub_ago(*attempts.sampled_from, now));
  }
  if (attempts.p50 && attempts.p95) {
    add_fact(lines, "answers",
             fmt::format("p50 {}, p95 {}", millis_text(*attempts.p50), millis_text(*attempts.p95)));
  }
  if (attempts.last_completed_at) {
    add_fact(lines, "success", hub_ago(*attempts.last_completed_at, now));
  }
  if (attempts.last_failed_at) {
    add_fact(lines, "failure",
             hub_ago(*attempts.last_failed_at, now) +
                 (attempts.last_error.empty()
                      ? ""
                      : ": " + shortened(attempts.last_error, problem_shown_max)));
  }
  add_fact(lines, "open",
           deliveries_text(health.open) + (health.more_open ? " or more" : "") +
               (health.oldest_open ? ", the oldest " + hub_ago(*health.oldest_open, now) : ""));
  add_fact(lines, "dead", deliveries_text(health.dead) + (health.more_dead ? " or more" : ""));
  return lines;
}

std::vector<Line> delivery_list(std::span<const DeliveryRecord> deliveries, WallTime now) {
  if (deliveries.empty()) return {Line().add("no delivery", Style::faint)};
  TextTable table({{.heading = "id"},
                   {.heading = "state"},
                   {.heading = "type"},
                   {.heading = "subscription"},
                   {.heading = "attempts", .side = TextTable::Side::right},
                   {.heading = "made", .side = TextTable::Side::right},
                   {.heading = "last failure"}});
  for (const auto& delivery : deliveries) {
    table.add({{delivery.id.str()},
               {std::string(delivery_state_name(delivery.state)), delivery_style(delivery.state)},
               {delivery.type},
               {delivery.subscription.str()},
               {std::to_string(delivery.attempt)},
               {age_text(now - delivery.created_at)},
               {attempt_failure(delivery.code, delivery.error)}});
  }
  return table.lines();
}

std::vector<Line> delivery_count_list(std::span<const spi::DeliveryCount> counts, WallTime now) {
  if (counts.empty()) return {Line().add("no delivery is open or dead", Style::faint)};
  TextTable table({{.heading = "subscription"},
                   {.heading = "state"},
                   {.heading = "deliveries", .side = TextTable::Side::right},
                   {.heading = "oldest", .side = TextTable::Side::right}});
  for (const auto& count : counts) {
    table.add({{count.subscription.str()},
               {std::string(delivery_state_name(count.state)), delivery_style(count.state)},
               {grouped(count.deliveries) + (count.more ? " or more" : "")},
               {count.oldest ? age_text(now - *count.oldest) : ""}});
  }
  return table.lines();
}

std::vector<Line> delivery_details(const DeliveryView& view) {
  const auto& delivery = view.delivery;
  Line title;
  title.add(delivery.type, Style::strong);
  title.add(" to " + (view.subscription_name.empty()
                          ? delivery.subscription.str()
                          : shortened(view.subscription_name, name_shown_max)));
  title.add(" · ").add(delivery_state_name(delivery.state), delivery_style(delivery.state));
  title.add(" · made " + hub_ago(delivery.created_at, view.seen_at));
  std::vector<Line> lines{std::move(title)};
  add_fact(lines, "id", delivery.id.view());
  add_fact(lines, "event", delivery.event.view());
  add_fact(lines, "endpoint",
           delivery.subscription.str() + "  " + shortened(view.target, view.target.size()));
  add_fact(lines, "tenant", delivery.tenant);
  add_fact(lines, "key", shortened(delivery.key, delivery.key.size()));
  if (delivery.generation > 0) add_fact(lines, "requeue", std::to_string(delivery.generation));
  const bool waits = delivery.state == DeliveryState::pending && delivery.attempt > 0 &&
                     delivery.next_attempt_at > view.seen_at;
  if (waits) {
    add_fact(lines, "next",
             "attempt " + std::to_string(delivery.attempt + 1) + " in " +
                 age_text(delivery.next_attempt_at - view.seen_at));
  }
  for (const auto& attempt : view.attempts) {
    const auto style = attempt.state == HubJobState::completed ? Style::good
                       : attempt.state == HubJobState::failed  ? Style::bad
                                                               : Style::plain;
    lines.push_back(Line("  ")
                        .add(attempt_symbol(attempt.state), style)
                        .add(fmt::format(" {:>2}  {}  {}", attempt.attempt,
                                         utc_text(attempt.attempt_at), attempt_text(attempt))));
    if (!attempt.result.answer.empty()) {
      lines.push_back(Line().add("        answer " + escaped(attempt.result.answer), Style::faint));
    }
  }
  if (view.event) {
    add_event_payload(lines, *view.event);
  } else {
    lines.push_back(Line().add("  its event is gone", Style::faint));
  }
  return lines;
}

Line requeued_line(const spi::Requeued& requeued) {
  Line line(requeued.from.str() + "  ");
  switch (requeued.outcome) {
    case spi::Requeued::Outcome::made:
      return line.add("requeued", Style::good).add(" as " + requeued.made.str());
    case spi::Requeued::Outcome::repeated:
      return line.add("was requeued before", Style::faint).add(" as " + requeued.made.str());
    case spi::Requeued::Outcome::not_newest:
      return line.add("not: ", Style::warning)
          .add("its requeue died, too; requeue that one (sagabox explain shows it)");
    case spi::Requeued::Outcome::not_dead:
      break;
  }
  return line.add("not: ", Style::warning).add("no dead delivery has this id");
}

}  // namespace sagabox::cli
