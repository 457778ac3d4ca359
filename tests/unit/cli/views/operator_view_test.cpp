#include "cli/views/operator_view.hpp"

#include "support/noon.hpp"
#include "unit/cli/plain_lines.hpp"

#include <gtest/gtest.h>

namespace sagabox::cli {
namespace {

using namespace std::chrono_literals;
using testing::noon;

MessageRecord letter(std::string_view id, std::string topic, std::string error) {
  MessageRecord record;
  record.state = MessageState::dead;
  record.id = MessageId::parse(id).value();
  record.topic = std::move(topic);
  record.attempts = 4;
  record.ended_at = noon - 100s;
  record.code = Code::tx_handler_failed;
  record.error = std::move(error);
  return record;
}

ReplayJob job(std::uint64_t replayed, std::uint64_t matched) {
  ReplayJob job;
  job.id = ReplayJobId{7};
  job.replayed = replayed;
  job.matched = matched;
  job.created_at = noon;
  job.changed_at = noon + 40ms;
  return job;
}

TEST(OperatorView, KeysSayWhatTheyDoNext) {
  EXPECT_EQ(plain(keys_line(false)), "  d dead letters  r replay them  p pause  q quit");
  EXPECT_EQ(plain(keys_line(true)), "  d dead letters  r replay them  p resume  q quit");
}

TEST(OperatorView, DeadLettersStandInColumns) {
  const std::vector letters{
      letter("01JC9Y3B6W8QK3T5V0ZC2N7A4F", "orders.order.placed.v1", "no such mailbox"),
      letter("17", "a.b", "")};
  EXPECT_EQ(
      plain(dead_letter_view(letters, 2, noon)),
      (std::vector<std::string>{
          "  ID       TOPIC                   TRIES    AGE  CODE               ERROR",
          "  …2N7A4F  orders.order.placed.v1      4  1m40s  TX.HANDLER_FAILED  no such mailbox",
          "  17       a.b                         4  1m40s  TX.HANDLER_FAILED  "}));
}

TEST(OperatorView, SaysHowManyMoreAreDead) {
  const std::vector letters{letter("17", "a.b", "")};
  EXPECT_EQ(plain(dead_letter_view(letters, 1235, noon)).back(), "  and 1 234 more");
  EXPECT_EQ(dead_letter_view(letters, 1, noon).size(), 2U);
  EXPECT_EQ(plain(dead_letter_view({}, 0, noon)), std::vector<std::string>{"  no dead letters"});
}

TEST(OperatorView, LongAndUnprintableTextsCannotBreakTheLine) {
  const std::vector letters{
      letter("17", std::string(90, 't'), "a\x1b[2Jb\n" + std::string(90, 'e'))};
  const auto line = plain(dead_letter_view(letters, 1, noon)).back();
  EXPECT_EQ(line.find_first_of("\x1b\n"), std::string::npos);
  EXPECT_NE(line.find("  " + std::string(23, 't') + "…  "), std::string::npos) << line;
  EXPECT_NE(line.find("  a?[2Jb?" + std::string(40, 'e') + "…"), std::string::npos) << line;
}

TEST(OperatorView, ALetterWithoutCodeOrEndIsShownAllTheSame) {
  auto bare = letter("17", "a.b", "gone");
  bare.code.reset();
  bare.ended_at.reset();
  const std::vector letters{bare};
  EXPECT_EQ(plain(dead_letter_view(letters, 1, noon)).back(),
            "  17  a.b        4    -  -     gone");
}

TEST(OperatorView, TextsAreShortenedByCharacters) {
  EXPECT_EQ(shortened("", 3), "");
  EXPECT_EQ(shortened("öäü", 3), "öäü");
  EXPECT_EQ(shortened("öäüß", 3), "öä…");
  EXPECT_EQ(shortened("a\xff\x7f", 3), "a??");
}

TEST(OperatorView, ABarShowsHowFarAReplayIs) {
  EXPECT_EQ(plain(replay_bar(job(2, 3))), "  replay job 7  █████████████░░░░░░░  2/3  50/s");
  EXPECT_EQ(plain(replay_bar(job(0, 1200))), "  replay job 7  ░░░░░░░░░░░░░░░░░░░░  0/1 200");
  EXPECT_EQ(plain(replay_bar(job(4, 3))), "  replay job 7  ████████████████████  4/4  100/s")
      << "one more died after they were counted";
}

TEST(OperatorView, ABarSaysHowAReplayEnded) {
  auto ended = job(2, 3);
  ended.state = ReplayJob::State::finished;
  EXPECT_EQ(plain(replay_bar(ended)), "  replay job 7  ████████████████████  2/2  50/s  finished")
      << "one was taken away meanwhile";
  ended.state = ReplayJob::State::failed;
  ended.error = "STORAGE.CONFLICT: again";
  EXPECT_EQ(plain(replay_bar(ended)),
            "  replay job 7  █████████████░░░░░░░  2/3  50/s  failed: STORAGE.CONFLICT: again");
  ended = job(0, 0);
  ended.state = ReplayJob::State::finished;
  EXPECT_EQ(plain(replay_bar(ended)), "  replay job 7  ████████████████████  0/0  finished");
}

}  // namespace
}  // namespace sagabox::cli
