#include <sagabox/json_schema.hpp>

#include <gtest/gtest.h>

namespace sagabox {
namespace {

JsonSchema schema(std::string_view text) { return JsonSchema::parse(text).value(); }

std::string refused(std::string_view text) {
  const auto parsed = JsonSchema::parse(text);
  EXPECT_FALSE(parsed.ok()) << text;
  return parsed.ok() ? "" : parsed.error().text();
}

constexpr auto order = R"({
  "$schema": "http://json-schema.org/draft-04/schema#",
  "type": "object",
  "required": ["id", "lines"],
  "additionalProperties": false,
  "properties": {
    "id": {"type": "integer", "minimum": 1},
    "lines": {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/line"}},
    "note": {"type": "string", "maxLength": 5, "pattern": "^[a-z]*$"}
  },
  "definitions": {"line": {"type": "object", "required": ["sku"]}}
})";

TEST(JsonSchemaTest, WhatFitsHasNoProblem) {
  EXPECT_EQ(schema(order).problem(R"({"id": 1, "lines": [{"sku": "a"}], "note": "ok"})"), "");
  EXPECT_EQ(schema("{}").problem("null"), "");
}

TEST(JsonSchemaTest, WhatDoesNotFitNamesTheRuleAndNothingOfTheJson) {
  struct Case {
    const char* json;
    const char* rule;
  };
  for (const auto& [json, rule] : std::initializer_list<Case>{
           {R"({"id": 1})", "required"},
           {R"({"id": 0, "lines": [{"sku": "a"}]})", "minimum"},
           {R"({"id": 1, "lines": []})", "minItems"},
           {R"({"id": 1, "lines": [{}]})", "required"},
           {R"({"id": 1, "lines": [{"sku": "a"}], "hunter2": 1})", "additionalProperties"},
           {R"({"id": 1, "lines": [{"sku": "a"}], "note": "hunter2"})", "maxLength"},
           {R"({"id": 1, "lines": [{"sku": "a"}], "note": "A"})", "pattern"},
           {R"(["hunter2"])", "type"},
       }) {
    const auto problem = schema(order).problem(json);
    EXPECT_NE(problem.find("\"" + std::string(rule) + "\""), std::string::npos)
        << json << ": " << problem;
    EXPECT_EQ(problem.find("hunter2"), std::string::npos) << problem;
  }
}

TEST(JsonSchemaTest, DeepJsonIsNoDanger) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + R"("]\"[")" + std::string(depth, ']');
  };
  EXPECT_EQ(schema("{}").problem(nested(512)), "");
  EXPECT_EQ(schema("{}").problem(nested(513)), "nests deeper than 512 levels");
  EXPECT_EQ(schema("{}").problem(nested(1'000'000)), "nests deeper than 512 levels");
}

TEST(JsonSchemaTest, WhatWouldSilentlyNotBeCheckedIsRefused) {
  EXPECT_NE(refused(R"({"const": 1})").find("\"const\" is not one of draft 4"), std::string::npos);
  EXPECT_NE(refused(R"({"properties": {"a": {"if": {}}}})").find("\"if\""), std::string::npos);
  EXPECT_NE(refused(R"({"items": [{"contains": {}}]})").find("\"contains\""), std::string::npos);
  EXPECT_NE(refused(R"({"exclusiveMinimum": 3})").find("exclusiveMinimum"), std::string::npos);
  EXPECT_NE(refused(R"({"$ref": "http://example.com/a"})").find("$ref"), std::string::npos);
  EXPECT_NE(refused("{").find("not JSON at byte"), std::string::npos);
  EXPECT_NE(refused("[]").find("object"), std::string::npos);
}

}  // namespace
}  // namespace sagabox
