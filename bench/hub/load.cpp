#include "bench/hub/load.hpp"

#include "bench/workload.hpp"
#include "core/base64.hpp"
#include "core/secret_random.hpp"
#include "delivery/secret_box.hpp"
#include "delivery/worker/targets.hpp"
#include "support/http_server.hpp"

#include <sagabox/hub.hpp>
#include <sagabox/transports/http.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

namespace sagabox::bench::hub {
namespace {

constexpr std::int64_t events_of_a_transaction = 1000;
/// So long after a delivery every role sleeps again.
constexpr std::chrono::milliseconds hub_idle_pause{20};

std::string after(std::string text, std::string_view bytes) {
  append_base64(bytes, text);
  return text;
}

std::string secret_key() { return after("k1:", std::string(32, 'k')); }

HubOptions all_roles() {
  return {.secret_key = secret_key(),
          .transports = {{"http", http::open({.allow = {"127.0.0.0/8"}}).value()}}};
}

Hub publisher(Store& store) { return Hub::create(store, {.roles = {}}).value(); }

NewEvent event_of(std::int64_t number) {
  return {.message = draft(static_cast<std::uint64_t>(number))};
}

void await_hub_shards(const Hub& hub, std::uint64_t shards) {
  await_settled(
      [&] {
        const auto now = hub.snapshot();
        return std::uint64_t{now.routing_shards} + now.delivery_shards;
      },
      2 * shards);
}

/// Until no shard has a result that is not marked as seen.
void await_all_seen(Store& store, std::uint16_t shards) {
  auto roles = store.hub().value();
  await_settled(
      [&] {
        std::uint64_t done = 0;
        for (std::uint16_t shard = 0; shard < shards; ++shard) {
          if (roles.deliveries.ended(Shard{shard}, 1).value().empty()) ++done;
        }
        return done;
      },
      shards, std::chrono::milliseconds(20));
}

}  // namespace

std::int64_t deliveries_count(const Size& size) {
  return std::max<std::int64_t>(100, size.rows / 5);
}

std::vector<std::string> subscribe(Store& store, int count, const std::string& url) {
  auto roles = store.hub().value();
  const auto box = delivery::SecretBox::create(secret_key()).value();
  const auto secret = after("whsec_", signing_key());
  std::vector<std::string> ids;
  for (int number = 0; number < count; ++number) {
    SubscriptionRecord record;
    record.id = SubscriptionId::parse(fmt::format("bench-{}", number)).value();
    record.tenant = std::string(tenant_default);
    record.state = SubscriptionState::active;
    record.types = {std::string(topic)};
    record.target = url;
    record.version = 1;
    if (!roles.subscriptions.write(record, {}).value()) {
      throw std::runtime_error("the subscription of the benchmark was there");
    }
    const auto sealed =
        box.seal(secret, delivery::secret_context(record.id), secret_random()).value();
    (void)roles.subscriptions.add_secret(record.id, sealed, Duration{}, {}).value();
    ids.push_back(record.id.str());
  }
  return ids;
}

void publish(Store& store, std::int64_t count) {
  auto hub = publisher(store);
  for (std::int64_t first = 0; first < count; first += events_of_a_transaction) {
    std::vector<NewEvent> events;
    for (auto number = first; number < std::min(count, first + events_of_a_transaction); ++number) {
      events.push_back(event_of(number));
    }
    (void)store
        .transaction([&](OwnedTransaction& tx) { return hub.publish(tx, std::move(events)); })
        .value();
  }
}

double deliveries_rate(Store& store, std::int64_t count) {
  auto hub = Hub::create(store, all_roles()).value();
  const auto shards = store.hub().value().events.capabilities().shards;
  const auto completed = [&] { return hub.snapshot().completed; };
  hub.start().value();
  await_hub_shards(hub, shards);
  const auto begin = Steady::now();
  const auto before = static_cast<std::int64_t>(completed());
  await_settled(completed, static_cast<std::uint64_t>(count));
  const auto took = seconds_since(begin);
  await_all_seen(store, shards);
  hub.stop().value();
  return static_cast<double>(count - before) / took;
}

std::vector<double> publish_microseconds(Store& store, std::uint32_t count) {
  std::atomic<Steady::rep> arrived{0};
  const testing::HttpServer receiver([&](const testing::HttpRequest&) {
    arrived.store(Steady::now().time_since_epoch().count());
    return testing::HttpReply{};
  });
  (void)subscribe(store, 1, receiver.url("/"));
  auto hub = Hub::create(store, all_roles()).value();
  const auto shards = store.hub().value().events.capabilities().shards;
  hub.start().value();
  await_hub_shards(hub, shards);
  std::vector<double> taken;
  for (std::uint32_t number = 1; number <= count + events_before_latency; ++number) {
    std::this_thread::sleep_for(hub_idle_pause);
    const auto begin = Steady::now();
    (void)hub.publish(event_of(number)).value();
    await_settled([&] { return hub.snapshot().completed; }, number);
    const Steady::duration took{arrived.load() - begin.time_since_epoch().count()};
    if (number > events_before_latency) {
      taken.push_back(std::chrono::duration<double, std::micro>(took).count());
    }
  }
  await_all_seen(store, shards);
  hub.stop().value();
  return taken;
}

std::string signing_key() { return std::string(32, 's'); }

std::string url_of(const testing::HttpNginx& receiver) {
  return fmt::format("http://127.0.0.1:{}/", receiver.port());
}

}  // namespace sagabox::bench::hub
