#include "cli/views/message_view.hpp"

#include "cli/views/operator_view.hpp"
#include "cli/views/text_table.hpp"
#include "core/text.hpp"
#include "observe/error_metrics.hpp"

#include <fmt/format.h>

#include <map>

namespace sagabox::cli {
namespace {

constexpr std::size_t topic_columns_max = 40;
constexpr std::size_t key_columns_max = 24;
constexpr std::size_t text_columns_max = 300;
constexpr std::size_t why_columns_max = 120;
constexpr auto right = TextTable::Side::right;

std::string clean(std::string_view text) { return shortened(text, text_columns_max); }

std::string failure_text(std::optional<Code> code, const std::string& error) {
  if (!code) return {};
  return std::string(code_name(*code)) + (error.empty() ? "" : " " + clean(error));
}

WallTime since(const MessageRecord& record) { return record.ended_at.value_or(record.written_at); }

Line field(std::string_view name, std::string_view value, Style style = Style::plain) {
  return Line().add(fmt::format("{:<12}", name), Style::faint).add(value, style);
}

std::string moment(WallTime time, WallTime now) {
  const auto away = time > now ? "in " + age_text(time - now) : age_text(now - time) + " ago";
  return utc_text(time) + " (" + away + ")";
}

Style style_of(MessageState state) {
  if (state == MessageState::dead) return Style::bad;
  if (state == MessageState::quarantined) return Style::warning;
  return state == MessageState::done ? Style::good : Style::plain;
}

Style style_of(Severity severity) {
  if (severity == Severity::info) return Style::faint;
  return severity == Severity::warning ? Style::warning : Style::bad;
}

void add_payload(const MessageRecord& record, std::vector<Line>& lines) {
  if (!record.message) return;
  const auto& payload = record.message->payload();
  for (const auto& [name, value] : record.message->headers()) {
    lines.push_back(field("header", clean(name) + ": " + clean(value)));
  }
  lines.emplace_back();
  if (payload.form() == PayloadForm::json &&
      text_facts(payload.view()).unprintable_at == std::string_view::npos) {
    lines.emplace_back(payload.view());
  } else {
    lines.push_back(
        Line().add(fmt::format("{} bytes that are not text; see them with --json", payload.size()),
                   Style::faint));
  }
}

}  // namespace

std::string why_text(const MessageRecord& record, WallTime now) {
  const auto failure = failure_text(record.code, record.error);
  switch (record.state) {
    case MessageState::quarantined:
      return clean(record.note) + (failure.empty() ? "" : " (" + failure + ")");
    case MessageState::pending:
      if (record.due && *record.due > now) {
        const auto in = age_text(*record.due - now);
        return record.retrying ? "retry in " + in + ": " + failure : "due in " + in;
      }
      return failure;
    case MessageState::done:
    case MessageState::dead:
      break;
  }
  return failure;
}

std::vector<Line> message_list(std::span<const MessageRecord> messages, WallTime now) {
  TextTable table(
      {{"ID"}, {"SEQ", right}, {"TOPIC"}, {"KEY"}, {"TRIES", right}, {"AGE", right}, {"WHY"}});
  for (const auto& message : messages) {
    table.add({{message.id.str(), style_of(message.state)},
               {std::to_string(message.sequence.value)},
               {shortened(message.topic, topic_columns_max)},
               {message.key.empty() ? "-" : shortened(message.key, key_columns_max)},
               {std::to_string(message.attempts)},
               {age_text(now - since(message))},
               {shortened(why_text(message, now), why_columns_max)}});
  }
  return table.lines();
}

std::vector<Line> message_details(const MessageRecord& record, WallTime now) {
  std::vector<Line> lines{field("id", record.id.view(), Style::strong),
                          field("state", state_name(record.state), style_of(record.state)),
                          field("topic", clean(record.topic))};
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) lines.push_back(field(name, clean(value)));
  };
  add("key", record.key);
  add("tenant", record.tenant);
  if (record.aggregate_type != aggregate_global || !record.aggregate_id.empty()) {
    add("aggregate", record.aggregate_type + " " + record.aggregate_id);
  }
  add("sequence", fmt::format("{}, shard {}", record.sequence.value, record.shard.value));
  add(record.replays == 0 ? "written" : "replayed", moment(record.written_at, now));
  if (record.due) add(record.retrying ? "retry" : "due", moment(*record.due, now));
  if (record.ended_at) add("ended", moment(*record.ended_at, now));
  add("attempts", std::to_string(record.attempts));
  if (record.replays > 0) add("replays", std::to_string(record.replays));
  add("failure", failure_text(record.code, record.error));
  add("note", record.note);
  add("not read", record.decode_error);
  add("payload", fmt::format("{} bytes, sha256 {}", record.payload_bytes, hex(record.digest)));
  for (const auto& attempt : record.history) {
    lines.push_back(
        field(fmt::format("attempt {}", attempt.number),
              moment(attempt.at, now) + "  " + failure_text(attempt.code, attempt.error)));
  }
  add_payload(record, lines);
  return lines;
}

std::string selection_text(MessageState from, const MessageFilter& filter) {
  std::string text(state_name(from));
  const auto add = [&](std::string_view name, const std::optional<std::string>& value) {
    if (value) text += fmt::format(", {} {}", name, clean(*value));
  };
  add("tenant", filter.tenant);
  add("topic", filter.topic);
  add("aggregate", filter.aggregate_type);
  add("key", filter.key);
  if (filter.code) add("code", std::string(code_name(*filter.code)));
  if (filter.from) add("since", utc_text(*filter.from));
  if (filter.until) add("until", utc_text(*filter.until));
  if (filter.first) add("from seq", std::to_string(filter.first->value));
  if (filter.last) add("to seq", std::to_string(filter.last->value));
  return text;
}

std::vector<Line> job_list(std::span<const ReplayJob> jobs, WallTime now) {
  if (jobs.empty()) return {Line().add("no replay jobs", Style::faint)};
  TextTable table({{"JOB", right},
                   {"STATE"},
                   {"REPLAYED", right},
                   {"OF", right},
                   {"RATE", right},
                   {"AGE", right},
                   {"BY"},
                   {"MESSAGES"}});
  for (const auto& job : jobs) {
    table.add({{std::to_string(job.id.value)},
               {std::string(job_state_name(job.state)),
                job.state == ReplayJob::State::failed ? Style::bad : Style::plain},
               {grouped(job.replayed)},
               {grouped(job.matched)},
               {job.rate_max == 0 ? "-" : fmt::format("{}/s", job.rate_max)},
               {age_text(now - job.created_at)},
               {clean(job.actor)},
               {selection_text(job.from, job.filter)}});
  }
  return table.lines();
}

std::vector<Line> job_details(const ReplayJob& job, WallTime now) {
  std::vector<Line> lines{
      replay_bar(job),
      field("state", job_state_name(job.state)),
      field("messages", selection_text(job.from, job.filter)),
      field("rate", job.rate_max == 0 ? "as fast as it goes" : fmt::format("{}/s", job.rate_max)),
      field("started", moment(job.created_at, now) + " by " + clean(job.actor)),
      field("changed", moment(job.changed_at, now))};
  if (job.as_new) lines.push_back(field("as new", "consumers handle them again"));
  if (job.skipped > 0) {
    lines.push_back(
        field("skipped", grouped(job.skipped) + ": their ids are pending again", Style::warning));
  }
  if (!job.error.empty()) lines.push_back(field("error", clean(job.error), Style::bad));
  return lines;
}

std::vector<Line> moved_list(std::span<const Moved> moved) {
  std::vector<Line> lines;
  for (const auto& one : moved) {
    lines.push_back(
        Line(one.id.view()).add(" ").add(one.text, one.moved ? Style::good : Style::warning));
  }
  return lines;
}

std::map<WorkerId, std::uint64_t> shards_by_owner(std::span<const spi::ShardOwner> shards) {
  std::map<WorkerId, std::uint64_t> counts;
  for (const auto& shard : shards) {
    if (!shard.owner.empty() && shard.lease_left > Duration::zero()) ++counts[shard.owner];
  }
  return counts;
}

std::string owners_text(std::span<const spi::ShardOwner> shards) {
  const auto counts = shards_by_owner(shards);
  if (counts.empty()) return "nobody";
  std::string text;
  for (const auto& [owner, count] : counts) {
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", owner.view(), count,
                        count == 1 ? "shard" : "shards");
  }
  return text;
}

std::vector<Line> owners_view(const TableName& table, const Owners& owners) {
  std::vector<Line> lines{
      Line().add(table.str(), Style::strong).add(": " + owners_text(owners.relays.shards))};
  const auto single = [&](std::string_view what, const std::optional<spi::ShardOwner>& owner) {
    lines.push_back(Line()
                        .add(fmt::format("  {}: ", what), Style::faint)
                        .add(owner ? owner->owner.str() : std::string("nobody")));
  };
  single("replays", owners.replayer);
  single("purges", owners.purger);
  TextTable shards({{"SHARD", right}, {"OWNER"}, {"LEASE", right}, {"EPOCH", right}});
  for (const auto& shard : owners.relays.shards) {
    const bool owned = !shard.owner.empty();
    const bool live = owned && shard.lease_left > Duration::zero();
    shards.add({{std::to_string(shard.shard.value)},
                {owned ? shard.owner.str() : "nobody", live ? Style::plain : Style::warning},
                {!owned ? "-"
                 : live ? age_text(shard.lease_left)
                        : "run out"},
                {std::to_string(shard.epoch.value)}});
  }
  if (shards.empty()) {
    lines.push_back(Line().add("  no relay has ever asked for its shards", Style::faint));
    return lines;
  }
  for (auto& line : shards.lines("  ")) lines.push_back(std::move(line));
  return lines;
}

std::vector<Line> finding_lines(const spi::Finding& finding, const std::string& where) {
  const std::string place = where.empty() ? "" : where + ": ";
  std::vector<Line> lines{
      Line()
          .add(fmt::format("{:<9}", severity_name(finding.severity)), style_of(finding.severity))
          .add(place + clean(finding.what))};
  if (!finding.cure.empty()) {
    lines.push_back(Line().add("         → " + clean(finding.cure), Style::faint));
  }
  return lines;
}

}  // namespace sagabox::cli
