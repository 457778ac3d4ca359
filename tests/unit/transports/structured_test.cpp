#include "transports/structured.hpp"

#include <sagabox/random.hpp>

#include <gtest/gtest.h>

#include <string>

namespace sagabox::transports {
namespace {

class StructuredTest : public ::testing::Test {
 protected:
  std::string text(NewMessage draft, const StructuredForm& form = {}) {
    draft.topic = "t";
    draft.id = "m-1";
    draft.occurred_at = WallTime(std::chrono::seconds(0));
    const auto message = std::make_shared<const Message>(
        Message::build(std::move(draft), {}, ids_, system_clock()).value());
    std::string out = "before";
    append_structured(out, {.message = message, .table = &table_, .sequence = Sequence{9}}, form);
    EXPECT_TRUE(out.starts_with("before"));
    EXPECT_EQ(json_problem(out.substr(6)), "");
    return out.substr(6);
  }
  /// From the content type on: the rest is the envelope's.
  std::string payload_part(NewMessage draft, const StructuredForm& form = {}) {
    const auto all = text(std::move(draft), form);
    return all.substr(all.find("\"datacontenttype\""));
  }

  TableName table_ = TableName::parse("orders").value();
  UlidSource ids_{system_clock(), system_random()};
};

TEST_F(StructuredTest, IsTheEnvelopeAndThePayloadAsItWasWritten) {
  EXPECT_EQ(text({.payload = json(R"({"a" : 1.0})")}),
            R"({"specversion":"1.0","id":"m-1","source":"/sagabox/orders","type":"t",)"
            R"("time":"1970-01-01T00:00:00.000Z","tenant":"default","outboxsequence":"9",)"
            R"("outboxshard":"0","outboxepoch":"0","outboxattempt":"1",)"
            R"("datacontenttype":"application/json","data":{"a" : 1.0}})");
}

TEST_F(StructuredTest, BytesGoAsBase64) {
  EXPECT_EQ(payload_part({.payload = bytes(std::string("\0\xff\x10z", 4))}),
            R"("datacontenttype":"application/octet-stream","data_base64":"AP8Qeg=="})");
  EXPECT_EQ(payload_part({.payload = bytes("")}),
            R"("datacontenttype":"application/octet-stream","data_base64":""})");
}

TEST_F(StructuredTest, JsonThatIsSaidToBeSomethingElseGoesAsBase64) {
  EXPECT_EQ(payload_part({.payload = json("\"a\""), .content_type = "text/plain"}),
            R"("datacontenttype":"text/plain","data_base64":"ImEi"})");
  for (const auto* type : {"application/json; charset=utf-8", "TEXT/JSON", "a/b+Json ;x=y"}) {
    EXPECT_NE(payload_part({.payload = json("1"), .content_type = type}).find("\"data\":1"),
              std::string::npos)
        << type;
  }
}

TEST_F(StructuredTest, OneLineStaysOneLineAndLosesNoByte) {
  const StructuredForm one_line{.one_line = true};
  EXPECT_EQ(payload_part({.payload = json("[1,\n2]")}, one_line),
            R"("datacontenttype":"application/json","data_base64":"WzEsCjJd"})");
  EXPECT_EQ(payload_part({.payload = json("[1,\n2]")}),
            "\"datacontenttype\":\"application/json\",\"data\":[1,\n2]}");
}

TEST_F(StructuredTest, HeadersAreTheTextOfOneObjectAndOnlyThoseThatMayTravel) {
  const Headers headers{{"x-a", "say \"é\" \\"}, {"ce-id", "forged"}};
  EXPECT_EQ(payload_part({.payload = json("1"), .headers = headers}, {.headers = true}),
            R"("datacontenttype":"application/json",)"
            R"("headers":"{\"x-a\":\"say \\\"é\\\" \\\\\"}","data":1})");
  EXPECT_EQ(payload_part({.payload = json("1"), .headers = headers}),
            R"("datacontenttype":"application/json","data":1})");
  EXPECT_EQ(payload_part({.payload = json("1"), .headers = {headers[1]}}, {.headers = true}),
            R"("datacontenttype":"application/json","data":1})");
}

}  // namespace
}  // namespace sagabox::transports
