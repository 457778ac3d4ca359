#include "conformance/hub/hub_conformance.hpp"
#include "delivery/decide.hpp"
#include "delivery/subscription_book.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

namespace sagabox::conformance {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

/// All roles of a hub on one store, a step at a time. Steps are left out, repeated and done late at
/// random, as crashes between any two writes would have it.
class RandomHub {
 public:
  RandomHub(Store& store, Random& random, UlidSource& ids, Owner owner, WallTime now,
            std::uint16_t shards)
      : hub_(store.hub().value()),
        random_(random),
        ids_(ids),
        owner_(std::move(owner)),
        now_(now),
        shards_(shards) {}

  void set_time(WallTime now) { now_ = now; }

  void route() {
    std::vector<spi::FeedRange> ranges;
    for (std::uint16_t s = 0; s < shards_; ++s) ranges.push_back({Shard{s}, {}, 1000});
    auto reply = hub_.events.read(ranges, std::size_t{1} << 30, book_.change()).value();
    book_.apply(reply.changed);
    std::ranges::sort(reply.events.rows, {}, &HubEvent::sequence);
    std::vector<DeliveryRecord> made;
    for (const auto& event : reply.events.rows) {
      for (const auto& one : book_.matching(event)) {
        made.push_back(delivery::delivery_of(event, *one, shards_));
      }
    }
    // Crashes after a part of them; the next pass brings the rest.
    if (random_.below(3) == 0) made.resize(random_.below(made.size() + 1));
    hub_.deliveries.add(made).value();
  }

  void begin_due() {
    std::vector<spi::AttemptOf> attempts;
    each_shard([&](Shard shard) {
      for (const auto& open : hub_.deliveries.open(shard, {}, 100).value()) {
        const spi::PendingPage page{
            .shard = shard, .subscription = open.subscription, .rows_max = 100};
        for (const auto& due : hub_.deliveries.due(std::span(&page, 1)).value()) {
          attempts.push_back({due.id, due.attempt + 1});
        }
      }
    });
    std::ranges::sort(attempts);  // not in the order of their keys
    const auto reply = hub_.deliveries.begin(fencing(), attempts).value();
    if (random_.below(3) != 0) make_missing_jobs();
  }

  void make_missing_jobs() {
    each_shard([&](Shard shard) {
      std::map<spi::AttemptOf, JobRecord> jobs;
      for (const auto& one : hub_.deliveries.in_progress(shard, {}, 1000).value()) {
        JobRecord job;
        job.delivery = one.id;
        job.attempt = one.attempt;
        job.shard = one.shard;
        job.subscription = one.subscription;
        jobs.emplace(spi::AttemptOf{one.id, one.attempt}, job);
      }
      std::vector<spi::AttemptOf> asked;
      for (const auto& [of, job] : jobs) asked.push_back(of);
      std::vector<JobRecord> missing;
      for (const auto& of : hub_.deliveries.without_job(asked).value()) {
        missing.push_back(jobs.at(of));
      }
      hub_.deliveries.make_jobs(missing).value();
    });
  }

  void work() {
    const auto token = ids_.next<LeaseToken>();
    const auto leased = hub_.jobs.lease("w", token, seconds(30), 3).value();
    std::vector<spi::FinishedJob> finished;
    for (const auto& one : leased) {
      sent.emplace_back(one.delivery.subscription, one.delivery.key, one.delivery.sequence);
      if (random_.below(5) == 0) continue;  // the worker dies
      JobResult result;
      result.completed = random_.below(2) == 0;
      if (!result.completed) {
        result.code = random_.below(2) == 0 ? Code::tx_timeout : Code::provider_unavailable;
        result.error = "it failed";
      }
      finished.push_back({{one.job.delivery, one.job.attempt}, result});
    }
    hub_.jobs.finish(token, finished).value();
    if (random_.below(3) == 0) hub_.jobs.finish(token, finished).value();
  }

  void clean() { hub_.jobs.reset(100).value(); }

  void apply_results() {
    each_shard([&](Shard shard) {
      const auto ended = hub_.deliveries.ended(shard, 100).value();
      std::vector<spi::DeliveryChange> changes;
      std::vector<DeliveryId> dying;
      std::vector<spi::AttemptOf> seen;
      for (const auto& job : ended) {
        seen.push_back(job.of);
        const auto delivery = hub_.admin.delivery(job.of.delivery).value().value();
        const auto decision = decide(delivery, delivery::AttemptEnded{job.of.attempt, job.result},
                                     endpoint_, now_, random_);
        if (!decision.changed) continue;
        const auto& after = decision.delivery;
        changes.push_back({.of = job.of,
                           .state = after.state,
                           .failures = after.failures,
                           .next_attempt_at = after.next_attempt_at,
                           .code = after.code,
                           .error = after.error,
                           .status = after.status});
        if (decision.bury) dying.push_back(after.id);
      }
      hub_.deliveries.bury(dying).value();
      if (random_.below(4) == 0) return;
      hub_.deliveries.change(fencing(), changes).value();
      if (random_.below(4) == 0) return;
      hub_.deliveries.seen(seen).value();
    });
  }

  void step() {
    using Step = void (RandomHub::*)();
    constexpr std::array<Step, 7> steps{
        &RandomHub::route, &RandomHub::begin_due,     &RandomHub::begin_due, &RandomHub::work,
        &RandomHub::work,  &RandomHub::apply_results, &RandomHub::clean};
    (this->*steps.at(random_.below(steps.size())))();
    if (random_.below(4) == 0) make_missing_jobs();
  }

  /// Every send, in their order.
  std::vector<std::tuple<SubscriptionId, std::string, Sequence>> sent;

 private:
  [[nodiscard]] spi::Fencing fencing() const { return {owner_.scope, owner_.id, owner_.fences}; }
  template <class Work>
  void each_shard(Work&& work) {
    for (std::uint16_t s = 0; s < shards_; ++s) work(Shard{s});
  }

  HubRoles hub_;
  Random& random_;
  UlidSource& ids_;
  Owner owner_;
  WallTime now_;
  std::uint16_t shards_;
  delivery::SubscriptionBook book_;
  delivery::Endpoint endpoint_{
      .retry = {.waits = {seconds(1), seconds(5)}, .unreachable_max = seconds(20)}};
};

TEST_P(HubConformance, EveryDeliveryEndsWhateverIsRepeatedOrLeftOut) {
  auto ordered = subscription("ordered");
  auto any = subscription("any");
  any.settings = R"({"filter": {"n": {"lt": 5}}})";
  put(ordered);
  put(any);
  std::vector<HubEvent> sent;
  for (int n = 0; n < 8; ++n) {
    sent.push_back(event("key-" + std::to_string(n % 2), R"({"n":)" + std::to_string(n) + "}"));
  }
  publish(sent);
  RandomHub hub(store(), *random_, ids_, own_deliveries(), now(), shards());
  const auto all = [&] { return hub_admin().deliveries({.rows_max = 1000}).value(); };
  constexpr std::size_t expected = 8 + 5;
  const auto is_quiet = [&] {
    const auto rows = all();
    return rows.size() == expected && std::ranges::all_of(rows, [](const DeliveryRecord& row) {
             return has_ended(row.state);
           });
  };
  int steps = 0;
  for (; steps < 3000 && !(steps % 10 == 0 && is_quiet()); ++steps) {
    if (steps % 5 == 0) fixture_->advance_time(seconds(10));
    hub.set_time(now());
    hub.step();
  }
  ASSERT_TRUE(is_quiet()) << "after " << steps << " steps";
  for (const auto& row : all()) {
    const auto attempts = hub_admin().attempts(row.id).value();
    ASSERT_EQ(attempts.size(), row.attempt);
    for (std::uint32_t n = 0; n < row.attempt; ++n) {
      EXPECT_EQ(attempts[n].attempt, n + 1);
      EXPECT_FALSE(is_active(attempts[n].state));
    }
    // The last attempt alone succeeded, if any.
    for (std::uint32_t n = 0; n < row.attempt; ++n) {
      const bool last = n + 1 == row.attempt;
      EXPECT_EQ(attempts[n].result.completed, last && row.state == DeliveryState::completed);
    }
    EXPECT_EQ(hub_admin().dead(row.id).value().has_value(), row.state == DeliveryState::dead);
  }
  // Of a key, none was sent after a later one.
  std::map<std::pair<SubscriptionId, std::string>, Sequence> last;
  for (const auto& [to, key, sequence] : hub.sent) {
    if (key.empty()) continue;
    auto& before = last[{to, key}];
    EXPECT_GE(sequence, before);
    before = sequence;
  }
  EXPECT_EQ(last.size(), 2U);
}

}  // namespace
}  // namespace sagabox::conformance
