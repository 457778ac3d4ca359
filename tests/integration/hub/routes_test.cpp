#include "support/parcels.hpp"
#include "support/sqlite_database.hpp"

#include <sagabox/admin.hpp>
#include <sagabox/outbox.hpp>
#include <sagabox/router.hpp>
#include <sagabox/stores/sqlite.hpp>
#include <sagabox/transports/hub.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace sagabox::integration {
namespace {

using std::chrono::milliseconds;
using Kind = spi::SendResult::Kind;

/// Messages of outboxes that become events, on SQLite.
class HubRoutesTest : public ::testing::Test {
 protected:
  void SetUp() override { store = sqlite::open(folder.file()).value(); }
  [[nodiscard]] std::vector<HubEvent> events() const {
    auto all = store->hub()->admin.events({}).value();
    std::ranges::reverse(all);
    return all;
  }

  testing::SqliteFolder folder;
  std::unique_ptr<Store> store;
};

TEST_F(HubRoutesTest, AMessageBecomesAnEvent) {
  const std::shared_ptr<spi::Transport> hub = hub::open({.store = store.get()}).value();
  auto outbox = Outbox::single_process(
                    *store, {.table = "orders",
                             .sink = Router::open({.routes = {{.topic = "**", .to = {{"hub:"}}}},
                                                   .transports = {{"hub", hub}}})
                                         .value()})
                    .value();
  outbox.start().value();
  store
      ->transaction([&](OwnedTransaction& tx) -> Status {
        auto written = outbox.write(tx, {.topic = "shop.order.placed.v1",
                                         .key = "order-7",
                                         .payload = json(R"({"order":7})"),
                                         .tenant = "acme",
                                         .id = "placed-7"});
        return written.ok() ? Status() : Status(written.error());
      })
      .value();
  for (int look = 0; look < 4000 && events().empty(); ++look) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  const auto all = events();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].message->topic(), "shop.order.placed.v1");
  EXPECT_EQ(all[0].message->key(), "order-7");
  EXPECT_EQ(all[0].message->tenant(), "acme");
  const auto stored = store->hub()->admin.event(all[0].id).value().value();
  EXPECT_EQ(stored.message->payload().view(), R"({"order":7})");
  EXPECT_EQ(all[0].external_id, "placed-7");
  EXPECT_EQ(all[0].source, "outbox/orders");
  EXPECT_NE(all[0].id.view(), "placed-7") << "ids of messages are their tenants' own";
}

TEST_F(HubRoutesTest, AMessageThatComesAgainIsTheSameEvent) {
  const auto hub = hub::open({.store = store.get()}).value();
  testing::Parcels parcels(*hub);
  const auto to = parcels.address("hub:", {{"source", "shop"}});
  EXPECT_EQ(parcels.send(to, {.payload = json("1"), .id = "m1"}).kind, Kind::delivered);
  EXPECT_EQ(parcels.send(to, {.payload = json("1"), .id = "m1"}).kind, Kind::delivered);
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].source, "shop");
}

TEST_F(HubRoutesTest, OneThatIsRefusedDoesNotHoldUpTheOthers) {
  const auto hub = hub::open({.store = store.get()}).value();
  testing::Parcels parcels(*hub);
  const auto to = parcels.address("hub:");
  ASSERT_EQ(parcels.send(to, {.payload = json("1"), .id = "m1"}).kind, Kind::delivered);
  std::vector<spi::Parcel> all;
  all.push_back(parcels.parcel(to, {.payload = json("2"), .id = "m2"}));
  all.push_back(parcels.parcel(to, {.payload = json("9"), .id = "m1"}));
  all.push_back(parcels.parcel(to, {.payload = json("3"), .id = "m3"}));
  all.push_back(
      parcels.parcel(to, {.topic = "hub.subscription.disabled.v1", .payload = json("4")}));
  const auto results = parcels.send(std::move(all));
  EXPECT_EQ(results[0].kind, Kind::delivered);
  EXPECT_EQ(results[1].kind, Kind::rejected);
  EXPECT_EQ(results[1].code, Code::tx_idempotent_mismatch);
  EXPECT_EQ(results[2].kind, Kind::delivered);
  EXPECT_EQ(results[3].kind, Kind::rejected) << "it is the hub's own type";
  EXPECT_EQ(results[3].code, Code::schema_validation_failed);
  EXPECT_EQ(events().size(), 3U);
}

TEST_F(HubRoutesTest, AMessageThatDoesNotFitTheCatalogueIsDeadWithACodeOfItsOwn) {
  EventTypes types;
  types.known["shop.order.placed.v1"] = {
      .schema = JsonSchema::parse(R"({"type": "object", "required": ["order"]})").value()};
  types.known_only = true;
  const std::shared_ptr<spi::Transport> hub =
      hub::open({.store = store.get(), .event_types = types}).value();
  auto outbox = Outbox::single_process(
                    *store, {.table = "orders",
                             .sink = Router::open({.routes = {{.topic = "**", .to = {{"hub:"}}}},
                                                   .transports = {{"hub", hub}}})
                                         .value()})
                    .value();
  outbox.start().value();
  const auto write = [&](std::string id, std::string topic, std::string payload) {
    return store->transaction([&](OwnedTransaction& tx) -> Status {
      auto written = outbox.write(
          tx, {.topic = Topic(topic), .payload = json(std::move(payload)), .id = std::move(id)});
      return written.ok() ? Status() : Status(written.error());
    });
  };
  ASSERT_TRUE(write("unfit", "shop.order.placed.v1", "{}").ok());
  ASSERT_TRUE(write("unknown", "shop.order.lost.v1", "{}").ok());
  ASSERT_TRUE(write("fits", "shop.order.placed.v1", R"({"order":7})").ok());
  const auto admin = Admin::open(*store, {.actor = "test"}).value();
  const auto table = TableName::parse("orders").value();
  const auto dead = [&] {
    return admin.list(table, {.state = MessageState::dead, .rows_max = 10}).value().rows;
  };
  for (int look = 0; look < 4000 && (events().empty() || dead().size() < 2); ++look) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].external_id, "fits");
  ASSERT_EQ(dead().size(), 2U);
  for (const auto& message : dead()) {
    EXPECT_EQ(message.code, Code::schema_validation_failed) << message.id.str();
    EXPECT_EQ(message.attempts, 1U) << "no other attempt would do better";
  }
}

TEST_F(HubRoutesTest, WrongAddressesAndStoresAreRefused) {
  const auto hub = hub::open({.store = store.get()}).value();
  EXPECT_EQ(hub->address("hub:shop", {}).error().code, Code::config_invalid);
  EXPECT_EQ(hub->address("hub:", {{"key", "id"}}).error().code, Code::config_invalid);
  EXPECT_EQ(hub->address("hub:", {{"source", std::string(256, 'x')}}).error().code,
            Code::config_invalid);
  EXPECT_EQ(hub->address("hub:", {{"source", "hub"}}).error().code, Code::config_invalid);
  EXPECT_EQ(hub::open({.store = store.get(), .batch_max = 0}).error().code, Code::config_invalid);
}

}  // namespace
}  // namespace sagabox::integration
