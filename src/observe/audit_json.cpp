#include "core/text.hpp"
#include "core/timestamp.hpp"

#include <sagabox/audit.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <array>
#include <charconv>
#include <cstdio>
#include <limits>

namespace sagabox {
namespace {

namespace json = boost::json;
namespace chrono = std::chrono;

constexpr std::size_t fields = 15;

std::string_view view(json::string_view text) { return {text.data(), text.size()}; }

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto bytes = utf8_front(text.substr(at)).bytes;
    if (bytes == 0) return false;
    at += bytes;
  }
  return true;
}

std::string hex_text(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    unsigned byte = 0;
    const char* const end = text.data() + at + 2;
    const auto [stopped, error] = std::from_chars(text.data() + at, end, byte, 16);
    if (error != std::errc() || stopped != end) return std::nullopt;
    bytes += static_cast<char>(static_cast<unsigned char>(byte));
  }
  return bytes;
}

json::value text_value(std::string_view text) {
  if (is_utf8(text)) return json::string(text);
  return json::object{{"hex", hex_text(text)}};
}

/// RFC 3339 has four digits for a year. Times outside these years are written as microseconds since
/// 1970.
constexpr WallTime first_with_date{chrono::sys_days{chrono::year{0} / 1 / 1}};
constexpr WallTime first_beyond{chrono::sys_days{chrono::year{10'000} / 1 / 1}};

json::value time_value(WallTime time) {
  if (time < first_with_date || time >= first_beyond) return time.time_since_epoch().count();
  return json::string(timestamp_text(time));
}

std::optional<WallTime> time_of_text(std::string_view text) {
  constexpr std::string_view form = "0000-00-00T00:00:00.000000Z";
  if (text.size() != form.size()) return std::nullopt;
  for (std::size_t at = 0; at < form.size(); ++at) {
    const bool digit = text[at] >= '0' && text[at] <= '9';
    if (form[at] == '0' ? !digit : text[at] != form[at]) return std::nullopt;
  }
  const auto part = [&](std::size_t at, std::size_t length) {
    int value = 0;
    std::from_chars(text.data() + at, text.data() + at + length, value);
    return value;
  };
  const chrono::year_month_day date{chrono::year{part(0, 4)},
                                    chrono::month{static_cast<unsigned>(part(5, 2))},
                                    chrono::day{static_cast<unsigned>(part(8, 2))}};
  if (!date.ok() || part(11, 2) > 23 || part(14, 2) > 59 || part(17, 2) > 59) return std::nullopt;
  return WallTime{chrono::sys_days{date}} + chrono::hours{part(11, 2)} +
         chrono::minutes{part(14, 2)} + chrono::seconds{part(17, 2)} +
         chrono::microseconds{part(20, 6)};
}

/// Reads the fields one by one and keeps the first problem.
class Reader {
 public:
  explicit Reader(const json::object& object) : object_(object) {}

  std::string text(const char* name) {
    const json::value* const value = get(name);
    if (value == nullptr) return {};
    if (const auto* plain = value->if_string()) return std::string(view(*plain));
    if (const auto* object = value->if_object(); object != nullptr && object->size() == 1) {
      const auto* hex = object->if_contains("hex");
      if (hex != nullptr && hex->is_string()) {
        if (auto bytes = from_hex(view(hex->get_string()))) return *std::move(bytes);
      }
    }
    wrong(name, R"(must be a string, or {"hex":"…"} for bytes that are not UTF-8)");
    return {};
  }

  template <class Integer>
  Integer number(const char* name) {
    const json::value* const value = get(name);
    if (value == nullptr) return 0;
    json::error_code error;
    const auto number = value->is_double() ? Integer{} : value->to_number<Integer>(error);
    if (!error && !value->is_double()) return number;
    wrong(name,
          "must be a whole number up to " + std::to_string(std::numeric_limits<Integer>::max()));
    return 0;
  }

  Digest digest(const char* name) {
    Digest digest{};
    const json::value* const value = get(name);
    if (value == nullptr) return digest;
    if (const auto* text = value->if_string();
        text != nullptr && text->size() == 2 * digest.size()) {
      if (const auto bytes = from_hex(view(*text))) {
        std::copy(bytes->begin(), bytes->end(), digest.begin());
        return digest;
      }
    }
    wrong(name, "must be 64 hexadecimal digits");
    return digest;
  }

  WallTime time(const char* name) {
    const json::value* const value = get(name);
    if (value == nullptr) return {};
    if (const auto* text = value->if_string()) {
      if (const auto time = time_of_text(view(*text))) return *time;
    }
    if (const auto* micros = value->if_int64()) return WallTime{chrono::microseconds{*micros}};
    wrong(name, "must be a time such as 2026-01-01T00:00:00.000000Z");
    return {};
  }

  AuditKind kind(const char* name) {
    const std::string text = this->text(name);
    if (const auto kind = audit_from_name(text)) return *kind;
    wrong(name, quoted(text) + " is not the name of an audit event");
    return {};
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  const json::value* get(const char* name) {
    const json::value* const value = object_.if_contains(name);
    if (value == nullptr) wrong(name, "is missing");
    return value;
  }
  void wrong(const char* name, const std::string& what) {
    if (problem_.empty()) problem_ = quoted(name) + " " + what;
  }

  const json::object& object_;
  std::string problem_;
};

Error not_an_entry(const std::string& why) {
  return {Code::schema_validation_failed, "not an entry of an audit log: " + why};
}

}  // namespace

std::string audit_json(const AuditEntry& entry) {
  const AuditEvent& event = entry.event;
  json::object object;
  object.reserve(fields);
  object["number"] = entry.number;
  object["kind"] = json::string(audit_name(event.kind));
  object["at"] = time_value(event.at);
  object["table"] = text_value(event.table);
  object["tenant"] = text_value(event.tenant);
  object["topic"] = text_value(event.topic);
  object["message_id"] = text_value(event.message_id);
  object["attempt"] = event.attempt;
  object["digest"] = hex(event.digest);
  object["traceparent"] = text_value(event.traceparent);
  object["code"] = text_value(event.code);
  object["detail"] = text_value(event.detail);
  object["actor"] = text_value(event.actor);
  object["previous"] = hex(entry.previous);
  object["hash"] = hex(entry.hash);
  return json::serialize(object);
}

Result<AuditEntry> audit_from_json(std::string_view line) {
  if (auto problem = json_problem(line); !problem.empty()) return not_an_entry(problem);
  const json::value value = json::parse({line.data(), line.size()}, {}, [] {
    json::parse_options options;
    options.max_depth = json_depth_max;
    return options;
  }());
  if (!value.is_object()) return not_an_entry("one JSON object is expected");
  const json::object& object = value.get_object();

  Reader reader(object);
  AuditEntry entry;
  AuditEvent& event = entry.event;
  entry.number = reader.number<std::uint64_t>("number");
  event.kind = reader.kind("kind");
  event.at = reader.time("at");
  event.table = reader.text("table");
  event.tenant = reader.text("tenant");
  event.topic = reader.text("topic");
  event.message_id = reader.text("message_id");
  event.attempt = reader.number<std::uint32_t>("attempt");
  event.digest = reader.digest("digest");
  event.traceparent = reader.text("traceparent");
  event.code = reader.text("code");
  event.detail = reader.text("detail");
  event.actor = reader.text("actor");
  entry.previous = reader.digest("previous");
  entry.hash = reader.digest("hash");
  if (!reader.problem().empty()) return not_an_entry(reader.problem());
  // Unknown fields are refused because the hash does not cover them.
  if (object.size() != fields) return not_an_entry("it has fields that an entry does not have");
  return entry;
}

}  // namespace sagabox
