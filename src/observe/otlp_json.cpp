#include "observe/otlp_json.hpp"

#include "core/error_text.hpp"
#include "core/text.hpp"
#include "observe/trace_parent.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace sagabox {
namespace {

namespace json = boost::json;

// Numbers defined by the protocol.
constexpr int kind_producer = 4;
constexpr int status_error = 2;

/// A collector refuses the whole request if one text is not UTF-8.
json::string text_of(std::string_view text) {
  if (text_facts(text).unprintable_at == std::string_view::npos) return json::string(text);
  return json::string(clean_error(text));
}

json::string nanoseconds_of(WallTime time, Duration later = {}) {
  return json::string(std::to_string((Duration(time.time_since_epoch()) + later).count()));
}

json::object pair_of(std::string_view name, json::object value) {
  return {{"key", text_of(name)}, {"value", std::move(value)}};
}

json::object text_pair(std::string_view name, std::string_view text) {
  return pair_of(name, {{"stringValue", text_of(text)}});
}

/// 64-bit integers are strings in the JSON encoding.
json::object number_pair(std::string_view name, std::int64_t number) {
  return pair_of(name, {{"intValue", json::string(std::to_string(number))}});
}

json::object attribute_of(const SpanAttribute& attribute) {
  if (const auto* number = std::get_if<std::int64_t>(&attribute.value)) {
    return number_pair(attribute.name, *number);
  }
  return text_pair(attribute.name, std::get<std::string>(attribute.value));
}

json::object span_of(const TraceSpan& span) {
  json::object object{{"traceId", hex_of(span.trace)}, {"spanId", hex_of(span.id)}};
  if (span.parent != SpanId{}) object["parentSpanId"] = hex_of(span.parent);
  if (!span.tracestate.empty()) object["traceState"] = text_of(span.tracestate);
  object["name"] = text_of(span.name);
  object["kind"] = kind_producer;
  object["startTimeUnixNano"] = nanoseconds_of(span.started);
  object["endTimeUnixNano"] = nanoseconds_of(span.started, span.lasted);
  json::array attributes;
  for (const auto& attribute : span.attributes) attributes.push_back(attribute_of(attribute));
  object["attributes"] = std::move(attributes);
  if (span.failed) {
    object["status"] = json::object{{"code", status_error}, {"message", text_of(span.error)}};
  }
  return object;
}

}  // namespace

std::string otlp_json(const Headers& resource, std::span<const TraceSpan> spans) {
  json::array about;
  for (const auto& [name, text] : resource) about.push_back(text_pair(name, text));
  json::array list;
  list.reserve(spans.size());
  for (const auto& span : spans) list.push_back(span_of(span));
  const json::object scope{{"scope", {{"name", "sagabox"}}}, {"spans", std::move(list)}};
  const json::object of_resource{{"resource", {{"attributes", std::move(about)}}},
                                 {"scopeSpans", json::array{scope}}};
  return json::serialize(json::object{{"resourceSpans", json::array{of_resource}}});
}

std::uint64_t otlp_rejected(std::string_view answer) {
  json::error_code error;
  const auto value = json::parse({answer.data(), answer.size()}, error);
  const auto* const object = error ? nullptr : value.if_object();
  const auto* const partial = object == nullptr ? nullptr : object->if_contains("partialSuccess");
  const auto* const told = partial == nullptr ? nullptr : partial->if_object();
  const auto* const rejected = told == nullptr ? nullptr : told->if_contains("rejectedSpans");
  if (rejected == nullptr) return 0;
  if (const auto* text = rejected->if_string()) {
    return std::strtoull(text->c_str(), nullptr, 10);
  }
  const auto number = rejected->to_number<std::int64_t>(error);
  return error ? 0 : static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0));
}

}  // namespace sagabox
