#include "cli/views/status_view.hpp"

#include "cli/views/view_json.hpp"
#include "support/noon.hpp"
#include "unit/cli/plain_lines.hpp"

#include <gtest/gtest.h>

namespace sagabox::cli {
namespace {

using namespace std::chrono_literals;
using testing::noon;
using Texts = std::vector<std::string>;

TableStatus table(const std::string& name) {
  TableStatus status;
  status.facts.table = name;
  status.facts.stats.now = noon;
  for (std::uint16_t shard = 0; shard < 16; ++shard) {
    const auto owner = WorkerId::parse(shard < 8 ? "relay-a" : "relay-b").value();
    status.facts.owners.push_back({Shard{shard}, owner, Epoch{1}, 11s});
  }
  return status;
}

TEST(StatusView, IsTheTableThatAPersonReadsAtNight) {
  auto orders = table("orders");
  orders.facts.stats.pending = 18'204;
  orders.facts.stats.estimated = true;
  orders.facts.stats.oldest_pending = noon - 252s;
  orders.facts.stats.dead = 3;
  orders.traffic = Traffic{950, 0};
  orders.facts.pauses.push_back({"", "ops", "broker moves", noon - 250s});
  auto billing = table("billing");
  billing.traffic = Traffic{2.6, 3.4};
  EXPECT_EQ(
      plain(status_view(std::vector{orders, billing})),
      (Texts{"TABLE    PENDING  OLDEST  RATE IN/OUT  RETRYING  DEAD  OWNERS",
             "orders   ~18 204   4m12s   950/s  0/s         0     3  relay-a 8 shards, relay-b 8 "
             "shards",
             "billing        0       -     3/s  3/s         0     0  relay-a 8 shards, relay-b 8 "
             "shards",
             "! orders: paused for 4m10s by ops: broker moves  → sagabox resume --table orders",
             "! orders: 3 dead letters  → sagabox dead list --table orders"}));
}

TEST(StatusView, EstimatesAreMarked) {
  auto orders = table("orders");
  orders.facts.stats.done = 10'000;
  orders.facts.stats.dead = 10'000;
  const auto flags = [&] { return status_json("", std::vector{orders}); };
  EXPECT_NE(flags().find(R"("done":10000,"done_estimated":false)"), std::string::npos) << flags();
  orders.facts.stats.done_estimated = orders.facts.stats.dead_estimated = true;
  EXPECT_NE(flags().find(R"("done":10000,"done_estimated":true)"), std::string::npos) << flags();
  EXPECT_NE(flags().find(R"("dead":10000,"dead_estimated":true)"), std::string::npos) << flags();
  EXPECT_NE(plain(status_view(std::vector{orders})).at(1).find("~10 000"), std::string::npos);
}

TEST(StatusView, TargetsThatAreDownComeLast) {
  const std::vector<DestinationState> targets{
      {.target = "bus:fine", .under_way = 2},
      {.target = "kafka:orders",
       .down = true,
       .down_for = 250s,
       .next_probe = 6s,
       .last_error = "connection refused, broker 10.0.3.7:9092"}};
  const std::vector tables{table("orders")};
  EXPECT_EQ(plain(status_view(tables, targets)).back(),
            "! target kafka:orders is down for 4m10s (connection refused, broker 10.0.3.7:9092); "
            "its messages wait, no attempt is spent  → it is tried again in 6s");
  EXPECT_NE(status_json("", tables, targets)
                .find(R"("destinations":[{"target":"bus:fine","down":false,"under_way":2},)"),
            std::string::npos);
  EXPECT_EQ(status_json("", tables).find("destinations"), std::string::npos);
}

TEST(StatusView, RatesComeFromTwoLooks) {
  const TrafficLook first{Sequence{100}, 50, false, noon};
  const TrafficLook second{Sequence{300}, 150, false, noon + 2s};
  const auto traffic = traffic_between(first, second, std::nullopt);
  EXPECT_DOUBLE_EQ(traffic.in, 100);
  EXPECT_DOUBLE_EQ(traffic.out.value(), 50);
}

TEST(StatusView, WhatWentOutOfAnEstimatedTableIsCountedOrNotKnown) {
  const TrafficLook first{Sequence{100}, 20'000, true, noon};
  const TrafficLook second{Sequence{300}, 20'000, true, noon + 2s};
  EXPECT_DOUBLE_EQ(traffic_between(first, second, 80).out.value(), 40);
  auto orders = table("orders");
  orders.traffic = traffic_between(first, second, std::nullopt);
  EXPECT_DOUBLE_EQ(orders.traffic->in, 100);
  EXPECT_FALSE(orders.traffic->out);
  EXPECT_NE(plain(status_view(std::vector{orders}))[1].find("100/s  -"), std::string::npos);
  const auto text = status_json("", std::vector{orders});
  EXPECT_NE(text.find(R"("in_per_second":100,)"), std::string::npos) << text;
  EXPECT_EQ(text.find("out_per_second"), std::string::npos) << text;
}

TEST(StatusView, RatesAreNeverBelowZero) {
  const TrafficLook first{Sequence{300}, 5, false, noon};
  const TrafficLook restored{Sequence{100}, 50, false, noon + 1s};
  EXPECT_DOUBLE_EQ(traffic_between(first, restored, std::nullopt).in, 0);
  EXPECT_DOUBLE_EQ(traffic_between(first, restored, std::nullopt).out.value(), 0);
  EXPECT_DOUBLE_EQ(traffic_between(first, first, std::nullopt).in, 0);
}

TEST(StatusView, JsonHasTheSameWithTimesAsRfc3339) {
  auto orders = table("orders");
  orders.facts.stats.pending = 2;
  orders.facts.stats.oldest_pending = noon - 1s;
  const auto text = status_json("sqlite:a.db", std::vector{orders});
  for (const std::string part :
       {R"("store":"sqlite:a.db")", R"("pending":2)",
        R"("oldest_pending":"2026-01-01T11:59:59.000000Z")",
        R"("owners":[{"owner":"relay-a","shards":8},{"owner":"relay-b","shards":8}])",
        R"("findings":[])"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in " << text;
  }
}

TEST(ViewJson, APayloadStandsThereAsItWasWritten) {
  const auto orders = TableName::parse("orders").value();
  MessageRecord record;
  record.id = MessageId::parse("17").value();
  record.error = "broken \xff text";
  StoredMessage stored{.id = record.id};
  stored.fields.payload = json("{\"big\": 12345678901234567890123}");
  record.message = std::make_shared<const Message>(Message::restore(std::move(stored)));
  const auto text = message_json(orders, record);
  EXPECT_NE(text.find(R"("payload":{"big": 12345678901234567890123}})"), std::string::npos) << text;
  EXPECT_NE(text.find("\"error\":\"broken \xef\xbf\xbd text\""), std::string::npos) << text;
  stored = {.id = record.id};
  stored.fields.payload = bytes(std::string("\0\x01", 2));
  record.message = std::make_shared<const Message>(Message::restore(std::move(stored)));
  EXPECT_NE(message_json(orders, record).find(R"("payload_base64":"AAE=")"), std::string::npos);
}

}  // namespace
}  // namespace sagabox::cli
