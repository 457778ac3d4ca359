#include "wire/replays.hpp"

#include "core/text.hpp"
#include "wire/field_reading.hpp"
#include "wire/filters.hpp"
#include "wire/messages.hpp"

namespace sagabox::wire {
namespace {

ReplayJob::State job_state_in(Fields& fields, std::string_view name) {
  const auto text = text_in(fields, name);
  using State = ReplayJob::State;
  for (const auto state : {State::running, State::stopped, State::finished, State::failed}) {
    if (job_state_name(state) == text) return state;
  }
  fields.wrong(name, quoted(text) + " is unknown");
  return State::running;
}

}  // namespace

void put_members(JsonOut& json, const ReplayJob& job) {
  json.field("job", job.id.value)
      .field("table", job.table)
      .field("state", job_state_name(job.state))
      .field("from", state_name(job.from))
      .name("filter");
  put(json, job.filter)
      .field("rate_max", job.rate_max)
      .field("as_new", job.as_new)
      .field("matched", job.matched)
      .field("replayed", job.replayed)
      .field("skipped", job.skipped)
      .field("cursor", job.cursor.value)
      .field("last", job.last.value)
      .field("actor", job.actor)
      .field_if("error", job.error)
      .field("created_at", job.created_at)
      .field("changed_at", job.changed_at);
}

void put_members(JsonOut& json, std::span<const ReplayJob> jobs) {
  put_array(json, "replays", jobs);
}

ReplayJob read_job(Fields& fields) {
  ReplayJob job;
  job.id = ReplayJobId{number_in(fields, "job")};
  job.table = text_in(fields, "table");
  job.state = job_state_in(fields, "state");
  must_have(fields, "from");
  job.from = read_state(fields, "from").value_or(MessageState::dead);
  job.filter = object_in(fields, "filter", read_filter<Fields>);
  job.cursor = Sequence{number_in(fields, "cursor")};
  job.last = Sequence{number_in(fields, "last")};
  job.rate_max = small_in<std::uint32_t>(fields, "rate_max");
  job.as_new = fields.flag("as_new");  // daemons before 0.1.0 do not send it
  job.matched = number_in(fields, "matched");
  job.replayed = number_in(fields, "replayed");
  // Daemons before 0.1.0 do not send it.
  job.skipped = maybe_number_in(fields, "skipped").value_or(0);
  job.actor = text_in(fields, "actor");
  job.error = fields.text("error");
  job.created_at = time_in(fields, "created_at");
  job.changed_at = time_in(fields, "changed_at");
  return job;
}

std::vector<ReplayJob> read_jobs(Fields& fields) { return list_in(fields, "replays", read_job); }

void put_members(JsonOut& json, const TableName& table, const ReplayPreview& preview) {
  json.field("matched", preview.matched).field("older_than_window", preview.older_than_window);
  put_array(json, "first", preview.first, [&](const auto& row) { put(json, table, row); });
  json.name("notes").begin_array();
  for (const auto& note : preview.notes) json.value(note);
  json.end_array();
}

ReplayPreview read_preview(Fields& fields) {
  ReplayPreview preview{.matched = number_in(fields, "matched")};
  // Daemons before 0.1.0 do not send it.
  preview.older_than_window = maybe_number_in(fields, "older_than_window").value_or(0);
  preview.first = list_in(fields, "first", read_message);
  preview.notes = fields.texts("notes");
  return preview;
}

}  // namespace sagabox::wire
