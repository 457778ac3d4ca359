#include "wire/messages.hpp"
#include "wire/problems.hpp"
#include "wire/replays.hpp"
#include "wire/stores.hpp"
#include "wire/tables.hpp"

#include <gtest/gtest.h>

namespace sagabox::wire {
namespace {

using namespace std::chrono_literals;

/// As the answer of a daemon is read.
template <class Record>
Result<Record> read(std::string_view body, Record (*read_record)(Fields&)) {
  auto fields = Fields::parse(body, {}, Nulls::left_out);
  if (!fields.ok()) return fields.error();
  auto record = read_record(*fields);
  if (auto status = fields->status_of_known(); !status.ok()) return status.error();
  return record;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

const std::string row =
    R"({"id":"m1","table":"orders","state":"dead","sequence":7,"shard":3,"tenant":"default",)"
    R"("topic":"t","aggregate_type":"global","aggregate_id":"","key":"k","sha256":")" +
    std::string(64, 'a') +
    R"(","payload_bytes":4,"attempts":2,"replays":1,"retrying":false,)"
    R"("written_at":"2026-01-01T00:00:00.000001Z","ended_at":"2026-01-01T00:00:01Z",)"
    R"("code":"PROVIDER.REJECTED","error":"422","history":[{"attempt":1,)"
    R"("at":"2026-01-01T00:00:00Z","code":"TX.TIMEOUT","error":"slow"}]})";

TEST(WireReading, AMessageHasAllItsFields) {
  const auto record = read(row, read_message).value();
  EXPECT_EQ(record.id.str(), "m1");
  EXPECT_EQ(record.state, MessageState::dead);
  EXPECT_EQ(record.sequence, Sequence{7});
  EXPECT_EQ(record.shard, Shard{3});
  EXPECT_EQ(record.written_at.time_since_epoch() % 1s, 1us);
  EXPECT_EQ(record.code, Code::provider_rejected);
  EXPECT_EQ(record.digest.front(), 0xaa);
  ASSERT_EQ(record.history.size(), 1U);
  EXPECT_EQ(record.history[0].code, Code::tx_timeout);
  EXPECT_FALSE(record.message);
  EXPECT_FALSE(record.due);
}

TEST(WireReading, APayloadIsKeptByteForByte) {
  const auto content = [](const std::string& payload) {
    return replaced(
        row, R"("history")",
        R"("content_type":"a/b","priority":"high","occurred_at":"2026-01-01T00:00:00Z",)"
        R"("headers":{"x":"y"},)" +
            payload + R"(,"history")");
  };
  const auto as_json = read(content(R"("payload":{"n": 1.50})"), read_message).value();
  EXPECT_EQ(as_json.message->payload().view(), R"({"n": 1.50})");
  EXPECT_EQ(as_json.message->content_type(), "a/b");
  EXPECT_EQ(as_json.message->headers(), (Headers{{"x", "y"}}));
  const auto nothing = read(content(R"("payload":null)"), read_message).value();
  EXPECT_EQ(nothing.message->payload().view(), "null");
  const auto as_bytes = read(content(R"("payload_base64":"AAE=")"), read_message).value();
  EXPECT_EQ(as_bytes.message->payload().form(), PayloadForm::bytes);
  EXPECT_EQ(as_bytes.message->payload().size(), 2U);
  EXPECT_FALSE(read(content(R"("payload_base64":"?")"), read_message).ok());
}

TEST(WireReading, WhatIsWrongIsNamedByItsPlace) {
  const auto problem = [](const std::string& what, const std::string& by) {
    const auto refused = read(
        R"({"messages":[)" + row + "," + replaced(row, what, by) + R"(],"next":null})", read_page);
    return refused.ok() ? "fine" : refused.error().message;
  };
  EXPECT_EQ(problem(R"("id":"m1",)", ""), "messages[1].id: is missing");
  EXPECT_EQ(problem(R"("sequence":7)", R"("sequence":"7")").substr(0, 33),
            "messages[1].sequence: is a string");
  EXPECT_EQ(problem(R"("shard":3)", R"("shard":70000)").substr(0, 27),
            "messages[1].shard: is 70000");
  EXPECT_EQ(problem(R"("state":"dead")", R"("state":"lost")").substr(0, 33),
            "messages[1].state: is not a state");
  EXPECT_EQ(problem(std::string(64, 'a'), "abc"),
            "messages[1].sha256: is not 64 hexadecimal digits");
  EXPECT_EQ(problem(R"("attempt":1,)", ""), "messages[1].history[0].attempt: is missing");
  EXPECT_EQ(problem(R"("replays":1)", R"("replays":1,"colour":"red")"), "fine")
      << "a newer daemon may say more";
}

TEST(WireReading, WhatIsNoJsonIsRefused) {
  for (const auto* wrong : {"", "<p>", "[]", "{}", R"({"stores":7})", R"({"stores":[1]})",
                            R"({"stores":[{"store":"a"}]})"}) {
    EXPECT_FALSE(read(wrong, read_stores).ok()) << wrong;
  }
}

TEST(WireReading, StoresHaveTables) {
  const auto all = read(R"({"stores":[{"store":"a","database":"sqlite:x","current":true,)"
                        R"("tables":["orders","billing"]},{"store":"b","current":false,)"
                        R"("tables":[]}]})",
                        read_stores)
                       .value();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].tables.at(1).str(), "billing");
  EXPECT_FALSE(all[1].current);
  EXPECT_EQ(read(R"({"stores":[{"store":"a","current":true,"tables":["or ders"]}]})", read_stores)
                .error()
                .message.substr(0, 16),
            "stores[0].tables");
}

TEST(WireReading, ABoundKeyIsToldTheTimeOnly) {
  const auto bound =
      read(R"({"table":"t","store":"s","now":"2026-01-01T00:00:00Z"})", read_table).value();
  EXPECT_FALSE(bound.stats);
  const auto full =
      read(R"({"table":"t","store":"s","pending":1,"pending_estimated":true,"waiting":0,"done":2,)"
           R"("dead":3,"quarantined":4,"now":"2026-01-01T00:00:00Z","last_sequence":9,)"
           R"("oldest_transaction_seconds":1.5})",
           read_table)
          .value();
  EXPECT_TRUE(full.stats->estimated);
  EXPECT_EQ(full.stats->dead, 3U);
  EXPECT_EQ(full.stats->oldest_transaction, Duration(1500ms));
  EXPECT_EQ(full.last_sequence, Sequence{9});
}

TEST(WireReading, OwnersAndReasons) {
  const auto found =
      read(R"({"live":["relay-a"],"shards":[{"shard":0,"epoch":4,"owner":"relay-a",)"
           R"("lease_left_seconds":2.5},{"shard":1,"epoch":0}],"replayer":"relay-a"})",
           read_owners)
          .value();
  EXPECT_EQ(found.relays.shards.at(0).lease_left, Duration(2500ms));
  EXPECT_TRUE(found.relays.shards.at(1).owner.empty());
  EXPECT_EQ(found.replayer->owner.str(), "relay-a");
  EXPECT_FALSE(found.purger);
  const auto told = read(R"({"state":"pending","reasons":[{"why":"target_down","text":"a"},)"
                         R"({"why":"moon_phase","text":"b"}],"text":"x"})",
                         read_explanation)
                        .value();
  EXPECT_EQ(told.reasons.at(0).why, Why::target_down);
  EXPECT_EQ(told.reasons.at(1).text, "b") << "a reason that is not known is still told";
  EXPECT_FALSE(read(R"({"state":"pending","reasons":[],"text":"x"})", read_explanation).ok());
}

TEST(WireReading, AJobComesBackWithItsFilter) {
  const auto back =
      read(R"({"job":3,"table":"orders","state":"stopped","from":"done","filter":)"
           R"({"topic":"t","first":1,"last":9},"rate_max":5,"matched":9,"replayed":4,)"
           R"("cursor":4,"last":9,"actor":"ann","created_at":"2026-01-01T00:00:00Z",)"
           R"("changed_at":"2026-01-01T00:00:00Z"})",
           read_job)
          .value();
  EXPECT_EQ(back.state, ReplayJob::State::stopped);
  EXPECT_EQ(back.filter.last, Sequence{9});
  EXPECT_EQ(back.filter.topic, "t");
}

TEST(WireReading, AProblemHasItsCode) {
  const auto told =
      read(R"({"type":"x","detail":"no","code":"AUTH.DENIED","status":403})", read_problem);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->code, Code::auth_denied);
  EXPECT_EQ(told->detail, "no");
  EXPECT_FALSE(read("<p>", read_problem));
  EXPECT_FALSE(read(R"({"error":"no"})", read_problem));
  EXPECT_EQ(read(R"({"table":"t","suppressed":true})", read_written).error().code,
            Code::provider_rejected);
}

}  // namespace
}  // namespace sagabox::wire
