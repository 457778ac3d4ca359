#include "core/message_check.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <initializer_list>

namespace sagabox {
namespace {

/// The range of times that every supported database can store.
constexpr WallTime time_min{std::chrono::sys_days{std::chrono::year{1000} / 1 / 1}};
constexpr WallTime time_end{std::chrono::sys_days{std::chrono::year{10000} / 1 / 1}};

Error broken(std::string text) { return {Code::schema_validation_failed, std::move(text)}; }

std::string counted(std::size_t count, std::string_view unit, std::size_t max) {
  return std::to_string(count) + " " + std::string(unit) + ", at most " + std::to_string(max) +
         " are allowed";
}

enum class Empty : bool { refused, allowed };

struct TextRule {
  std::string_view field;
  const std::string& text;
  std::size_t length_max;
  Empty empty = Empty::refused;
};

Status check_text(const TextRule& rule) {
  const auto problem = [&](const std::string& what) {
    return broken(std::string(rule.field) + ": " + what);
  };
  if (rule.text.empty()) {
    if (rule.empty == Empty::allowed) return {};
    return problem("empty; give 1 to " + std::to_string(rule.length_max) + " printable characters");
  }
  const TextFacts facts = text_facts(rule.text);
  if (facts.characters > rule.length_max) {
    return problem(counted(facts.characters, "characters", rule.length_max));
  }
  if (facts.unprintable_at != std::string_view::npos) {
    return problem("byte " + std::to_string(facts.unprintable_at + 1) +
                   " is not printable; only printable characters in UTF-8 are allowed");
  }
  return {};
}

Status check_topic(const std::string& topic, bool strict) {
  if (auto status = check_text({"topic", topic, MessageRules::topic_length_max}); !status) {
    return status;
  }
  if (!strict) return {};
  if (auto problem = strict_topic_problem(topic); !problem.empty()) return broken(problem);
  return {};
}

Status check_payload(const Payload& payload, std::size_t bytes_max) {
  if (!payload.given()) {
    return broken("payload: missing; give json(…) or bytes(…), json(\"null\") for nothing");
  }
  if (payload.size() > bytes_max) {
    return broken("payload: " + counted(payload.size(), "bytes", bytes_max) +
                  "; store large objects elsewhere and send a reference");
  }
  if (payload.form() != PayloadForm::json) return {};
  if (auto problem = json_problem(payload.view()); !problem.empty()) {
    return broken("payload: " + problem + "; give one JSON value (RFC 8259), or bytes(…)");
  }
  return {};
}

Status check_header(const std::string& name, const std::string& value, std::size_t number) {
  const auto which = "headers: the name of header " + std::to_string(number);
  if (name.empty()) return broken(which + " is empty; every header needs a name");
  if (text_facts(name).unprintable_at != std::string_view::npos) {
    return broken(which +
                  " has a control character or is not UTF-8; only printable characters "
                  "are allowed");
  }
  if (const auto at = text_facts(value).unprintable_at; at != std::string_view::npos) {
    return broken("headers: the value of " + quoted(name) + " is not printable at byte " +
                  std::to_string(at + 1) +
                  "; control characters and newlines are not allowed, nor what is not UTF-8");
  }
  return {};
}

Status check_headers(const Headers& headers) {
  if (headers.empty()) return {};
  std::size_t bytes = 0;
  for (const auto& [name, value] : headers) bytes += name.size() + value.size();
  if (bytes > MessageRules::headers_bytes_max) {
    return broken("headers: " + counted(bytes, "bytes", MessageRules::headers_bytes_max) +
                  " for all names and values together");
  }
  std::vector<std::string_view> names;
  names.reserve(headers.size());
  for (const auto& [name, value] : headers) {
    if (auto status = check_header(name, value, names.size() + 1); !status) return status;
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
    return broken("headers: " + quoted(*twice) + " is given twice; names must differ");
  }
  return {};
}

Status check_time(std::string_view field, const std::optional<WallTime>& time) {
  if (!time || (*time >= time_min && *time < time_end)) return {};
  return broken(std::string(field) + ": outside the years 1000 to 9999, which databases can hold");
}

Status check_trace(const TraceContext& trace) {
  if (!trace.traceparent.empty() && !is_traceparent(trace.traceparent)) {
    return broken("trace.traceparent: " + std::to_string(trace.traceparent.size()) +
                  " characters that are not W3C trace context; it must read 00-<32 hex>-<16 hex>-"
                  "<2 hex> in lower case, ids not all zero");
  }
  for (const TextRule& rule : {
           TextRule{"trace.tracestate", trace.tracestate, MessageRules::tracestate_length_max,
                    Empty::allowed},
           TextRule{"trace.request_id", trace.request_id, MessageRules::request_id_length_max,
                    Empty::allowed},
           TextRule{"trace.correlation_id", trace.correlation_id,
                    MessageRules::request_id_length_max, Empty::allowed},
       }) {
    if (auto status = check_text(rule); !status) return status;
  }
  return {};
}

Status check_names(const NewMessage& draft) {
  for (const TextRule& rule : {
           TextRule{"tenant", draft.tenant, MessageRules::tenant_length_max},
           TextRule{"aggregate_type", draft.aggregate_type.str(),
                    MessageRules::aggregate_type_length_max},
           TextRule{"aggregate_id", draft.aggregate_id, MessageRules::aggregate_id_length_max,
                    Empty::allowed},
           TextRule{"key", draft.key, MessageRules::key_length_max, Empty::allowed},
           TextRule{"content_type", draft.content_type, MessageRules::content_type_length_max,
                    Empty::allowed},
       }) {
    if (auto status = check_text(rule); !status) return status;
  }
  return {};
}

bool is_hex(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_nonzero_hex(std::string_view text) noexcept {
  return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

bool is_traceparent(std::string_view text) noexcept {
  constexpr std::size_t length = 55;
  constexpr std::size_t length_max = 512;  // later versions may be longer
  if (text.size() < length || text.size() > length_max) return false;
  if (text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  const auto version = text.substr(0, 2);
  if (!is_hex(version) || version == "ff") return false;
  if (!is_nonzero_hex(text.substr(3, 32)) || !is_nonzero_hex(text.substr(36, 16))) return false;
  if (!is_hex(text.substr(53, 2))) return false;
  if (text.size() == length) return true;
  return version != "00" && text[length] == '-' &&
         text_facts(text).unprintable_at == std::string_view::npos;
}

Status check_draft(const NewMessage& draft, const MessageRules& rules) {
  if (auto status = check_topic(draft.topic.str(), rules.strict_topics); !status) return status;
  if (auto status = check_names(draft); !status) return status;
  if (draft.priority > Priority::low) {
    return broken("priority: " + std::to_string(static_cast<int>(draft.priority)) +
                  " is none; it is high (0), normal (1) or low (2)");
  }
  const auto bytes_max = std::min(rules.payload_bytes_max, MessageRules::payload_bytes_ceiling);
  if (auto status = check_payload(draft.payload, bytes_max); !status) return status;
  if (auto status = check_headers(draft.headers); !status) return status;
  if (auto status = check_time("occurred_at", draft.occurred_at); !status) return status;
  if (auto status = check_time("not_before", draft.not_before); !status) return status;
  return check_trace(draft.trace);
}

}  // namespace sagabox
