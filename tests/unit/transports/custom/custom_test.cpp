#include <sagabox/random.hpp>
#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/recording.hpp>
#include <sagabox/transports/bus.hpp>
#include <sagabox/transports/custom.hpp>

#include <gtest/gtest.h>

#include <future>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace sagabox {
namespace {

using Kind = spi::SendResult::Kind;
using namespace std::chrono_literals;

class OneResult final : public spi::SendResults {
 public:
  void sent(spi::Ticket, spi::SendResult result) noexcept override {
    promise_.set_value(std::move(result));
  }
  spi::SendResult get() { return promise_.get_future().get(); }

 private:
  std::promise<spi::SendResult> promise_;
};

spi::SendResult send(spi::Transport& transport, const std::string& address, std::string id = {}) {
  const auto table = TableName::parse("orders").value();
  UlidSource ids(system_clock(), system_random());
  const auto message = std::make_shared<const Message>(
      Message::build({.topic = "t", .payload = json("1"), .id = std::move(id)}, {}, ids,
                     system_clock())
          .value());
  OneResult result;
  std::vector<spi::Parcel> parcels{{.message = message,
                                    .address = transport.address(address, {}).value(),
                                    .table = &table,
                                    .deadline = system_clock().boot_now() + 30s}};
  transport.send(parcels, result);
  return result.get();
}

TEST(FunctionsTest, OutcomesBecomeResults) {
  Functions functions;
  functions.add("done", [](const Delivery&) { return done(); }).value();
  functions.add("retry", [](const Delivery&) { return retry("no stock"); }).value();
  functions.add("later", [](const Delivery&) { return retry_after(5s); }).value();
  functions.add("free", [](const Delivery&) { return retry_after(5s, Attempt::not_spent); })
      .value();
  functions.add("reject", [](const Delivery&) { return reject("no such card"); }).value();
  functions.add("throw", [](const Delivery&) -> Outcome { throw std::runtime_error("broken"); })
      .value();

  EXPECT_EQ(send(functions, "fn:done").kind, Kind::delivered);
  const auto failed = send(functions, "fn:retry");
  EXPECT_EQ(failed.kind, Kind::failed);
  EXPECT_EQ(failed.error, "no stock");
  EXPECT_EQ(send(functions, "fn:later").retry_after, 5s);
  EXPECT_EQ(send(functions, "fn:free").kind, Kind::later);
  EXPECT_EQ(send(functions, "fn:reject").kind, Kind::rejected);
  const auto thrown = send(functions, "fn:throw");
  EXPECT_EQ(thrown.kind, Kind::failed);
  EXPECT_EQ(thrown.error, "broken");
}

TEST(FunctionsTest, HandlersWithAStoreAreCountedByTheMetricsOfTheirTransport) {
  memory::MemoryStore store;
  testing::RecordingMetrics metrics;
  testing::RecordingMetrics own;
  Functions functions({.metrics = &metrics});
  Bus bus({.metrics = &metrics});
  const auto handle = [](const Delivery&, OwnedTransaction&) { return done(); };
  functions.add("book", {.store = store, .handle = handle}).value();
  functions.add("bill", {.store = store, .handle = handle, .metrics = &own}).value();
  bus.subscribe("orders", {.store = store, .handle = handle}).value();
  for (const auto* id : {"m1", "m1", "m2"}) {
    EXPECT_EQ(send(functions, "fn:book", id).kind, Kind::delivered);
    EXPECT_EQ(send(functions, "fn:bill", id).kind, Kind::delivered);
    EXPECT_EQ(send(bus, "bus:orders", id).kind, Kind::delivered);
  }
  for (const auto& [counted, consumer] :
       {std::pair(&metrics, "fn:book"), std::pair(&own, "fn:bill"),
        std::pair(&metrics, "bus:orders")}) {
    EXPECT_EQ(counted->counter_value("idempotency_hits_total", {{"consumer", consumer}}), 1)
        << consumer;
    EXPECT_EQ(counted->counter_value("idempotency_runs_total",
                                     {{"consumer", consumer}, {"result", "succeeded"}}),
              2)
        << consumer;
  }
  EXPECT_EQ(metrics.counter_value("idempotency_hits_total", {{"consumer", "fn:bill"}}), 0);
}

TEST(FunctionsTest, FunctionWithAStoreHasANameOfItsOwnAndHandlesAMessageOnce) {
  memory::MemoryStore store;
  Functions functions;
  int charged = 0;
  const auto charge = [&](const Delivery&, OwnedTransaction&) {
    ++charged;
    return done();
  };
  functions.add("charge", {.store = store, .handle = charge}).value();
  functions.add("again", {.store = store, .handle = charge, .once = false}).value();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(send(functions, "fn:charge", "m1").kind, Kind::delivered);
  EXPECT_EQ(charged, 1);
  const IdempotencyKey key{.consumer = "fn:charge", .key = "default:m1"};
  EXPECT_TRUE(store.inbox()->taken(std::span(&key, 1)).value().front());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(send(functions, "fn:again", "m1").kind, Kind::delivered);
  EXPECT_EQ(charged, 4);
  EXPECT_EQ(functions.add("empty", {.store = store}).error().code, Code::tx_invalid_handler);
}

TEST(FunctionsTest, NamesAreKnownWhenRoutesAreRead) {
  Functions functions;
  EXPECT_NE(functions.address("fn:charge", {}).error().message.find("Functions::add"),
            std::string::npos);
  const auto function = [](const Delivery&) { return done(); };
  functions.add("charge", function).value();
  EXPECT_TRUE(functions.address("fn:charge", {}).ok());
  EXPECT_EQ(functions.address("fn:chrage", {}).error().message,
            "\"fn:chrage\": no such function; there are fn:charge");
  EXPECT_EQ(functions.add("charge", function).error().code, Code::tx_invalid_state);
  EXPECT_EQ(functions.add("other", {}).error().code, Code::tx_invalid_handler);
  EXPECT_EQ(functions.add("", function).error().code, Code::config_invalid);
}

/// Takes every address, and says which ones.
class Answering final : public spi::Transport {
 public:
  explicit Answering(spi::TransportTraits traits) : traits_(traits) {}
  [[nodiscard]] spi::TransportTraits traits() const override { return traits_; }
  Result<std::shared_ptr<const spi::Address>> address(std::string_view text,
                                                      const spi::AddressSettings&) override {
    auto place = std::make_shared<Place>();
    place->text = text;
    return std::shared_ptr<const spi::Address>(std::move(place));
  }
  void send(std::span<spi::Parcel> parcels, spi::SendResults& results) override {
    for (const auto& parcel : parcels) {
      const auto& place = static_cast<const Place&>(*parcel.address);
      results.sent(parcel.ticket, {Kind::failed, place.text, {}});
    }
  }
  Result<std::vector<std::string>> findings(BootTime) override {
    return std::vector<std::string>{"paper is out"};
  }
  void close(BootTime) override { ++closed; }

  int closed = 0;

 private:
  struct Place final : spi::Address {
    std::string text;
  };
  spi::TransportTraits traits_;
};

TEST(CustomTransportsTest, NameSaysWhoseAddressItIs) {
  CustomTransports custom;
  custom.add("fax", std::make_shared<Answering>(spi::TransportTraits{})).value();
  EXPECT_EQ(send(custom, "custom:fax").error, "custom:fax");
  EXPECT_EQ(send(custom, "custom:fax/49").error, "custom:fax/49");
  EXPECT_EQ(custom.address("custom:telex", {}).error().message,
            "\"custom:telex\": no such transport; there are custom:fax");
  const auto another = std::make_shared<Answering>(spi::TransportTraits{});
  EXPECT_EQ(custom.add("fax", another).error().code, Code::tx_invalid_state);
  EXPECT_EQ(custom.add("a/b", another).error().code, Code::config_invalid);
  EXPECT_EQ(custom.add("none", nullptr).error().code, Code::tx_invalid_handler);
}

TEST(CustomTransportsTest, TraitsAreWhatAllCanDo) {
  CustomTransports custom;
  custom
      .add("a", std::make_shared<Answering>(spi::TransportTraits{
                    .keeps_order = true, .in_flight_max = 10, .payload_bytes_max = 900}))
      .value();
  EXPECT_TRUE(custom.traits().keeps_order);
  custom
      .add("b", std::make_shared<Answering>(spi::TransportTraits{
                    .keeps_order = false, .in_flight_max = 20, .payload_bytes_max = 800}))
      .value();
  EXPECT_FALSE(custom.traits().keeps_order);
  EXPECT_EQ(custom.traits().in_flight_max, 10U);
  EXPECT_EQ(custom.traits().payload_bytes_max, 800U);
}

TEST(CustomTransportsTest, FindingsAndClosingAreForAll) {
  CustomTransports custom;
  const auto a = std::make_shared<Answering>(spi::TransportTraits{});
  const auto b = std::make_shared<Answering>(spi::TransportTraits{});
  custom.add("a", a).value();
  custom.add("b", b).value();
  EXPECT_EQ(custom.findings({}).value(),
            (std::vector<std::string>{"custom:a: paper is out", "custom:b: paper is out"}));
  custom.close({});
  EXPECT_EQ(a->closed + b->closed, 2);
}

}  // namespace
}  // namespace sagabox
