#include "wire/field_reading.hpp"

#include "core/digest_text.hpp"
#include "core/text.hpp"
#include "observe/error_metrics.hpp"

namespace sagabox::wire {
namespace {

constexpr auto number_max = std::numeric_limits<std::uint64_t>::max();

}  // namespace

void must_have(Fields& fields, std::string_view name) {
  if (!fields.has_value(name)) fields.wrong(name, fields.has(name) ? "is null" : "is missing");
}

std::string text_in(Fields& fields, std::string_view name) {
  must_have(fields, name);
  return fields.text(name);
}

bool flag_in(Fields& fields, std::string_view name) {
  must_have(fields, name);
  return fields.flag(name);
}

std::vector<std::string> texts_in(Fields& fields, std::string_view name) {
  must_have(fields, name);
  return fields.texts(name);
}

std::optional<std::uint64_t> maybe_number_in(Fields& fields, std::string_view name) {
  return fields.count(name, 0, number_max);
}

std::uint64_t number_in(Fields& fields, std::string_view name) {
  must_have(fields, name);
  return maybe_number_in(fields, name).value_or(0);
}

std::optional<Duration> maybe_seconds_in(Fields& fields, std::string_view name) {
  constexpr double seconds_max = 1e9;
  const auto seconds = fields.number(name);
  if (!seconds) return std::nullopt;
  if (*seconds < -seconds_max || *seconds > seconds_max) {
    fields.wrong(name, "is not a number of seconds");
    return std::nullopt;
  }
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*seconds));
}

WallTime time_in(Fields& fields, std::string_view name) {
  must_have(fields, name);
  return fields.time(name).value_or(WallTime{});
}

MessageId message_id_in(Fields& fields, std::string_view name) {
  auto id = MessageId::parse(text_in(fields, name));
  if (id.ok()) return *id;
  fields.wrong(name, id.error().message);
  return {};
}

WorkerId worker_id_in(Fields& fields, std::string_view name) {
  auto id = WorkerId::parse(text_in(fields, name));
  if (id.ok()) return *id;
  fields.wrong(name, id.error().message);
  return {};
}

Digest digest_in(Fields& fields, std::string_view name) {
  const auto digest = digest_from_hex(text_in(fields, name));
  if (!digest) fields.wrong(name, "is not 64 hexadecimal digits");
  return digest.value_or(Digest{});
}

Severity severity_in(Fields& fields, std::string_view name) {
  const auto text = text_in(fields, name);
  for (const auto severity :
       {Severity::info, Severity::warning, Severity::error, Severity::critical}) {
    if (severity_name(severity) == text) return severity;
  }
  fields.wrong(name, quoted(text) + " is none of info, warning, error and critical");
  return Severity::error;
}

std::optional<Code> maybe_code_in(Fields& fields, std::string_view name) {
  const auto text = fields.maybe_text(name);
  if (!text) return std::nullopt;
  return code_from_name(*text);
}

}  // namespace sagabox::wire
