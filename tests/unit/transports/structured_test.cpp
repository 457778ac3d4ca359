#include "transports/structured.hpp"

#include <sagabox/random.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

namespace sagabox::transports {
namespace {

std::string event_of(NewMessage draft) {
  UlidSource ids(system_clock(), system_random());
  const auto table = TableName::parse("orders").value();
  const spi::Parcel parcel{.message = std::make_shared<const Message>(
                               Message::build(std::move(draft), {}, ids, system_clock()).value()),
                           .table = &table,
                           .sequence = Sequence{18'446'744'073'709'551'615ULL}};
  std::string text;
  append_structured(text, parcel, {});
  return text;
}

std::string member(const std::string& event, const char* name) {
  return std::string(boost::json::parse(event).as_object().at(name).as_string());
}

TEST(Structured, JsonStandsInItByteForByte) {
  const auto event = event_of({.topic = "t", .payload = json("{\"a\" :\n 1.0, \"a\": 1e2}")});
  EXPECT_NE(event.find("\"data\":{\"a\" :\n 1.0, \"a\": 1e2}}"), std::string::npos) << event;
  EXPECT_EQ(member(event, "datacontenttype"), "application/json");
  EXPECT_EQ(member(event, "outboxsequence"), "18446744073709551615");
}

TEST(Structured, AnythingElseIsBase64) {
  EXPECT_EQ(
      member(event_of({.topic = "t", .payload = bytes(std::string("\0\xff", 2))}), "data_base64"),
      "AP8=");
  EXPECT_EQ(member(event_of({.topic = "t", .payload = bytes("")}), "data_base64"), "");
  const auto text = event_of({.topic = "t", .payload = json("1"), .content_type = "text/plain"});
  EXPECT_EQ(member(text, "data_base64"), "MQ==");
}

TEST(Structured, JsonIsRecognisedByItsContentType) {
  for (const auto* type : {"application/json", "application/vnd.order+json; charset=utf-8",
                           "Application/JSON ;charset=utf-8", "text/json"}) {
    const auto event = event_of({.topic = "t", .payload = json("[1]"), .content_type = type});
    EXPECT_NE(event.find("\"data\":[1]}"), std::string::npos) << event;
  }
}

TEST(Structured, NamesAndValuesAreEscaped) {
  const auto odd = std::string(R"(a "quoted" \ 日本)");
  EXPECT_EQ(member(event_of({.topic = "t", .payload = json("1"), .aggregate_id = odd}), "subject"),
            odd);
}

}  // namespace
}  // namespace sagabox::transports
