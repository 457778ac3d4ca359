#include "integration/outbox/world.hpp"
#include "outbox/relay.hpp"
#include "outbox/threads.hpp"
#include "outbox/upkeep/upkeep.hpp"
#include "runtime/runtimes.hpp"
#include "support/long_form.hpp"
#include "support/scripted_transport.hpp"

#include <sagabox/router.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::integration {
namespace {

using testing::ScriptedTransport;
using Kind = spi::SendResult::Kind;

/// Keys that have a message for a destination that is down.
const int behind = testing::short_or_long(250'000, 1'000'000);
/// Of those, keys with a second message for it, and keys that go on with one for another.
constexpr int twice_behind = 5'000;
constexpr int also_up_first = 4'000;
constexpr int also_up = 2'000;
constexpr int other_keys = 500;
constexpr int messages_per_other = 40;
constexpr int others = other_keys * messages_per_other;
/// Of a shard. Its keys would take a third more where there is more: 512 KiB for 62,500.
const std::size_t key_bytes_max =
    testing::short_or_long(std::size_t{96} << 10U, std::size_t{384} << 10U);

/// An outbox in its parts, so that its shards can be asked for the memory of their keys.
class Engine {
 public:
  Engine(Store& store, OutboxOptions options)
      : options_(std::move(options)),
        registry_(*options_.metrics, table_.str(), options_.sink.get()),
        relay_(store.outbox(), store.control(), table_, options_, registry_,
               {.key_memory = {.passed_bytes_max = key_bytes_max}}),
        upkeep_(store, table_, options_, outbox::Upkeep::Readers::relays, &relay_.controls()),
        threads_(store.outbox(), table_, options_, relay_),
        registration_(runtime::join({.ownership = &store.ownership(),
                                     .clock = options_.clock,
                                     .random = options_.random,
                                     .metrics = options_.metrics,
                                     .log = options_.log},
                                    engine(store))) {
    threads_.start();
  }
  ~Engine() { (void)threads_.stop(*registration_); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Of each shard, for keys that were passed over.
  [[nodiscard]] std::vector<std::size_t> key_bytes() {
    std::vector<std::size_t> bytes;
    for (std::size_t number = 0; number < relay_.shards().size(); ++number) {
      bytes.push_back(relay_.shards().with(
          Shard{static_cast<std::uint16_t>(number)},
          [](const outbox::ShardState& state) { return state.passed_key_bytes(); }));
    }
    return bytes;
  }

 private:
  runtime::Engine engine(Store& store) {
    runtime::Engine engine{.scopes = {},
                           .work = &upkeep_,
                           .lease = options_.lease,
                           .attach = [this](ownership::Worker& worker) {
                             upkeep_.attach(worker);
                             relay_.attach(worker);
                           }};
    for (auto& scope : upkeep_.scopes()) engine.scopes.push_back({std::move(scope)});
    engine.scopes.push_back({.options = {.scope = outbox::Relay::scope_of(table_),
                                         .shards = store.outbox().capabilities().shards,
                                         .share = ownership::Share::all,
                                         .holder = &relay_},
                             .stages = threads_.stages()});
    return engine;
  }

  TableName table_ = TableName::parse("orders").value();
  OutboxOptions options_;
  outbox::Registry registry_;
  outbox::Relay relay_;
  outbox::Upkeep upkeep_;
  outbox::Threads threads_;
  std::unique_ptr<runtime::Registration> registration_;
};

class ManyKeysTest : public OutboxWorld {
 protected:
  /// The messages of a key, numbered from 1 by their payload.
  struct Line {
    int written = 0;
    int arrived = 0;
  };

  ManyKeysTest() {
    transport->keeps_log = false;
    transport->script("down", [this](const spi::Parcel& parcel) {
      if (!reachable) return spi::SendResult{Kind::unreachable, "connection refused"};
      arrived(parcel);
      return spi::SendResult{};
    });
    transport->script("up", [this](const spi::Parcel& parcel) {
      arrived(parcel);
      return spi::SendResult{};
    });
    store.outbox().prepare(TableName::parse("orders").value()).value();
  }
  OutboxOptions sending() {
    auto options = defaults();
    options.retention = Duration{};
    options.sink =
        Router::open({.routes = {{.topic = "down", .to = {{"test:down"}}},
                                 {.topic = "up", .to = {{"test:up"}}}},
                      .transports = {{"test", transport}},
                      .breaker = {.probe_min = milliseconds(5), .probe_max = milliseconds(20)}})
            .value();
    return options;
  }
  /// One message for each of the keys.
  void write_many(const std::string& where, int first_key, int count) {
    constexpr int batch = 10'000;
    for (int first = first_key; first < first_key + count; first += batch) {
      std::vector<NewMessage> messages;
      for (int key = first; key < std::min(first_key + count, first + batch); ++key) {
        const auto number = ++lines[static_cast<std::size_t>(key)].written;
        messages.push_back({.topic = where,
                            .key = "key " + std::to_string(key),
                            .payload = json(std::to_string(number))});
      }
      written += static_cast<int>(messages.size());
      store
          .transaction(
              [&](OwnedTransaction& tx) { return writer.write_all(tx, std::move(messages)); })
          .value();
    }
  }
  void arrived(const spi::Parcel& parcel) {
    const auto& message = *parcel.message;
    const auto key = std::stoi(message.key().substr(4));
    const auto number = std::stoi(std::string(message.payload().view()));
    const std::scoped_lock lock(mutex);
    auto& line = lines[static_cast<std::size_t>(key)];
    if (number != line.arrived + 1) ++out_of_turn;
    line.arrived = std::max(line.arrived, number);
    ++(key < behind ? arrivals_behind : arrivals_others);
  }
  /// The least a filter takes comes on top, for each destination and once more while a review goes
  /// on.
  const std::size_t bytes_max = key_bytes_max + 2 * 2 * flow::KeyFilter::bytes_min;

  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  Outbox writer = Outbox::writer_only(store, defaults()).value();
  std::atomic<bool> reachable{false};
  std::mutex mutex;
  std::vector<Line> lines = std::vector<Line>(behind + other_keys);
  int written = 0;
  std::atomic<int> arrivals_behind{0};
  std::atomic<int> arrivals_others{0};
  int out_of_turn = 0;
};

TEST_F(ManyKeysTest, ManyKeysBehindADestinationThatIsDownDelayNoOther) {
  write_many("down", 0, behind);
  write_many("down", 0, twice_behind);
  {
    Engine engine(store, sending());
    write_many("up", also_up_first, also_up);
    for (int number = 0; number < messages_per_other; ++number) {
      write_many("up", behind, other_keys);
    }
    std::size_t most = 0;
    const auto look = [&] {
      for (const auto bytes : engine.key_bytes()) most = std::max(most, bytes);
    };
    const auto others_arrived = [&] {
      look();
      return arrivals_others == others;
    };
    ASSERT_TRUE(eventually(others_arrived, seconds(300)))
        << arrivals_others << " of " << others << " have arrived while the other is down";
    EXPECT_EQ(arrivals_behind, 0);
    // All of them have been read: the others come after them.
    for (const auto bytes : engine.key_bytes()) EXPECT_GT(bytes, 0U);
    reachable = true;
    const auto all_settled = [&] {
      look();
      return stats().pending == 0;
    };
    ASSERT_TRUE(eventually(all_settled, seconds(300))) << stats().pending << " are still pending";
    EXPECT_LE(most, bytes_max);
  }
  EXPECT_EQ(out_of_turn, 0);
  const auto missing =
      std::ranges::count_if(lines, [](const Line& line) { return line.arrived != line.written; });
  EXPECT_EQ(missing, 0) << "keys lack a message";
  EXPECT_EQ(arrivals_behind + arrivals_others, written);
}

}  // namespace
}  // namespace sagabox::integration
