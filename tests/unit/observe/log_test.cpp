#include "core/text.hpp"
#include "observe/log_line.hpp"

#include <sagabox/log.hpp>
#include <sagabox/payload.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace sagabox {
namespace {

using namespace std::chrono_literals;
using testing::RecordingLogger;

constexpr WallTime noon{1'767'268'800'250ms};

std::string line(const LogOptions& options, std::string_view event,
                 const std::vector<LogField>& fields) {
  return log_line(options, {noon, LogLevel::warning, event, fields});
}

TEST(LogLine, PlainIsTimeLevelEventAndFields) {
  EXPECT_EQ(line({}, "hot queue full",
                 {{"table", std::string_view("orders")},
                  {"sequence", std::uint64_t{8812}},
                  {"delta", std::int64_t{-1}},
                  {"seconds", 0.25},
                  {"unclean", true}}),
            "2026-01-01T12:00:00.250Z warning \"hot queue full\" table=orders sequence=8812 "
            "delta=-1 seconds=0.25 unclean=true");
}

TEST(LogLine, PlainQuotesWhatNeedsIt) {
  EXPECT_EQ(line({}, "dead", {{"error", std::string_view("no \"such\"\ncustomer \\ \x01")}}),
            "2026-01-01T12:00:00.250Z warning dead "
            "error=\"no \\\"such\\\"\\ncustomer \\\\ \\u0001\"");
  EXPECT_EQ(line({}, "e", {{"a", std::string_view("")}, {"b", std::string_view("x=y")}}),
            "2026-01-01T12:00:00.250Z warning e a=\"\" b=\"x=y\"");
}

TEST(LogLine, JsonIsOneObject) {
  const auto text = line({.json = true}, "dead",
                         {{"topic", std::string_view("a\"b\\\r\t")},
                          {"sequence", std::numeric_limits<std::uint64_t>::max()},
                          {"seconds", 1.5},
                          {"ratio", std::numeric_limits<double>::infinity()},
                          {"unclean", false}});
  EXPECT_EQ(text, R"({"time":"2026-01-01T12:00:00.250Z","level":"warning","event":"dead",)"
                  R"("topic":"a\"b\\\r\t","sequence":18446744073709551615,"seconds":1.5,)"
                  R"("ratio":null,"unclean":false})");
  EXPECT_EQ(json_problem(text), "");
}

TEST(LogLine, TenantsCanBeMasked) {
  const std::vector<LogField> fields{{"tenant", std::string_view("acme")},
                                     {"table", std::string_view("acme")}};
  EXPECT_EQ(line({.mask_tenants = true}, "e", fields),
            "2026-01-01T12:00:00.250Z warning e tenant=*** table=acme");
  EXPECT_EQ(line({.json = true, .mask_tenants = true}, "e", fields),
            R"({"time":"2026-01-01T12:00:00.250Z","level":"warning","event":"e","tenant":"***",)"
            R"("table":"acme"})");
  EXPECT_EQ(line({}, "e", fields), "2026-01-01T12:00:00.250Z warning e tenant=acme table=acme");
}

RC_GTEST_PROP(LogLine, IsCleanWhateverTheValue, ()) {
  const auto value = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  const auto json = line({.json = true}, value, {{"field", std::string_view(value)}});
  RC_ASSERT(json_problem(json).empty());
  RC_ASSERT(text_facts(json).unprintable_at == std::string_view::npos);
  const auto plain = line({}, value, {{"field", std::string_view(value)}});
  RC_ASSERT(text_facts(plain).unprintable_at == std::string_view::npos);
}

TEST(StderrLog, WritesLinesFromItsLevelOn) {
  ::testing::internal::CaptureStderr();
  {
    const auto log = stderr_log({.level = LogLevel::warning});
    EXPECT_FALSE(log->enabled(LogLevel::info));
    EXPECT_TRUE(log->enabled(LogLevel::warning));
    EXPECT_TRUE(log->enabled(LogLevel::error));
    log->log(LogLevel::info, "not shown");
    log->log(LogLevel::warning, "hot_dropped", {{"table", std::string_view("{} %v orders")}});
    log->log(LogLevel::error, "dead");
  }
  const auto text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("not shown"), std::string::npos);
  EXPECT_NE(text.find("Z warning hot_dropped table=\"{} %v orders\"\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("Z error dead\n")) << text;
}

TEST(NoLog, WantsNothing) {
  EXPECT_FALSE(no_log().enabled(LogLevel::error));
  no_log().log(LogLevel::error, "lost");
}

TEST(RecordingLogger, KeepsLines) {
  RecordingLogger log;
  log.log(LogLevel::error, "dead", {{"attempts", std::uint64_t{3}}, {"last", true}});
  ASSERT_EQ(log.lines().size(), 1U);
  EXPECT_EQ(log.lines()[0].level, LogLevel::error);
  EXPECT_EQ(log.lines()[0].fields.at("attempts"), "3");
  EXPECT_EQ(log.lines()[0].fields.at("last"), "true");
  EXPECT_EQ(log.count("dead"), 1U);
  EXPECT_EQ(log.count("alive"), 0U);
}

}  // namespace
}  // namespace sagabox
