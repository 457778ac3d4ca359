#include "cli/views/message_view.hpp"

#include "cli/views/text_table.hpp"
#include "support/noon.hpp"
#include "unit/cli/plain_lines.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sagabox::cli {
namespace {

using namespace std::chrono_literals;
using testing::noon;
using Texts = std::vector<std::string>;

MessageRecord record(std::string_view id, MessageState state) {
  MessageRecord made;
  made.id = MessageId::parse(id).value();
  made.state = state;
  made.sequence = Sequence{8812};
  made.topic = "billing.invoice.issued.v1";
  made.written_at = noon - 2h;
  return made;
}

MessageRecord failed(std::string_view id, MessageState state) {
  auto made = record(id, state);
  made.attempts = 10;
  made.code = Code::provider_rejected;
  made.error = "422 from hooks.example.com";
  if (state != MessageState::pending) made.ended_at = noon - 100min;
  return made;
}

TEST(TextTable, ColumnsAreAsWideAsTheirWidestCell) {
  TextTable table({{"A"}, {"NUMBER", TextTable::Side::right}, {"LAST"}});
  table.add({{"é…"}, {"1"}, {"x"}});
  table.add({{"wider"}, {"1234567"}, {""}});
  EXPECT_EQ(plain(table.lines("> ")), (Texts{"> A       NUMBER  LAST",  //
                                             "> é…           1  x",     //
                                             "> wider  1234567  "}));
}

TEST(MessageView, AListSaysWhyEachIsWhereItIs) {
  auto retry = failed("R", MessageState::pending);
  retry.retrying = true;
  retry.due = noon + 5s;
  auto later = record("L", MessageState::pending);
  later.due = noon + 1h;
  later.key = "17";
  auto aside = failed("Q", MessageState::quarantined);
  aside.note = "waits for a fix";
  const std::vector rows{failed("01JC9W", MessageState::dead), retry, later, aside};
  EXPECT_EQ(
      plain(message_list(rows, noon)),
      (Texts{
          "ID       SEQ  TOPIC                      KEY  TRIES    AGE  WHY",
          "01JC9W  8812  billing.invoice.issued.v1  -       10  1h40m  PROVIDER.REJECTED 422 from "
          "hooks.example.com",
          "R       8812  billing.invoice.issued.v1  -       10  2h00m  retry in 5s: "
          "PROVIDER.REJECTED 422 from hooks.example.com",
          "L       8812  billing.invoice.issued.v1  17       0  2h00m  due in 1h00m",
          "Q       8812  billing.invoice.issued.v1  -       10  1h40m  waits for a fix "
          "(PROVIDER.REJECTED 422 from hooks.example.com)"}));
}

TEST(MessageView, TextsOfOthersCannotDrawOnTheTerminal) {
  auto evil = failed("E", MessageState::dead);
  evil.error = "a\x1b[2Jb\nc";
  evil.topic = "t\x1b]0;title\x07";
  evil.note = "n\r";
  evil.key = "k\x1b";
  evil.history.push_back({1, noon, Code::tx_timeout, "h\x1b[H"});
  for (const auto& lines : {message_list(std::vector{evil}, noon), message_details(evil, noon)}) {
    for (const auto& text : plain(lines)) {
      EXPECT_EQ(text.find_first_of("\x1b\n\r\x07"), std::string::npos) << text;
    }
  }
}

TEST(MessageView, DetailsHaveTheHistoryAndThePayloadOnlyWhenGiven) {
  auto letter = failed("01JC9W", MessageState::dead);
  letter.history = {{1, noon - 2h, Code::tx_timeout, "no answer"},
                    {2, noon - 100min, Code::provider_rejected, "422"}};
  const auto lines = plain(message_details(letter, noon));
  const auto has = [&](const std::string& line) {
    return std::ranges::find(lines, line) != lines.end();
  };
  EXPECT_TRUE(has("id          01JC9W"));
  EXPECT_TRUE(has("state       dead"));
  EXPECT_TRUE(has("ended       2026-01-01T10:20:00.000Z (1h40m ago)"));
  EXPECT_TRUE(has("attempt 1   2026-01-01T10:00:00.000Z (2h00m ago)  TX.TIMEOUT no answer"));
  EXPECT_TRUE(has("attempt 2   2026-01-01T10:20:00.000Z (1h40m ago)  PROVIDER.REJECTED 422"));
  EXPECT_NE(lines.back(), "");
}

TEST(MessageView, OwnersAreCountedByTheirShards) {
  const auto worker = [](std::string_view id) { return WorkerId::parse(id).value(); };
  const std::vector<spi::ShardOwner> shards{{Shard{0}, worker("relay-a"), Epoch{3}, 11s},
                                            {Shard{1}, worker("relay-b"), Epoch{42}, 9s},
                                            {Shard{2}, worker("relay-a"), Epoch{1}, 11s},
                                            {Shard{3}, worker("relay-c"), Epoch{1}, 0s},
                                            {Shard{4}, {}, Epoch{2}, {}}};
  EXPECT_EQ(owners_text(shards), "relay-a 2 shards, relay-b 1 shard");
  EXPECT_EQ(owners_text({}), "nobody");
  Owners owners;
  owners.relays.shards = shards;
  owners.replayer = shards[1];
  EXPECT_EQ(plain(owners_view(TableName::parse("orders").value(), owners)),
            (Texts{"orders: relay-a 2 shards, relay-b 1 shard",  //
                   "  replays: relay-b",                         //
                   "  purges: nobody",                           //
                   "  SHARD  OWNER      LEASE  EPOCH",           //
                   "      0  relay-a      11s      3",           //
                   "      1  relay-b       9s     42",           //
                   "      2  relay-a      11s      1",           //
                   "      3  relay-c  run out      1",           //
                   "      4  nobody         -      2"}));
}

TEST(MessageView, JobsSayWhichMessagesTheyMean) {
  ReplayJob job;
  job.id = ReplayJobId{7};
  job.table = "billing";
  job.matched = 1200;
  job.replayed = 2;
  job.rate_max = 50;
  job.actor = "ops";
  job.created_at = noon - 4s;
  job.changed_at = noon;
  job.filter = {
      .topic = "a.b", .code = Code::tx_timeout, .first = Sequence{7}, .last = Sequence{9}};
  EXPECT_EQ(
      plain(job_list(std::vector{job}, noon)),
      (Texts{
          "JOB  STATE    REPLAYED     OF  RATE  AGE  BY   MESSAGES",
          "  7  running         2  1 200  50/s   4s  ops  dead, topic a.b, code TX.TIMEOUT, from "
          "seq 7, to seq 9"}));
  EXPECT_EQ(plain(job_list({}, noon)), Texts{"no replay jobs"});
}

TEST(MessageView, FindingsSayWhatToDo) {
  EXPECT_EQ(plain(finding_lines({Severity::error, "fsync is off", "set it on"}, "table orders")),
            (Texts{"error    table orders: fsync is off", "         → set it on"}));
  EXPECT_EQ(plain(finding_lines({Severity::info, "fine", ""}, "")), Texts{"info     fine"});
}

}  // namespace
}  // namespace sagabox::cli
