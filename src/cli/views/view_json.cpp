#include "cli/views/view_json.hpp"

#include "cli/views/message_view.hpp"
#include "core/base64.hpp"
#include "core/text.hpp"
#include "observe/error_figures.hpp"

#include <boost/json.hpp>

#include <algorithm>

namespace sagabox::cli {
namespace {

namespace json = boost::json;

/// Texts that are no UTF-8 come from broken rows; a JSON reader would refuse them.
json::value text(std::string_view raw) {
  if (text_facts(raw).unprintable_at == std::string_view::npos) return json::value(raw);
  std::string clean;
  for (std::size_t at = 0; at < raw.size();) {
    const auto c = utf8_front(raw.substr(at));
    clean += c.bytes == 0 ? std::string_view("?") : raw.substr(at, c.bytes);
    at += std::max<std::size_t>(c.bytes, 1);
  }
  return json::value(clean);
}

json::value time_value(const std::optional<WallTime>& time) {
  return time ? json::value(utc_text(*time)) : json::value(nullptr);
}

json::value code_value(const std::optional<Code>& code) {
  return code ? json::value(code_name(*code)) : json::value(nullptr);
}

template <class T>
json::value maybe_text(const std::optional<T>& value) {
  return value ? text(*value) : json::value(nullptr);
}

double in_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

json::object finding_object(const spi::Finding& finding) {
  return {{"severity", severity_name(finding.severity)},
          {"what", text(finding.what)},
          {"cure", text(finding.cure)}};
}

json::object record_object(const TableName& table, const MessageRecord& record) {
  json::object object{{"table", table.str()},
                      {"id", record.id.view()},
                      {"state", state_name(record.state)},
                      {"sequence", record.sequence.value},
                      {"shard", record.shard.value},
                      {"tenant", text(record.tenant)},
                      {"topic", text(record.topic)},
                      {"key", record.key.empty() ? json::value(nullptr) : text(record.key)},
                      {"aggregate_type", text(record.aggregate_type)},
                      {"aggregate_id", text(record.aggregate_id)},
                      {"attempts", record.attempts},
                      {"replays", record.replays},
                      {"retrying", record.retrying},
                      {"written_at", utc_text(record.written_at)},
                      {"due", time_value(record.due)},
                      {"ended_at", time_value(record.ended_at)},
                      {"code", code_value(record.code)},
                      {"error", text(record.error)},
                      {"note", text(record.note)},
                      {"payload_bytes", record.payload_bytes},
                      {"digest", hex(record.digest)}};
  if (!record.decode_error.empty()) object["decode_error"] = text(record.decode_error);
  return object;
}

json::object filter_object(const MessageFilter& filter) {
  json::object object;
  const auto add = [&](std::string_view name, const std::optional<std::string>& value) {
    if (value) object[name] = text(*value);
  };
  add("tenant", filter.tenant);
  add("topic", filter.topic);
  add("aggregate_type", filter.aggregate_type);
  add("key", filter.key);
  if (filter.code) object["code"] = code_name(*filter.code);
  if (filter.from) object["since"] = utc_text(*filter.from);
  if (filter.until) object["until"] = utc_text(*filter.until);
  if (filter.first) object["first"] = filter.first->value;
  if (filter.last) object["last"] = filter.last->value;
  return object;
}

json::object job_object(const ReplayJob& job) {
  return {{"job", job.id.value},
          {"table", job.table},
          {"state", job_state_name(job.state)},
          {"from", state_name(job.from)},
          {"filter", filter_object(job.filter)},
          {"rate_max", job.rate_max},
          {"matched", job.matched},
          {"replayed", job.replayed},
          {"skipped", job.skipped},
          {"actor", text(job.actor)},
          {"error", text(job.error)},
          {"created_at", utc_text(job.created_at)},
          {"changed_at", utc_text(job.changed_at)}};
}

json::object shard_object(const spi::ShardOwner& shard) {
  const bool owned = !shard.owner.empty();
  return {
      {"shard", shard.shard.value},
      {"owner", owned ? json::value(shard.owner.view()) : json::value(nullptr)},
      {"lease_seconds", owned ? json::value(in_seconds(shard.lease_left)) : json::value(nullptr)},
      {"epoch", shard.epoch.value}};
}

json::value owner_value(const std::optional<spi::ShardOwner>& owner) {
  return owner ? json::value(owner->owner.view()) : json::value(nullptr);
}

json::array owner_counts(std::span<const spi::ShardOwner> shards) {
  json::array owners;
  for (const auto& [owner, count] : shards_by_owner(shards)) {
    owners.push_back(json::object{{"owner", owner.view()}, {"shards", count}});
  }
  return owners;
}

json::object status_object(const TableStatus& status) {
  const auto& stats = status.facts.stats;
  json::array findings;
  for (const auto& finding : admin::findings_of(status.facts)) {
    findings.push_back(finding_object(finding));
  }
  const auto rate = [](std::optional<double> known) {
    return known ? json::value(*known) : json::value(nullptr);
  };
  const auto& traffic = status.traffic;
  return {{"table", status.facts.table},
          {"pending", stats.pending},
          {"pending_estimated", stats.estimated},
          {"waiting", stats.waiting},
          {"retrying", status.retrying},
          {"done", stats.done},
          {"dead", stats.dead},
          {"quarantined", stats.quarantined},
          {"oldest_pending", time_value(stats.oldest_pending)},
          {"now", utc_text(stats.now)},
          {"in_per_second", rate(traffic ? std::optional(traffic->in) : std::nullopt)},
          {"out_per_second", rate(traffic ? traffic->out : std::nullopt)},
          {"owners", owner_counts(status.facts.owners)},
          {"findings", std::move(findings)}};
}

json::object target_object(const DestinationState& target) {
  const auto while_down = [&](Duration duration) {
    return target.down ? json::value(in_seconds(duration)) : json::value(nullptr);
  };
  return {{"target", text(target.target)},
          {"down", target.down},
          {"down_seconds", while_down(target.down_for)},
          {"next_try_seconds", while_down(target.next_probe)},
          {"under_way", target.under_way},
          {"error", text(target.last_error)}};
}

template <class Range, class Make>
json::array array_of(const Range& range, Make make) {
  json::array array;
  for (const auto& item : range) array.push_back(make(item));
  return array;
}

}  // namespace

std::string status_json(const std::string& store, std::span<const TableStatus> tables,
                        const Targets& targets) {
  return json::serialize(
      json::object{{"store", store},
                   {"tables", array_of(tables, status_object)},
                   {"targets", targets ? json::value(array_of(*targets, target_object))
                                       : json::value(nullptr)}});
}

std::string messages_json(const TableName& table, const MessagePage& page) {
  return json::serialize(json::object{
      {"messages", array_of(page.rows, [&](const auto& row) { return record_object(table, row); })},
      {"next", page.next.empty() ? json::value(nullptr) : json::value(page.next)}});
}

std::string message_json(const TableName& table, const MessageRecord& record) {
  auto object = record_object(table, record);
  object["history"] = array_of(record.history, [](const FailedAttempt& attempt) {
    return json::object{{"attempt", attempt.number},
                        {"at", utc_text(attempt.at)},
                        {"code", code_name(attempt.code)},
                        {"error", text(attempt.error)}};
  });
  if (record.message) {
    const auto& message = *record.message;
    object["content_type"] = text(message.content_type());
    object["headers"] = array_of(message.headers(), [](const auto& header) {
      return json::object{{"name", text(header.first)}, {"value", text(header.second)}};
    });
    const auto& payload = message.payload();
    if (payload.form() == PayloadForm::json) {
      // As it was written: a parser might change numbers.
      auto whole = json::serialize(object);
      whole.pop_back();
      return whole + ",\"payload\":" + std::string(payload.view()) + "}";
    }
    std::string encoded;
    append_base64(payload.view(), encoded);
    object["payload_base64"] = encoded;
  }
  return json::serialize(object);
}

std::string explanation_json(const TableName& table, const MessageId& id,
                             const Explanation& explanation) {
  return json::serialize(json::object{
      {"table", table.str()},
      {"id", id.view()},
      {"state", text(explanation.state)},
      {"reasons", array_of(explanation.reasons,
                           [](const Reason& reason) {
                             return json::object{{"why", why_name(reason.why)},
                                                 {"text", text(reason.text)}};
                           })},
      {"owner",
       explanation.owner.empty() ? json::value(nullptr) : json::value(text(explanation.owner))},
      {"next",
       explanation.next.empty() ? json::value(nullptr) : json::value(text(explanation.next))}});
}

std::string owners_json(std::span<const std::pair<TableName, Owners>> tables) {
  return json::serialize(json::object{
      {"tables", array_of(tables, [](const auto& table) {
         const Owners& owners = table.second;
         return json::object{
             {"table", table.first.str()},
             {"workers", array_of(owners.relays.live,
                                  [](const WorkerId& id) { return json::value(id.view()); })},
             {"shards", array_of(owners.relays.shards, shard_object)},
             {"replays", owner_value(owners.replayer)},
             {"purges", owner_value(owners.purger)}};
       })}});
}

std::string written_json(const TableName& table, const Written& written) {
  return json::serialize(json::object{{"table", table.str()},
                                      {"id", written.id.view()},
                                      {"sequence", written.sequence.value},
                                      {"duplicate", written.duplicate}});
}

std::string moved_json(const TableName& table, std::string_view act, std::span<const Moved> moved) {
  return json::serialize(json::object{
      {"table", table.str()},
      {"act", act},
      {"messages", array_of(moved, [](const Moved& one) {
         return json::object{{"id", one.id.view()},
                             {"was", one.was ? json::value(state_name(*one.was)) : nullptr},
                             {"moved", one.moved},
                             {"text", text(one.text)}};
       })}});
}

std::string preview_json(const TableName& table, const ReplayOrder& order,
                         const ReplayPreview& preview) {
  return json::serialize(json::object{{"table", table.str()},
                                      {"from", state_name(order.from)},
                                      {"filter", filter_object(order.filter)},
                                      {"matched", preview.matched},
                                      {"first", array_of(preview.first, [&](const auto& row) {
                                         return record_object(table, row);
                                       })}});
}

std::string job_json(const ReplayJob& job) { return json::serialize(job_object(job)); }

std::string jobs_json(std::span<const ReplayJob> jobs) {
  return json::serialize(json::object{{"jobs", array_of(jobs, job_object)}});
}

std::string pause_json(const TableName& table, const std::string& topic, bool paused,
                       bool changed) {
  return json::serialize(json::object{{"table", table.str()},
                                      {"topic", topic.empty() ? json::value(nullptr) : text(topic)},
                                      {"paused", paused},
                                      {"changed", changed}});
}

std::string purged_json(const TableName& table, const PurgeOrder& order, const Purged& purged) {
  return json::serialize(json::object{{"table", table.str()},
                                      {"state", state_name(order.state)},
                                      {"messages", purged.rows},
                                      {"dry_run", order.dry_run},
                                      {"stopped", purged.stopped}});
}

std::string schema_json(std::span<const spi::SchemaStep> steps) {
  return json::serialize(json::object{
      {"current",
       std::ranges::all_of(steps, [](const auto& s) { return s.applied_at.has_value(); }) &&
           !steps.empty()},
      {"steps", array_of(steps, [](const spi::SchemaStep& step) {
         return json::object{
             {"engine", step.engine},
             {"number", step.number},
             {"name", step.name},
             {"outbox", step.outbox.empty() ? json::value(nullptr) : json::value(step.outbox)},
             {"applied_at", time_value(step.applied_at)},
             {"shards", step.shards == 0 ? json::value(nullptr) : json::value(step.shards)},
             {"checksum_differs", step.checksum_differs}};
       })}});
}

std::string reshard_json(const std::string& table, const spi::ReshardReport& report) {
  return json::serialize(json::object{
      {"table", table},
      {"shards_before", report.shards_before},
      {"shards", report.shards},
      {"pending", report.pending},
      {"blocked_seconds", in_seconds(report.blocked)},
      {"relays",
       array_of(report.relays, [](const WorkerId& id) { return json::value(id.view()); })},
      {"changed", report.changed}});
}

std::string audit_json_report(const AuditReport& report) {
  return json::serialize(json::object{
      {"entries", report.entries},
      {"problems_found", report.problems_found},
      {"problems",
       array_of(report.problems, [](const std::string& problem) { return text(problem); })},
      {"anchor", std::to_string(report.head.number) + ":" + hex(report.head.hash)}});
}

std::string findings_json(std::span<const PlacedFinding> findings) {
  return json::serialize(
      json::object{{"findings", array_of(findings, [](const PlacedFinding& placed) {
                      auto object = finding_object(placed.second);
                      object["where"] = text(placed.first);
                      return object;
                    })}});
}

std::string event_json(const TableName& table, std::string_view event,
                       const MessageRecord& record) {
  auto object = record_object(table, record);
  object["event"] = event;
  return json::serialize(object);
}

}  // namespace sagabox::cli
