#include "integration/outbox/world.hpp"
#include "support/scripted_transport.hpp"

#include <sagabox/router.hpp>

#include <atomic>
#include <mutex>
#include <vector>

namespace sagabox::integration {
namespace {

using testing::ScriptedTransport;
using Kind = spi::SendResult::Kind;

constexpr int behind = 1'000'000;
constexpr int others = 20'000;
constexpr int also_up = 1'000;

/// A million keys have a message for a destination that is down.
class ManyKeysTest : public OutboxWorld {
 protected:
  ManyKeysTest() {
    transport->keeps_log = false;
    transport->script("down", [this](const spi::Parcel& parcel) {
      if (!reachable) return spi::SendResult{Kind::unreachable, "connection refused"};
      arrived_down(parcel);
      return spi::SendResult{};
    });
    transport->script("up", [this](const spi::Parcel& parcel) {
      arrived_up(parcel);
      return spi::SendResult{};
    });
  }
  Outbox sending() {
    auto options = defaults();
    options.retention = Duration{};
    options.sink =
        Router::open({.routes = {{.topic = "down", .to = {{"test:down"}}},
                                 {.topic = "up", .to = {{"test:up"}}}},
                      .transports = {{"test", transport}},
                      .breaker = {.probe_min = milliseconds(5), .probe_max = milliseconds(20)}})
            .value();
    auto outbox = Outbox::single_process(store, std::move(options)).value();
    outbox.start().value();
    return outbox;
  }
  void write_many(Outbox& outbox, const std::string& where, const std::string& key, int count) {
    constexpr int batch = 10'000;
    for (int first = 0; first < count; first += batch) {
      std::vector<NewMessage> messages;
      for (int number = first; number < std::min(count, first + batch); ++number) {
        messages.push_back(
            {.topic = where, .key = key + std::to_string(number), .payload = json("1")});
      }
      store
          .transaction(
              [&](OwnedTransaction& tx) { return outbox.write_all(tx, std::move(messages)); })
          .value();
    }
  }
  /// The number in the key of one that has messages for both destinations.
  static std::optional<std::size_t> number_of(const spi::Parcel& parcel) {
    const auto& key = parcel.message->key();
    if (!key.starts_with("key ")) return std::nullopt;
    return std::stoul(key.substr(4));
  }
  void arrived_down(const spi::Parcel& parcel) {
    const std::scoped_lock lock(mutex);
    went_down[*number_of(parcel)] = true;
    ++arrivals_down;
  }
  void arrived_up(const spi::Parcel& parcel) {
    const std::scoped_lock lock(mutex);
    ++arrivals_up;
    if (const auto number = number_of(parcel)) overtook += went_down[*number] ? 0 : 1;
  }

  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  std::atomic<bool> reachable{false};
  std::mutex mutex;
  std::vector<bool> went_down = std::vector<bool>(behind);
  std::atomic<int> arrivals_down{0};
  std::atomic<int> arrivals_up{0};
  int overtook = 0;
};

TEST_F(ManyKeysTest, AMillionKeysBehindADestinationThatIsDownDelayNoOther) {
  auto outbox = sending();
  write_many(outbox, "down", "key ", behind);
  // Of keys that have a message there, and of others.
  write_many(outbox, "up", "key ", also_up);
  write_many(outbox, "up", "other ", others);
  ASSERT_TRUE(eventually([&] { return arrivals_up.load() >= others * 99 / 100; }))
      << arrivals_up.load() << " of " << others << " have arrived while the other is down";
  EXPECT_EQ(arrivals_down.load(), 0);
  EXPECT_EQ(overtook, 0);
  reachable = true;
  ASSERT_TRUE(eventually([&] { return stats().pending == 0; }, seconds(300)))
      << stats().pending << " are still pending";
  EXPECT_EQ(overtook, 0);
  EXPECT_EQ(arrivals_down.load(), behind);
  EXPECT_EQ(arrivals_up.load(), others + also_up);
}

}  // namespace
}  // namespace sagabox::integration
