#include <sagabox/payload.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <thread>

namespace sagabox {
namespace {

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(Payload, SharesItsBytes) {
  const Payload payload = json(R"({"a": 1})");
  const Payload copy = payload;
  EXPECT_EQ(payload.view().data(), copy.view().data());
  EXPECT_EQ(payload.json(), R"({"a": 1})");
  EXPECT_EQ(payload.size(), 8U);
}

TEST(Payload, BytesAreNotJson) {
  const Payload payload = bytes(std::string("\0\xff", 2));
  EXPECT_TRUE(payload.given());
  EXPECT_EQ(payload.json(), "");
  EXPECT_EQ(payload.bytes().size(), 2U);
  EXPECT_EQ(payload.bytes()[1], std::byte{0xff});
}

TEST(Payload, NotGivenIsNotEmpty) {
  EXPECT_FALSE(Payload().given());
  EXPECT_TRUE(bytes("").given());
  EXPECT_TRUE(Payload::copy_of(PayloadForm::bytes, "").given());
  EXPECT_EQ(Payload().view(), "");
}

TEST(Payload, CopyStandsForItself) {
  std::string text = R"({"a": 1})";
  const auto copy = Payload::copy_of(PayloadForm::json, text);
  text.assign(text.size(), 'x');
  EXPECT_EQ(copy.json(), R"({"a": 1})");
}

TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, ThreadsDoNotDisturbEachOther) {
  const auto expected = sha256("abc");
  std::vector<int> wrong(4);
  {
    std::vector<std::jthread> threads;
    for (auto& count : wrong) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) count += sha256("abc") == expected ? 0 : 1;
      });
    }
  }
  EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST(JsonProblem, AcceptsWhatRfc8259Allows) {
  for (const std::string_view text :
       {"null", "true", "0", "-1.5e10", R"("")", "[]", "{}", " \t\r\n[1, 2] \n", R"({"a":1,"a":2})",
        R"("\u00e9\ud83d\ude00")", "\"é\"", "1e400", "123456789012345678901234567890"}) {
    EXPECT_EQ(json_problem(text), "") << text;
  }
}

TEST(JsonProblem, SaysWhereAndWhat) {
  EXPECT_EQ(json_problem(""), "not valid JSON at byte 1: the value is not complete");
  EXPECT_EQ(json_problem("{\"a\":"), "not valid JSON at byte 6: the value is not complete");
  EXPECT_EQ(json_problem("1 2"), "not valid JSON at byte 3: more text after the value");
  EXPECT_EQ(json_problem("[1,]").substr(0, 26), "not valid JSON at byte 4: ");
  EXPECT_EQ(json_problem("nul").substr(0, 25), "not valid JSON at byte 4:");
}

TEST(JsonProblem, RefusesWhatIsNotJson) {
  for (const std::string_view text :
       {"", " ", "{", "[1 2]", "{'a':1}", "{a:1}", "[1,]", "{\"a\":1,}", "// no\n1", "NaN", "01",
        "+1", ".5", "\"\t\"", "\"\xff\"", "\xef\xbb\xbf{}", "tru", "\"open", R"("\ud800")"}) {
    EXPECT_NE(json_problem(text), "") << text;
  }
  EXPECT_NE(json_problem(std::string_view("1\0", 2)), "");
}

TEST(JsonProblem, DepthHasABound) {
  EXPECT_EQ(json_problem(nested(33)), "");
  EXPECT_EQ(json_problem(nested(json_depth_max)), "");
  EXPECT_EQ(json_problem(nested(json_depth_max + 1)),
            "not valid JSON at byte 513: nested deeper than 512 levels");
  EXPECT_NE(json_problem(std::string(1'000'000, '[')), "");
}

RC_GTEST_PROP(JsonProblem, NeverQuotesTheText, (const std::string& noise)) {
  const std::string text = "SECRETVALUE" + noise;
  const auto problem = json_problem(text);
  RC_ASSERT(!problem.empty());
  RC_ASSERT(problem.find("SECRET") == std::string::npos);
  RC_ASSERT(problem.size() < 100U);
}

}  // namespace
}  // namespace sagabox
