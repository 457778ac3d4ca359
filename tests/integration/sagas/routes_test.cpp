#include "integration/sagas/world.hpp"
#include "support/parcels.hpp"

#include <sagabox/outbox.hpp>
#include <sagabox/router.hpp>
#include <sagabox/stores/memory.hpp>
#include <sagabox/transports/saga.hpp>

#include <atomic>
#include <utility>

namespace sagabox::integration {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = spi::SendResult::Kind;
using Lines = std::vector<std::string>;

/// As in `SagaWorld::quick`.
constexpr auto secret = "a secret of this test";

saga::TransportOptions to_sagas(Store& store) {
  return {.store = &store, .reply_secret = secret, .answer_wait = seconds(20)};
}

/// Trips that are asked for start sagas, replies end their steps.
std::shared_ptr<Router> router_to(Store& store) {
  const std::shared_ptr<spi::Transport> sagas = saga::open(to_sagas(store)).value();
  return Router::open({.routes = {{.topic = "trips.asked.v1", .to = {{"saga:travel"}}},
                                  {.topic = "trips.replies.v1", .to = {{"saga-reply:"}}}},
                       .transports = {{"saga", sagas}, {"saga-reply", sagas}}})
      .value();
}

Outbox outbox_over(Store& store) {
  auto outbox = Outbox::single_process(store, {.table = "trips", .sink = router_to(store)}).value();
  return outbox;
}

Status write(Store& store, Outbox& outbox, NewMessage message) {
  return store.transaction([&](OwnedTransaction& tx) -> Status {
    auto written = outbox.write(tx, std::move(message));
    return written.ok() ? Status() : Status(written.error());
  });
}

std::vector<MessageRecord> dead_of(Store& store) {
  const auto table = TableName::parse("trips").value();
  return store.outbox_admin().list({.table = table}).value().rows;
}

TEST_P(SagaRoutesTest, AMessageStartsASaga) {
  auto sagas = Sagas::create(*store, quick()).value();
  add_travel(sagas, [this](const SagaCall& call) {
    diary.write(call.tenant() + " " + call.input());
    return saga_ok();
  });
  sagas.start().value();
  auto outbox = outbox_over(*store);
  outbox.start().value();
  write(*store, outbox,
        {.topic = "trips.asked.v1",
         .payload = json(R"({"who":"Ada"})"),
         .tenant = "acme",
         .id = "trip-77"})
      .value();
  ASSERT_TRUE(comes_to(saga_id_of("acme", "travel", "trip-77"), SagaState::completed));
  EXPECT_EQ(diary.count(R"(acme {"who":"Ada"})"), 1U);
}

TEST_P(SagaRoutesTest, AMessageThatComesAgainStartsNothing) {
  auto sagas = Sagas::create(*store, quick()).value();
  add_travel(sagas, doing("book hotel"));
  sagas.start().value();
  const auto transport = saga::open(to_sagas(*store)).value();
  testing::Parcels parcels(*transport);
  const auto to = parcels.address("saga:travel");
  EXPECT_EQ(parcels.send(to, {.id = "trip-77"}).kind, Kind::delivered);
  EXPECT_EQ(parcels.send(to, {.id = "trip-77"}).kind, Kind::delivered);
  const auto other = parcels.send(to, {.payload = json("1"), .id = "trip-77"});
  EXPECT_EQ(other.kind, Kind::rejected);
  EXPECT_EQ(other.code, Code::tx_idempotent_mismatch) << other.error;
  ASSERT_TRUE(comes_to(saga_id_of("default", "travel", "trip-77"), SagaState::completed));
  EXPECT_EQ(diary.count("book hotel 1"), 1U);
}

TEST_P(SagaRoutesTest, AMessageIsTheReplyToAStep) {
  auto sagas = Sagas::create(*store, quick()).value();
  std::mutex mutex;
  std::string token;
  add_travel(sagas, [&](const SagaCall& call) {
    const std::scoped_lock lock(mutex);
    token = call.reply_token();
    return saga_wait();
  });
  sagas.start().value();
  auto outbox = outbox_over(*store);
  outbox.start().value();
  const auto id = sagas.start_saga({.definition = "travel"}).value();
  ASSERT_TRUE(eventually_so([&] {
    const std::scoped_lock lock(mutex);
    return !token.empty();
  }));
  const auto reply = [&](const std::string& given, const std::string& message) {
    write(*store, outbox,
          {.topic = "trips.replies.v1",
           .payload = json(R"({"room":7})"),
           .headers = {{"Saga-Reply-Token", given}},
           .id = message})
        .value();
  };
  reply(token, "first");
  ASSERT_TRUE(comes_to(id, SagaState::completed));
  reply(token, "too-late");
  reply(token + "0", "forged");
  ASSERT_TRUE(eventually_so([&] { return !dead_of(*store).empty(); }));
  ASSERT_TRUE(eventually_so([&] {
    const auto stats = store->outbox_admin().stats(TableName::parse("trips").value());
    return stats.ok() && stats->pending == 0;
  }));
  const auto dead = dead_of(*store);
  ASSERT_EQ(dead.size(), 1U) << "one that comes too late is no dead letter";
  EXPECT_EQ(dead[0].id.str(), "forged");
  EXPECT_EQ(dead[0].code, Code::auth_denied);
}

TEST_P(SagaRoutesTest, ManyAtOnceStartOneSagaEach) {
  constexpr int many = 300;
  auto sagas = Sagas::create(*store, quick()).value();
  add_travel(sagas, doing("book hotel"));
  sagas.start().value();
  const auto transport = saga::open(to_sagas(*store)).value();
  testing::Parcels parcels(*transport);
  const auto to = parcels.address("saga:travel");
  std::vector<spi::Parcel> all;
  for (int number = 0; number < many; ++number) {
    // One that can never be an input does not hold up those beside it.
    all.push_back(parcels.parcel(to, {.payload = number == 7 ? bytes("raw") : Payload(),
                                      .id = "t" + std::to_string(number)}));
  }
  const auto results = parcels.send(std::move(all));
  for (int number = 0; number < many; ++number) {
    const auto& result = results[static_cast<std::size_t>(number)];
    EXPECT_EQ(result.kind, number == 7 ? Kind::rejected : Kind::delivered) << result.error;
  }
  EXPECT_EQ(results[7].code, Code::schema_validation_failed);
  for (int number = 0; number < many; number += 50) {
    const auto id = saga_id_of("default", "travel", "t" + std::to_string(number));
    EXPECT_TRUE(comes_to(id, SagaState::completed)) << number;
  }
}

TEST_P(SagaRoutesTest, AStartThatNobodyTakesIsInTheInbox) {
  auto options = to_sagas(*store);
  options.answer_wait = milliseconds(50);
  const auto transport = saga::open(options).value();
  testing::Parcels parcels(*transport);
  EXPECT_EQ(parcels.send(parcels.address("saga:travel"), {.id = "trip-77"}).kind, Kind::delivered);
  const auto id = saga_id_of("default", "travel", "trip-77");
  EXPECT_EQ(store->saga_admin()->pending(id, 10)->size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Memory, SagaRoutesTest,
                         ::testing::Values(SagaStoreCase{
                             "memory", [] { return std::make_shared<memory::MemoryStore>(); }}),
                         saga_store_name);

TEST(SagaTransport, AStoreThatIsDownIsUnreachable) {
  memory::MemoryStore store;
  const auto transport = saga::open(to_sagas(store)).value();
  testing::Parcels parcels(*transport);
  std::atomic<memory::Fault> fault = memory::Fault::refused;
  store.set_faults([&](memory::Operation operation) {
    return operation == memory::Operation::saga_append ? fault.load() : memory::Fault::none;
  });
  const auto to = parcels.address("saga:travel");
  const auto down = parcels.send(to);
  EXPECT_EQ(down.kind, Kind::unreachable);
  EXPECT_EQ(down.code, Code::storage_unavailable);
  EXPECT_TRUE(store.saga_admin()->pending(saga_id_of("default", "travel", "trip-1"), 10)->empty());
}

TEST(SagaTransport, AnAddressIsCheckedWhenItIsRead) {
  const auto problem = [](std::string_view text, const spi::AddressSettings& settings = {},
                          const std::string& reply_secret = secret) {
    const auto transport =
        saga::open({.definitions = {"travel", "refund"}, .reply_secret = reply_secret}).value();
    const auto address = transport->address(text, settings);
    return address.ok() ? std::string() : address.error().text();
  };
  EXPECT_EQ(problem("saga:travel"), "");
  EXPECT_EQ(problem("saga:travel", {{"key", "message"}}), "");
  EXPECT_EQ(problem("saga-reply:"), "");
  EXPECT_EQ(problem("saga:trvel"),
            "CONFIG.INVALID: there is no saga definition \"trvel\"; there are travel, refund");
  EXPECT_EQ(problem("saga:"),
            "CONFIG.INVALID: \"saga:\": write it as saga:definition, or saga-reply:");
  EXPECT_NE(problem("saga:travel", {{"key", "all"}}).find("write id or message"),
            std::string::npos);
  EXPECT_NE(problem("saga:travel", {{"keys", "id"}}).find("unknown setting \"keys\""),
            std::string::npos);
  EXPECT_NE(problem("saga-reply:travel").find("nothing follows"), std::string::npos);
  EXPECT_NE(problem("saga-reply:", {}, "").find("reply_secret"), std::string::npos);
}

}  // namespace
}  // namespace sagabox::integration
