#include "admin/checks.hpp"

#include "support/noon.hpp"

#include <gtest/gtest.h>

namespace sagabox::admin {
namespace {

using namespace std::chrono_literals;
using testing::noon;

std::string why_not(const Status& status) {
  if (status.ok()) return "fine";
  EXPECT_EQ(status.error().code, Code::request_invalid);
  return status.error().message;
}

TEST(AdminChecks, TextsAreCountedInCharacters) {
  EXPECT_EQ(why_not(check_text("note", "ö", 1)), "fine");
  EXPECT_EQ(why_not(check_text("note", "", 5)), "note: empty; give 1 to 5 printable characters");
  EXPECT_EQ(why_not(check_text("note", "öööööö", 5)),
            "note: 6 characters; give 1 to 5 printable characters");
  EXPECT_EQ(why_not(check_text("note", "a\nb", 5)),
            "note: byte 2 is not printable UTF-8; give 1 to 5 printable characters");
  EXPECT_EQ(why_not(check_text("note", "\xff", 5)),
            "note: byte 1 is not printable UTF-8; give 1 to 5 printable characters");
}

TEST(AdminChecks, RowsHaveBounds) {
  EXPECT_EQ(why_not(check_rows("rows_max", 1, 1000)), "fine");
  EXPECT_EQ(why_not(check_rows("rows_max", 1000, 1000)), "fine");
  EXPECT_EQ(why_not(check_rows("rows_max", 0, 1000)), "rows_max: 0; give 1 to 1000");
  EXPECT_EQ(why_not(check_rows("rows_max", 1001, 1000)), "rows_max: 1001; give 1 to 1000");
}

TEST(AdminChecks, RangesOfAFilterHoldSomething) {
  EXPECT_EQ(why_not(check_filter({})), "fine");
  EXPECT_EQ(why_not(check_filter({.first = Sequence{7}, .last = Sequence{7}})), "fine");
  EXPECT_EQ(why_not(check_filter({.first = Sequence{8}, .last = Sequence{7}})),
            "filter: nothing lies between sequence 8 and 7; first must not be above last");
  EXPECT_EQ(why_not(check_filter({.from = noon, .until = noon + 1us})), "fine");
  EXPECT_EQ(why_not(check_filter({.from = noon, .until = noon})),
            "filter: nothing lies between 2026-01-01T12:00:00.000Z and 2026-01-01T12:00:00.000Z; "
            "from must be before until");
  EXPECT_EQ(why_not(check_filter({.topic = ""})),
            "filter topic: empty; give 1 to 128 printable characters");
  EXPECT_EQ(why_not(check_filter({.key = std::string(257, 'k')})),
            "filter key: 257 characters; give 1 to 256 printable characters");
}

TEST(AdminChecks, AReplaySaysWhatItMeans) {
  EXPECT_EQ(why_not(check_replay(MessageState::dead, {})), "fine");
  EXPECT_EQ(why_not(check_replay(MessageState::quarantined, {})), "fine");
  EXPECT_EQ(why_not(check_replay(MessageState::done, {.last = Sequence{9}})), "fine");
  EXPECT_EQ(why_not(check_replay(MessageState::done, {.until = noon})), "fine");
  EXPECT_EQ(why_not(check_replay(MessageState::pending, {})),
            "pending messages need no replay; replay dead, quarantined or done ones");
  EXPECT_EQ(why_not(check_replay(MessageState::dead, {.retrying = true})),
            "filter: retrying messages are pending and need no replay; leave it out");
  EXPECT_EQ(why_not(check_replay(MessageState::done, {.topic = "t"})),
            "a replay delivers done messages again: say which by a sequence range (first, last) or "
            "a time range (from, until)");
  EXPECT_EQ(why_not(check_replay(MessageState::dead, {.first = Sequence{2}, .last = Sequence{1}})),
            "filter: nothing lies between sequence 2 and 1; first must not be above last");
}

}  // namespace
}  // namespace sagabox::admin
