#include "core/error_text.hpp"

#include "core/text.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace sagabox {
namespace {

bool is_clean(std::string_view text) {
  return text_facts(text).unprintable_at == std::string_view::npos;
}

TEST(CleanError, LeavesPlainTextAlone) {
  EXPECT_EQ(clean_error(""), "");
  EXPECT_EQ(clean_error("connection refused"), "connection refused");
  EXPECT_EQ(clean_error("422 from hooks.example.com: no such customer, a=b"),
            "422 from hooks.example.com: no such customer, a=b");
  EXPECT_EQ(clean_error("Kunde unbekannt: Müller, 命令"), "Kunde unbekannt: Müller, 命令");
}

TEST(CleanError, PutsEverythingOnOneLine) {
  EXPECT_EQ(clean_error("first\nsecond\tthird\r\n\x1b[31m\x7f"), "first second third   [31m ");
  EXPECT_EQ(clean_error("c1:\xc2\x85."), "c1: .");
}

TEST(CleanError, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(clean_error("a\xff\xc3(\xed\xa0\x80"), "a\uFFFD\uFFFD(\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(clean_error(std::string_view("a\0b", 3)), "a b");
  EXPECT_EQ(clean_error("\xc0\xaf"), "\uFFFD\uFFFD") << "an overlong /";
  EXPECT_EQ(clean_error("\xf4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD") << "beyond Unicode";
}

TEST(CleanError, CutsBetweenCharacters) {
  EXPECT_EQ(clean_error("abcdef", 3), "abc");
  EXPECT_EQ(clean_error("ab命", 4), "ab");
  EXPECT_EQ(clean_error("ab命", 5), "ab命");
  EXPECT_EQ(clean_error("\xff", 2), "") << "the replacement takes three bytes";
  EXPECT_EQ(clean_error("abc", 0), "");
}

TEST(CleanError, IsNeverLongerThanItsBounds) {
  EXPECT_EQ(clean_error(std::string(10'000, 'x')).size(), error_bytes_default);
  EXPECT_EQ(clean_error(std::string(10'000, 'x'), 1'000'000).size(), error_characters_max);
  std::string wide;
  for (int i = 0; i < 5000; ++i) wide += "命";
  EXPECT_EQ(clean_error(wide, 1'000'000).size(), 3 * error_characters_max);
}

struct Masked {
  std::string text;
  std::string expected;
};

TEST(CleanError, MasksCredentialsInUrls) {
  const std::vector<Masked> cases{
      {"cannot reach https://bob:hunter2@example.com/x", "cannot reach https://***@example.com/x"},
      {"postgres://u:p#s?s@db/orders down", "postgres://***@db/orders down"},
      {"amqp://key@host", "amqp://***@host"},
      {"https://a:b@c and https://d:e@f", "https://***@c and https://***@f"},
      {"https://a:p@ss@host/", "https://***@host/"},
      {"\"redis://:pw@host\"", "\"redis://***@host\""},
      {"https://example.com/@user", "https://example.com/@user"},
      {"https://example.com:8443/x", "https://example.com:8443/x"},
      {"https://@host", "https://@host"},
      {"mail bob@example.com", "mail bob@example.com"},
      {"ends with ://", "ends with ://"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(clean_error(text), expected);
}

TEST(CleanError, MasksSecretsByName) {
  const std::vector<Masked> cases{
      {"password=hunter2 host=db", "password=*** host=db"},
      {"PGPASSWORD=hunter2", "PGPASSWORD=***"},
      {"Password: hunter2", "Password: ***"},
      {"passwd=a pwd=b", "passwd=*** pwd=***"},
      {R"({"password": "two words", "user": "u"})", R"({"password": "***", "user": "u"})"},
      {R"(password="a\"b" x)", R"(password="***" x)"},
      {"password='open", "password='***"},
      {"?token=abc&x=1", "?token=***&x=1"},
      {"access_token=abc;x", "access_token=***;x"},
      {"client_secret=abc,x", "client_secret=***,x"},
      {"api_key=a api-key: b apikey=c", "api_key=*** api-key: *** apikey=***"},
      {"aws_secret_access_key = abc", "aws_secret_access_key = ***"},
      {"secret_key=abc", "secret_key=***"},
      {"password=", "password="},
      {"password=, next", "password=, next"},
      {"the token was refused", "the token was refused"},
      {"tokens=3", "tokens=3"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(clean_error(text), expected);
}

TEST(CleanError, MasksAuthorization) {
  const std::vector<Masked> cases{
      {"Authorization: Bearer abc.def", "Authorization: ***"},
      {"authorization: Basic dXNlcg==\nHost: x", "authorization: *** Host: x"},
      {R"({"Authorization":"Digest a, b"} y)", R"({"Authorization":"***"} y)"},
      {"sent Bearer abc.def, got 401", "sent Bearer ***, got 401"},
      {"BEARER  abc", "BEARER  ***"},
      {"bearer", "bearer"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(clean_error(text), expected);
}

TEST(CleanError, ASecretIsNotCutOpen) {
  const std::string text = "see https://bob:hunter2@example.com";
  for (std::size_t bytes_max = 0; bytes_max < text.size(); ++bytes_max) {
    const auto cleaned = clean_error(text, bytes_max);
    EXPECT_EQ(cleaned.find("bob"), std::string::npos) << cleaned;
    EXPECT_LE(cleaned.size(), bytes_max);
  }
}

TEST(CleanError, ReplacesThePayload) {
  const std::string payload = R"({"card": "4111"})";
  EXPECT_EQ(clean_error("cannot parse " + payload + ", sorry", 2048, payload),
            "cannot parse [payload], sorry");
  EXPECT_EQ(clean_error(payload + payload, 2048, payload), "[payload][payload]");
  EXPECT_EQ(clean_error("plain words here", 2048, "plain words"), "[payload] here");
  EXPECT_EQ(clean_error("a short one stays", 2048, "short"), "a short one stays");
  EXPECT_EQ(clean_error("nothing of it", 2048, payload), "nothing of it");
}

TEST(CleanError, PayloadAndSecretsMayOverlap) {
  EXPECT_EQ(clean_error("x token=1234567890 y token=z", 2048, "n=1234567890"),
            "x toke[payload] y token=***");
  EXPECT_EQ(clean_error("password=1234567890 y", 2048, "1234567890"), "password=[payload] y");
  EXPECT_EQ(clean_error("password=a1234567890b 1234567890", 2048, "1234567890"),
            "password=*** [payload]");
  EXPECT_EQ(clean_error("my password = 12345 end", 2048, "password = 1"), "my [payload]2345 end");
}

RC_GTEST_PROP(CleanError, IsBoundedCleanAndStable, (std::uint16_t bytes_max)) {
  const auto text = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  const auto cleaned = clean_error(text, bytes_max % 64);
  RC_ASSERT(cleaned.size() <= bytes_max % 64U);
  RC_ASSERT(is_clean(cleaned));
  RC_ASSERT(clean_error(cleaned, 64) == cleaned);
}

RC_GTEST_PROP(CleanError, NeverShowsASecretWhateverSurroundsIt, ()) {
  const auto piece = rc::gen::element<std::string>(
      "https://u:HUNTER@h", "password=HUNTER", "token: \"HUNTER\"", "Bearer HUNTER", " ", "\n", "é",
      "\xff", "://", "=", "@", "some text ", ", ", "authorization: HUNTER HUNTER\n",
      "PAYLOADHUNTER");
  const auto pieces = *rc::gen::container<std::vector<std::string>>(piece);
  std::string text;
  for (const auto& p : pieces) text += p + " ";
  const auto cleaned = clean_error(text, 2048, "PAYLOADHUNTER");
  RC_ASSERT(cleaned.find("HUNTER") == std::string::npos);
  RC_ASSERT(is_clean(cleaned));
}

}  // namespace
}  // namespace sagabox
