#include "delivery/orchestrator/orchestrator.hpp"
#include "delivery/worker/worker.hpp"
#include "ownership/worker.hpp"
#include "support/hook_transport.hpp"

#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::delivery {
namespace {

using namespace std::chrono_literals;
using testing::HookTransport;

constexpr std::uint16_t shards_of_many = 4;
constexpr std::size_t endpoint_count = 1000;
constexpr std::string_view hung_target = "bus:s0";

/// Endpoints that answer after 5 ms, but for the first one, which may never answer.
class ManyEndpoints final : public spi::Transport {
 public:
  ManyEndpoints(const Clock& clock, bool hangs) : clock_(clock), hangs_(hangs) {}

  void answer() {
    while (!waiting_.empty() && waiting_.begin()->first <= clock_.boot_now()) {
      const auto [ticket, results] = waiting_.begin()->second;
      waiting_.erase(waiting_.begin());
      results->sent(ticket, HookTransport::answered(204));
    }
  }

  std::vector<BootTime> sent{};        ///< to the endpoints that answer
  std::vector<BootTime> held_until{};  ///< deadlines of requests that nobody answers

  [[nodiscard]] spi::TransportTraits traits() const override { return {}; }
  Result<std::shared_ptr<const spi::Address>> address(std::string_view text,
                                                      const spi::AddressSettings&) override {
    auto made = std::make_shared<HookTransport::Hook>();
    made->text = std::string(text);
    return std::shared_ptr<const spi::Address>(std::move(made));
  }
  void send(std::span<spi::Parcel> parcels, spi::SendResults& results) override {
    for (const auto& parcel : parcels) {
      const bool first = HookTransport::hook_of(parcel).text == hung_target;
      if (first && hangs_) {
        held_until.push_back(parcel.deadline);
        hanging_.emplace_back(parcel.ticket, &results);
        continue;
      }
      if (!first) sent.push_back(clock_.boot_now());
      waiting_.emplace(clock_.boot_now() + 5ms, std::pair(parcel.ticket, &results));
    }
  }
  Result<std::vector<std::string>> findings(BootTime) override {
    return std::vector<std::string>{};
  }
  void close(BootTime) override {
    for (const auto& [at, one] : std::exchange(waiting_, {})) drop(one);
    for (const auto& one : std::exchange(hanging_, {})) drop(one);
  }
  ~ManyEndpoints() override { close({}); }

 private:
  using Sent = std::pair<spi::Ticket, spi::SendResults*>;

  /// Every parcel gets a result, as of a real transport: who sent it waits for that.
  static void drop(const Sent& one) {
    one.second->sent(one.first, {spi::SendResult::Kind::unreachable, "the transport was closed"});
  }

  const Clock& clock_;
  const bool hangs_;
  std::vector<Sent> hanging_;
  std::multimap<BootTime, Sent> waiting_;
};

/// An orchestrator and a worker with 1,000 subscriptions, in virtual time.
class ManySubscriptions {
 public:
  explicit ManySubscriptions(bool hangs)
      : endpoints_(std::make_shared<ManyEndpoints>(clock_, hangs)) {
    store_.set_faults([this](memory::Operation operation) {
      if (operation == memory::Operation::hub_look) ++looks;
      return memory::Fault::none;
    });
    for (std::size_t at = 0; at < endpoint_count; ++at) {
      SubscriptionRecord record;
      record.id = SubscriptionId::parse("s" + std::to_string(at)).value();
      record.tenant = "acme";
      record.state = SubscriptionState::active;
      record.types = {"**"};
      record.target = "bus:s" + std::to_string(at);
      record.version = 1;
      EXPECT_TRUE(hub_.subscriptions.write(record, {}).value());
      subscriptions_.emplace_back(std::move(record));
    }
  }

  /// Due deliveries of this subscription.
  void add(std::size_t subscription, int count) {
    std::vector<HubEvent> events;
    std::vector<DeliveryRecord> made;
    for (int at = 0; at < count; ++at) {
      auto message = Message::build_shared(
          {.topic = "a.b.c.v1", .payload = json("{}"), .tenant = "acme"}, {}, ids_, clock_);
      events.push_back({.id = ids_.next<EventId>(), .message = std::move(message).value()});
      made.push_back(delivery_of(events.back(), subscriptions_[subscription], shards_of_many));
    }
    ASSERT_TRUE(
        store_.transaction([&](OwnedTransaction& tx) { return tx.events().publish(events); }).ok());
    ASSERT_TRUE(hub_.deliveries.add(made).ok());
  }

  void run(Duration time) {
    for (const auto end = clock_.boot_now() + time; clock_.boot_now() < end; clock_.advance(5ms)) {
      endpoints_->answer();
      while (step()) {
      }
    }
  }
  ManyEndpoints& endpoints() { return *endpoints_; }
  [[nodiscard]] std::uint64_t in_progress() const { return orchestrator_.snapshot().in_progress; }
  [[nodiscard]] BootTime now() const { return clock_.boot_now(); }

  std::uint64_t looks = 0;

 private:
  bool step() {
    const auto now = clock_.boot_now();
    bool worked = leases_.step();
    if (auto next = orchestrator_.plan_start(now)) {
      orchestrator_.apply(*next, orchestrator_.perform(*next), now);
      worked = true;
    }
    if (auto next = orchestrator_.plan_end(now)) {
      orchestrator_.apply(*next, orchestrator_.perform(*next), now);
      worked = true;
    }
    if (worker_.next(now) <= now) worked = worker_.step() || worked;
    return worked;
  }

  testing::FakeClock clock_;
  std::unique_ptr<Random> random_ = seeded_random(1);
  UlidSource ids_{clock_, *random_};
  memory::MemoryStore store_{{.shards = shards_of_many, .clock = &clock_}};
  HubRoles hub_ = store_.hub().value();
  std::vector<Subscription> subscriptions_;
  std::shared_ptr<ManyEndpoints> endpoints_;
  Transports transports_{{"bus", endpoints_}};
  Worker worker_{
      {.jobs = hub_.jobs,
       .secrets = hub_.subscriptions,
       .subscriptions =
           [this](std::uint64_t after) { return hub_.deliveries.subscriptions(after); },
       .transports = transports_,
       .ids = ids_,
       .clock = clock_,
       .finished = [this](std::span<const spi::FinishedJob> jobs) { orchestrator_.ended(jobs); }},
      {.in_hand_max = 1024}};
  Orchestrator orchestrator_{{.store = hub_.deliveries,
                              .health = hub_.admin,
                              .audit = &store_.audit(),
                              .clock = clock_,
                              .random = *random_,
                              .made_jobs = [this] { worker_.wake(); }},
                             {},
                             shards_of_many};
  ownership::Worker leases_{{.store = store_.ownership(), .ids = ids_, .clock = clock_},
                            {{.scope = spi::Scope(Orchestrator::scope),
                              .shards = shards_of_many,
                              .holder = &orchestrator_}}};
  const bool attached_ = (orchestrator_.attach(leases_), true);
};

struct Course {
  std::vector<Duration> waited;  ///< of requests to the endpoints that answer, ascending
  std::size_t held = 0;          ///< requests to the one that does not
  std::uint64_t in_progress = 0;
};

/// One delivery to each endpoint, and fifty to the first one.
Course course_of(bool hangs) {
  ManySubscriptions hub(hangs);
  hub.add(0, 50);
  for (std::size_t at = 1; at < endpoint_count; ++at) hub.add(at, 1);
  const auto began = hub.now();
  hub.run(500ms);
  Course course{.held = hub.endpoints().held_until.size(), .in_progress = hub.in_progress()};
  for (const auto until : hub.endpoints().held_until) EXPECT_GT(until, hub.now());
  for (const auto at : hub.endpoints().sent) course.waited.push_back(at - began);
  std::ranges::sort(course.waited);
  return course;
}

TEST(SlowEndpoint, OneOfAThousandThatHangsLeavesTheOthersAsTheyWere) {
  const auto well = course_of(false);
  const auto hung = course_of(true);
  constexpr std::size_t others = endpoint_count - 1;
  ASSERT_EQ(well.waited.size(), others);
  // Before its first request has timed out.
  ASSERT_EQ(hung.waited.size(), others);
  constexpr std::size_t p95 = others * 95 / 100;
  EXPECT_LE(hung.waited[p95], well.waited[p95] + 10ms);
  EXPECT_LE(hung.waited.back(), well.waited.back() + 10ms);
  EXPECT_EQ(hung.held, EndpointFlow::window_min);
  EXPECT_EQ(hung.in_progress, EndpointFlow::window_min);
  EXPECT_EQ(well.in_progress, 0U);
}

TEST(ManyDueSubscriptions, AreReadTogether) {
  ManySubscriptions hub(false);
  for (std::size_t at = 0; at < endpoint_count; ++at) hub.add(at, 1);
  hub.looks = 0;
  hub.run(50ms);
  EXPECT_EQ(hub.endpoints().sent.size() + 1, endpoint_count);
  // One for each of them would be 1,000.
  EXPECT_LT(hub.looks, 150U);
}

}  // namespace
}  // namespace sagabox::delivery
