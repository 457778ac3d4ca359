#include "core/text.hpp"

#include <sagabox/json_schema.hpp>
#include <sagabox/payload.hpp>

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/schema.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>

namespace sagabox {
namespace {

using rapidjson::Value;

Error wrong_schema(const std::string& what) {
  return {Code::config_invalid, "JSON Schema: " + what};
}

bool among(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view text_of(const Value& value) {
  return {value.GetString(), value.GetStringLength()};
}

std::optional<Error> problem_of(const Value& schema);

std::optional<Error> problem_of_each(const Value& schemas) {
  if (schemas.IsArray()) {
    for (const auto& schema : schemas.GetArray()) {
      if (auto problem = problem_of(schema)) return problem;
    }
  }
  if (schemas.IsObject()) {
    for (const auto& member : schemas.GetObject()) {
      // Some entries of `dependencies` are lists of names.
      if (member.value.IsArray()) continue;
      if (auto problem = problem_of(member.value)) return problem;
    }
  }
  return std::nullopt;
}

bool nests_too_deeply(std::string_view json) {
  std::size_t depth = 0;
  bool in_text = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char letter = json[at];
    if (in_text) {
      if (letter == '\\') ++at;
      in_text = letter != '"';
    } else if (letter == '"') {
      in_text = true;
    } else if (letter == '[' || letter == '{') {
      if (++depth > json_depth_max) return true;
    } else if ((letter == ']' || letter == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

/// Finds keywords, at any depth, that the validator would ignore silently.
std::optional<Error> problem_of(const Value& schema) {
  if (!schema.IsObject()) return wrong_schema("a schema is an object");
  for (const auto& member : schema.GetObject()) {
    const auto name = text_of(member.name);
    std::optional<Error> problem;
    if (among(name, {"properties", "patternProperties", "definitions", "dependencies", "allOf",
                     "anyOf", "oneOf"})) {
      problem = problem_of_each(member.value);
    } else if (name == "items") {
      problem = member.value.IsArray() ? problem_of_each(member.value) : problem_of(member.value);
    } else if (name == "not" || (among(name, {"additionalItems", "additionalProperties"}) &&
                                 !member.value.IsBool())) {
      problem = problem_of(member.value);
    } else if (name == "$ref") {
      if (!member.value.IsString() || !text_of(member.value).starts_with('#')) {
        problem = wrong_schema("$ref must point into the schema itself: #/definitions/…");
      }
    } else if (among(name, {"exclusiveMinimum", "exclusiveMaximum"}) && !member.value.IsBool()) {
      problem = wrong_schema(std::string(name) +
                             " is true or false in draft 4, beside minimum or maximum");
    } else if (!among(name, {"$schema",
                             "id",
                             "title",
                             "description",
                             "default",
                             "format",
                             "type",
                             "enum",
                             "multipleOf",
                             "minimum",
                             "maximum",
                             "exclusiveMinimum",
                             "exclusiveMaximum",
                             "minLength",
                             "maxLength",
                             "pattern",
                             "minItems",
                             "maxItems",
                             "uniqueItems",
                             "additionalItems",
                             "additionalProperties",
                             "minProperties",
                             "maxProperties",
                             "required",
                             "$comment",
                             "examples"})) {
      problem = wrong_schema("keyword " + quoted(name) + " is not one of draft 4");
    }
    if (problem) return problem;
  }
  return std::nullopt;
}

}  // namespace

struct JsonSchema::Parts {
  explicit Parts(const rapidjson::Document& document) : schema(document) {}
  rapidjson::SchemaDocument schema;
};

Result<JsonSchema> JsonSchema::parse(std::string_view text) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (document.HasParseError()) {
    return wrong_schema(std::string("not JSON at byte ") +
                        std::to_string(document.GetErrorOffset()) + ": " +
                        rapidjson::GetParseError_En(document.GetParseError()));
  }
  if (auto problem = problem_of(document)) return *problem;
  JsonSchema schema;
  schema.parts_ = std::make_shared<const Parts>(document);
  return schema;
}

std::string JsonSchema::problem(std::string_view json) const {
  // The cost of the validator grows with the depth: it processes all open levels when one is
  // opened.
  if (nests_too_deeply(json)) {
    return "nests deeper than " + std::to_string(json_depth_max) + " levels";
  }
  rapidjson::SchemaValidator validator(parts_->schema);
  rapidjson::MemoryStream bytes(json.data(), json.size());
  rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> input(bytes);
  rapidjson::Reader reader;
  const auto parsed = reader.Parse<rapidjson::kParseIterativeFlag>(input, validator);
  if (validator.IsValid()) {
    return parsed.IsError() ? "is not JSON at byte " + std::to_string(parsed.Offset())
                            : std::string();
  }
  rapidjson::StringBuffer where;
  validator.GetInvalidSchemaPointer().StringifyUriFragment(where);
  return std::string("breaks the rule \"") + validator.GetInvalidSchemaKeyword() + "\" at " +
         where.GetString() + " of its topic's schema";
}

}  // namespace sagabox
