#include "assembly/outage_log.hpp"

#include <sagabox/testing/fake_clock.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

namespace sagabox::assembly {
namespace {

using std::chrono::seconds;
using testing::FakeClock;
using testing::RecordingLogger;

std::size_t count(const RecordingLogger& lines, LogLevel level, std::string_view event) {
  const auto all = lines.lines();
  return static_cast<std::size_t>(std::ranges::count_if(
      all, [&](const auto& line) { return line.level == level && line.event == event; }));
}

class OutageLogTest : public ::testing::Test {
 protected:
  /// Two stores, of which the first can be away; nobody looks by itself.
  OutageLogTest() {
    log.watch({{"orders", [this] { return answer; }}, {"billing", [] { return Status(); }}},
              OutageLog::Looks::when_told);
  }
  void fails(Code code = Code::storage_unavailable) {
    log.log(LogLevel::warning, "settle failed, will be sent again", {{"code", code_name(code)}});
  }

  RecordingLogger lines;
  FakeClock clock;
  Status answer{};
  OutageLog log{lines, clock};
};

TEST_F(OutageLogTest, TellsOnceThatAStoreGoesAndOnceThatItIsBack) {
  answer = Error{Code::storage_unavailable, "cannot connect"};
  fails();
  log.look();
  for (int line = 0; line < 38; ++line) fails();
  log.look();
  EXPECT_EQ(count(lines, LogLevel::warning, "settle failed, will be sent again"), 1U);
  EXPECT_EQ(count(lines, LogLevel::warning,
                  "store does not answer; what needs it waits and is tried again"),
            1U);
  clock.advance(seconds(3));
  answer = {};
  log.look();
  log.look();
  EXPECT_EQ(count(lines, LogLevel::info, "store answers again"), 1U);
  fails();
  EXPECT_EQ(count(lines, LogLevel::warning, "settle failed, will be sent again"), 2U);
}

TEST_F(OutageLogTest, OtherLinesGoThrough) {
  answer = Error{Code::storage_unavailable, "cannot connect"};
  fails();
  log.look();
  fails(Code::storage_conflict);
  log.log(LogLevel::error, "message is dead", {{"table", std::string_view("orders")}});
  EXPECT_EQ(count(lines, LogLevel::warning, "settle failed, will be sent again"), 2U);
  EXPECT_EQ(count(lines, LogLevel::error, "message is dead"), 1U);
}

TEST_F(OutageLogTest, AStoreThatCanBeReadHidesNothing) {
  // Its disk is full: each failure is told.
  fails();
  log.look();
  fails();
  log.look();
  EXPECT_EQ(count(lines, LogLevel::warning, "settle failed, will be sent again"), 2U);
}

TEST(OutageLog, LooksByItselfWhenALineTellsOfAStore) {
  RecordingLogger lines;
  std::atomic<int> asked{0};
  std::atomic<bool> away{true};
  OutageLog log(lines, system_clock());
  log.watch({{"orders", [&]() -> Status {
                ++asked;
                if (away) return Error{Code::storage_unavailable, "cannot connect"};
                return {};
              }}});
  log.log(LogLevel::warning, "read failed", {{"code", code_name(Code::storage_unavailable)}});
  while (asked < 2) std::this_thread::yield();
  away = false;
  while (count(lines, LogLevel::info, "store answers again") == 0) std::this_thread::yield();
  log.watch({});
  log.log(LogLevel::warning, "read failed", {{"code", code_name(Code::storage_unavailable)}});
  log.log(LogLevel::warning, "read failed", {{"code", code_name(Code::storage_unavailable)}});
  EXPECT_EQ(count(lines, LogLevel::warning, "read failed"), 3U);
}

}  // namespace
}  // namespace sagabox::assembly
