#include "delivery/filter.hpp"

#include <sagabox/random.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace sagabox::delivery {
namespace {

HubEvent filtered_event(Payload payload) {
  static testing::FakeClock clock;
  static const auto random = seeded_random(1);
  static UlidSource ids(clock, *random);
  auto message = Message::build_shared(
      {.topic = "shop.order.placed.v1", .key = "customer-7", .payload = std::move(payload)}, {},
      ids, clock);
  return {.id = ids.next<EventId>(), .message = std::move(message).value(), .source = "shop"};
}

bool wants(std::string_view filter, std::string payload) {
  const auto event = filtered_event(json(std::move(payload)));
  FilteredEvent filtered(event);
  return Filter::parse(filter).value().wants(filtered);
}

std::string refusal(std::string_view filter) {
  const auto parsed = Filter::parse(filter);
  if (parsed.ok()) return "accepted";
  EXPECT_EQ(parsed.error().code, Code::schema_validation_failed);
  return parsed.error().message;
}

TEST(EventFilter, WithoutConditionsWantsEverything) {
  const auto event = filtered_event(json("1"));
  FilteredEvent filtered(event);
  EXPECT_TRUE(Filter().wants(filtered));
  EXPECT_TRUE(Filter().wants_all());
}

TEST(EventFilter, ComparesScalarsByKindAndValue) {
  EXPECT_TRUE(wants(R"({"a": "x"})", R"({"a": "x"})"));
  EXPECT_FALSE(wants(R"({"a": "x"})", R"({"a": "X"})"));
  EXPECT_FALSE(wants(R"({"a": "1"})", R"({"a": 1})"));
  EXPECT_TRUE(wants(R"({"a": 1})", R"({"a": 1.0})"));
  EXPECT_TRUE(wants(R"({"a": 1e2})", R"({"a": 100})"));
  EXPECT_TRUE(wants(R"({"a": true})", R"({"a": true})"));
  EXPECT_FALSE(wants(R"({"a": true})", R"({"a": false})"));
  EXPECT_TRUE(wants(R"({"a": null})", R"({"a": null})"));
  EXPECT_FALSE(wants(R"({"a": null})", R"({"b": null})"));
  EXPECT_FALSE(wants(R"({"a": 1})", R"({"a": [1]})"));
}

TEST(EventFilter, ComparesLargeIntegersExactly) {
  EXPECT_TRUE(wants(R"({"a": 18446744073709551615})", R"({"a": 18446744073709551615})"));
  EXPECT_FALSE(wants(R"({"a": 18446744073709551615})", R"({"a": 18446744073709551614})"));
  EXPECT_FALSE(wants(R"({"a": 9007199254740993})", R"({"a": 9007199254740992})"));
  EXPECT_TRUE(wants(R"({"a": {"gt": 9007199254740992}})", R"({"a": 9007199254740993})"));
  EXPECT_TRUE(wants(R"({"a": {"lt": 0}})", R"({"a": -9223372036854775808})"));
}

TEST(EventFilter, AllConditionsMustHold) {
  constexpr auto filter = R"({"a": 1, "b": 2})";
  EXPECT_TRUE(wants(filter, R"({"a": 1, "b": 2, "c": 3})"));
  EXPECT_FALSE(wants(filter, R"({"a": 1})"));
  EXPECT_FALSE(wants(filter, R"({"b": 2})"));
}

TEST(EventFilter, ListsNameAlternatives) {
  EXPECT_TRUE(wants(R"({"country": ["NO", "SE"]})", R"({"country": "SE"})"));
  EXPECT_FALSE(wants(R"({"country": ["NO", "SE"]})", R"({"country": "DK"})"));
  EXPECT_TRUE(wants(R"({"a": {"in": [null, 5]}})", R"({"a": 5})"));
  EXPECT_FALSE(wants(R"({"a": {"in": [null, 5]}})", "{}"));
}

TEST(EventFilter, RangesCompareNumbersAndTexts) {
  constexpr auto range = R"({"total": {"gte": 10, "lt": 20}})";
  EXPECT_FALSE(wants(range, R"({"total": 9.99})"));
  EXPECT_TRUE(wants(range, R"({"total": 10})"));
  EXPECT_TRUE(wants(range, R"({"total": 19.99})"));
  EXPECT_FALSE(wants(range, R"({"total": 20})"));
  EXPECT_FALSE(wants(range, R"({"total": "15"})"));
  EXPECT_FALSE(wants(range, R"({"total": null})"));
  EXPECT_TRUE(wants(R"({"a": {"lte": 3}})", R"({"a": 3})"));
  EXPECT_FALSE(wants(R"({"a": {"gt": 3}})", R"({"a": 3})"));
  constexpr auto dates = R"({"at": {"gte": "2026-01-01", "lt": "2026-02-01"}})";
  EXPECT_TRUE(wants(dates, R"({"at": "2026-01-31T23:59:59Z"})"));
  EXPECT_FALSE(wants(dates, R"({"at": "2026-02-01T00:00:00Z"})"));
  EXPECT_FALSE(wants(dates, R"({"at": 20260115})"));
}

TEST(EventFilter, ExistsAndPrefix) {
  EXPECT_TRUE(wants(R"({"a": {"exists": true}})", R"({"a": null})"));
  EXPECT_FALSE(wants(R"({"a": {"exists": true}})", R"({"b": 1})"));
  EXPECT_TRUE(wants(R"({"a": {"exists": false}})", R"({"b": 1})"));
  EXPECT_FALSE(wants(R"({"a": {"exists": false}})", R"({"a": 1})"));
  EXPECT_TRUE(wants(R"({"a": {"prefix": "A-"}})", R"({"a": "A-17"})"));
  EXPECT_FALSE(wants(R"({"a": {"prefix": "A-"}})", R"({"a": "A"})"));
  EXPECT_FALSE(wants(R"({"a": {"prefix": "1"}})", R"({"a": 17})"));
}

TEST(EventFilter, JoinsConditions) {
  constexpr auto any = R"({"or": [{"vip": true}, {"total": {"gte": 100}}]})";
  EXPECT_TRUE(wants(any, R"({"vip": true})"));
  EXPECT_TRUE(wants(any, R"({"total": 100})"));
  EXPECT_FALSE(wants(any, R"({"vip": false, "total": 99})"));
  constexpr auto both = R"({"and": [{"a": {"gt": 1}}, {"a": {"lt": 3}}]})";
  EXPECT_TRUE(wants(both, R"({"a": 2})"));
  EXPECT_FALSE(wants(both, R"({"a": 3})"));
  EXPECT_TRUE(wants(R"({"not": {"a": 1}})", R"({"a": 2})"));
  EXPECT_TRUE(wants(R"({"not": {"a": 1}})", "{}"));
  EXPECT_FALSE(wants(R"({"not": {"a": 1}})", R"({"a": 1})"));
  EXPECT_TRUE(wants(R"({"not": {"a": 1, "b": 2}})", R"({"a": 1, "b": 3})"));
  EXPECT_FALSE(wants(R"({"x": 1, "or": [{"a": 1}]})", R"({"a": 1})"));
}

TEST(EventFilter, PathsGoThroughObjectsAndLists) {
  constexpr auto payload = R"({"items": [{"sku": "A"}, {"sku": "B"}], "a.b": {"c/d": 1},
                               "and": 2, "$type": 3, "": 4, "01": 5})";
  EXPECT_TRUE(wants(R"({"items.1.sku": "B"})", payload));
  EXPECT_FALSE(wants(R"({"items.2.sku": {"exists": true}})", payload));
  EXPECT_FALSE(wants(R"({"items.01.sku": {"exists": true}})", payload));
  EXPECT_FALSE(wants(R"({"items.sku": "A"})", payload));
  EXPECT_TRUE(wants(R"({"/a.b/c~1d": 1})", payload));
  EXPECT_TRUE(wants(R"({"/and": 2})", payload));
  EXPECT_TRUE(wants(R"({"/$type": 3})", payload));
  EXPECT_TRUE(wants(R"({"/": 4})", payload));
  EXPECT_TRUE(wants(R"({"01": 5})", payload));
  EXPECT_FALSE(wants(R"({"a": 1})", "[1]"));
  EXPECT_TRUE(wants(R"({"0": 1})", "[1]"));
}

TEST(EventFilter, LooksAtTheEventItself) {
  EXPECT_TRUE(wants(R"({"$type": {"prefix": "shop."}})", "1"));
  EXPECT_TRUE(wants(R"({"$key": ["customer-7"]})", "1"));
  EXPECT_TRUE(wants(R"({"$source": "shop"})", "1"));
  EXPECT_FALSE(wants(R"({"$source": "other"})", "1"));
  const auto event = filtered_event(bytes("not JSON"));
  FilteredEvent filtered(event);
  EXPECT_TRUE(Filter::parse(R"({"$key": {"exists": true}})").value().wants(filtered));
  EXPECT_FALSE(Filter::parse(R"({"a": {"exists": true}})").value().wants(filtered));
  EXPECT_TRUE(Filter::parse(R"({"a": {"exists": false}})").value().wants(filtered));
}

TEST(EventFilter, SaysWhereItIsWrong) {
  EXPECT_EQ(refusal("[]"), "filter: is a list; a filter is an object of conditions");
  EXPECT_EQ(refusal("{"), "filter: is not JSON at byte 2: the value is not complete");
  EXPECT_EQ(refusal("{} x"), "filter: is not JSON at byte 4: more text after it");
  EXPECT_EQ(
      refusal("{}"),
      "filter: is empty and would want everything; write a condition, or leave the filter out");
  EXPECT_EQ(refusal(R"({"a": 1, "a": 2})"),
            "filter: has \"a\" twice in one object; leave one of them out");
  EXPECT_EQ(refusal(R"({"total": {"gtt": 1}})"),
            "filter.total.gtt: is not an operator; did you mean \"gt\"?");
  EXPECT_EQ(refusal(R"({"total": {"between": 1}})"),
            "filter.total.between: is not an operator; there are eq, in, gt, gte, lt, lte, exists, "
            "prefix");
  EXPECT_EQ(refusal(R"({"total": {}})"),
            "filter.total: has no operator; there are eq, in, gt, gte, lt, lte, exists, prefix");
  EXPECT_EQ(refusal(R"({"or": [{"a": 1}, {"order.total": {"gt": true}}]})"),
            "filter.or[1].\"order.total\".gt: is true or false; compare with a number or a text");
  EXPECT_EQ(refusal(R"({"and": []})"), "filter.and: must be a list of at least one filter");
  EXPECT_EQ(refusal(R"({"or": {"a": 1}})"), "filter.or: must be a list of at least one filter");
  EXPECT_EQ(refusal(R"({"not": {}})"),
            "filter.not: is empty and would want everything; write a condition, or leave the "
            "filter out");
  EXPECT_EQ(refusal(R"({"a": []})"), "filter.a: the list is empty: nothing would fit");
  EXPECT_EQ(refusal(R"({"a": ["x", {"b": 1}]})"),
            "filter.a[1]: is an object; list texts, numbers, true, false or null");
  EXPECT_EQ(refusal(R"({"a": {"in": "x"}})"), "filter.a.in: is a text; must be a list");
  EXPECT_EQ(refusal(R"({"a": {"eq": [1]}})"),
            "filter.a.eq: is a list; compare with a text, a number, true, false or null");
  EXPECT_EQ(refusal(R"({"a": {"exists": 1}})"),
            "filter.a.exists: is a number; write true or false");
  EXPECT_EQ(refusal(R"({"a": {"prefix": 1}})"), "filter.a.prefix: is a number; must be a text");
  EXPECT_EQ(refusal(R"({"a..b": 1})"),
            "filter.\"a..b\": has an empty part; write names between the dots, or a JSON Pointer");
  EXPECT_EQ(refusal(R"({"/a~2": 1})"),
            "filter.\"/a~2\": write ~0 for ~ and ~1 for / in a JSON Pointer");
  EXPECT_EQ(refusal(R"({"": 1})"), "filter.\"\": name a field");
  EXPECT_EQ(refusal(R"({"$kind": 1})"),
            "filter.$kind: there are $type, $key and $source; a field that is called so is written "
            "as a JSON Pointer: /$kind");
}

std::string nested_not(std::size_t depth) {
  std::string filter;
  for (std::size_t i = 0; i < depth; ++i) filter += R"({"not": )";
  filter += R"({"a": 1})";
  return filter + std::string(depth, '}');
}

std::string nested_or(std::size_t depth) {
  std::string filter;
  for (std::size_t i = 0; i < depth; ++i) filter += R"({"or": [)";
  filter += R"({"a": {"in": [1]}})";
  for (std::size_t i = 0; i < depth; ++i) filter += "]}";
  return filter;
}

TEST(EventFilter, IsBoundedInDepth) {
  EXPECT_EQ(refusal(nested_not(FilterBounds::depth_max)), "accepted");
  EXPECT_EQ(refusal(nested_or(FilterBounds::depth_max)), "accepted");
  EXPECT_NE(refusal(nested_not(FilterBounds::depth_max + 1)).find("deeper than 8 levels"),
            std::string::npos);
  EXPECT_NE(refusal(nested_or(FilterBounds::depth_max + 1)).find("deeper than"), std::string::npos);
  EXPECT_NE(refusal(std::string(100'000, '[')).find("limit is 8192"), std::string::npos);
  EXPECT_NE(refusal(std::string(5'000, '[')).find("nested deeper than"), std::string::npos);
}

TEST(EventFilter, IsBoundedInNodesBytesAndPaths) {
  const auto listed = [](std::size_t count) {
    std::string filter = R"({"a": [)";
    for (std::size_t i = 0; i < count; ++i) filter += (i == 0 ? "1" : ",1");
    return filter + "]}";
  };
  EXPECT_EQ(refusal(listed(FilterBounds::nodes_max)), "accepted");
  EXPECT_EQ(refusal(listed(FilterBounds::nodes_max + 1)),
            "filter.a[256]: has more than 256 operators and listed values up to here");
  const auto sized = [](std::size_t bytes) {
    return R"({"a": ")" + std::string(bytes - 9, 'x') + "\"}";
  };
  EXPECT_EQ(refusal(sized(FilterBounds::bytes_max)), "accepted");
  EXPECT_NE(refusal(sized(FilterBounds::bytes_max + 1)), "accepted");
  std::string path = "a";
  for (std::size_t i = 1; i < FilterBounds::path_parts_max; ++i) path += ".a";
  EXPECT_EQ(refusal(R"({")" + path + R"(": 1})"), "accepted");
  EXPECT_NE(refusal(R"({")" + path + R"(.a": 1})").find("more than 16 names"), std::string::npos);
}

}  // namespace
}  // namespace sagabox::delivery
