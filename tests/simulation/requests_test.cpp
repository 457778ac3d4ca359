#include "idempotency/request_purge.hpp"

#include <sagabox/idempotency.hpp>
#include <sagabox/random.hpp>
#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// Guards, inboxes and barriers in whatever order hurts: one thread, virtual time, seeded faults. A
/// failure names its seed. Each broken variant has to be caught.
namespace sagabox::simulation {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t seeds = 300;

/// What went wrong in any of the seeds; empty: nothing.
template <class Run>
std::string first_fault(Run&& run) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (const auto fault = run(seed); !fault.empty()) {
      return "seed " + std::to_string(seed) + ": " + fault;
    }
  }
  return {};
}

memory::FaultPlan some_faults(Random& random, std::uint64_t one_in) {
  return [&random, one_in](memory::Operation) {
    if (random.below(one_in) != 0) return memory::Fault::none;
    constexpr std::array faults{memory::Fault::refused, memory::Fault::lost_before,
                                memory::Fault::lost_after};
    return faults[random.below(faults.size())];
  };
}

enum class BrokenStore : std::uint8_t {
  none,
  lets_through_early,  ///< counts shorter leases than the holder
  forgets_tickets,     ///< whoever says so finishes
  forgets_hashes,
  forgets_results,
  forgets_consumers,  ///< all have one namespace
};

/// The store of memory with a fault in it.
class FaultyRequests final : public Store, private spi::IdempotencyStore {
 public:
  FaultyRequests(memory::MemoryStore& store, BrokenStore broken)
      : store_(store), real_(*store.idempotency()), broken_(broken) {}

  spi::OutboxStore& outbox() override { return store_.outbox(); }
  spi::OutboxAdminStore& outbox_admin() override { return store_.outbox_admin(); }
  spi::ControlStore& control() override { return store_.control(); }
  spi::OwnershipStore& ownership() override { return store_.ownership(); }
  spi::AuditStore& audit() override { return store_.audit(); }
  spi::IdempotencyStore* idempotency() override { return this; }
  Result<std::unique_ptr<OwnedTransaction>> begin() override { return store_.begin(); }
  [[nodiscard]] std::string name() const override { return store_.name(); }

 private:
  Status prepare() override { return {}; }
  Result<bool> is_made() override { return true; }
  Result<std::vector<spi::IdempotencyCheckReply>> check(
      std::span<const spi::IdempotencyCheck> checks) override {
    auto asked = checks.front();
    place(asked.key);
    if (broken_ == BrokenStore::lets_through_early) asked.lease /= 4;
    if (broken_ == BrokenStore::forgets_hashes) asked.request_hash = {};
    auto replies = real_.check(std::span(&asked, 1));
    if (replies.ok() && broken_ == BrokenStore::forgets_hashes) {
      replies->front().record.request_hash = checks.front().request_hash;
    }
    return replies;
  }
  Result<std::vector<bool>> finish(std::span<const spi::IdempotencyFinish> finished) override {
    auto one = finished.front();
    place(one.key);
    if (broken_ == BrokenStore::forgets_tickets) {
      const auto known = real_.get(one.key);
      if (known.ok() && *known) one.ticket = (*known)->ticket;
    }
    if (broken_ == BrokenStore::forgets_results) {
      const spi::IdempotencyFail released{one.key, one.ticket};
      return real_.fail(std::span(&released, 1));
    }
    return real_.finish(std::span(&one, 1));
  }
  Result<std::vector<bool>> fail(std::span<const spi::IdempotencyFail> failed) override {
    auto one = failed.front();
    place(one.key);
    return real_.fail(std::span(&one, 1));
  }
  Result<std::vector<bool>> renew(std::span<const spi::IdempotencyRenew> renewals) override {
    std::vector<spi::IdempotencyRenew> asked(renewals.begin(), renewals.end());
    for (auto& one : asked) place(one.key);
    return real_.renew(asked);
  }
  Result<std::uint64_t> purge(const spi::IdempotencyPurge& request) override {
    return real_.purge(request);
  }
  Result<std::vector<IdempotencyRecord>> list(const spi::IdempotencyListRequest& request) override {
    return real_.list(request);
  }
  Result<std::optional<IdempotencyRecord>> get(const IdempotencyKey& key) override {
    return real_.get(key);
  }
  void place(IdempotencyKey& key) const {
    if (broken_ == BrokenStore::forgets_consumers) key.consumer = "all";
  }

  memory::MemoryStore& store_;
  spi::IdempotencyStore& real_;
  const BrokenStore broken_;
};

/// Callers of guards in several processes, and what each has to find.
class GuardWorld {
 public:
  GuardWorld(std::uint64_t seed, BrokenStore broken)
      : random_(seeded_random(seed)), faulty_(store_, broken) {
    for (int process = 0; process < 4; ++process) {
      GuardOptions options{.consumer = process % 2 == 0 ? "billing" : "shipping",
                           .lease = lease,
                           .ttl = ttl,
                           .renews_itself = false,
                           .clock = &clock_,
                           .random = random_.get()};
      guards_.push_back({options.consumer, Guard::create(faulty_, options).value()});
    }
    store_.set_faults(some_faults(*random_, 12));
  }

  std::string run() {
    for (int step = 0; step < 400 && fault_.empty(); ++step) {
      auto& process = guards_[random_->below(guards_.size())];
      switch (random_->below(8)) {
        case 0:
        case 1:
        case 2:
          enter(process);
          break;
        case 3:
        case 4:
          end_one();
          break;
        case 5:
          (void)process.guard->renew_due();
          break;
        case 6:
          (void)store_.idempotency()->purge({});
          break;
        default:
          clock_.advance(milliseconds(random_->below(6000)));
      }
    }
    holders_.clear();
    return fault_;
  }

 private:
  static constexpr Duration lease = seconds(10);
  static constexpr Duration ttl = seconds(120);

  struct Process {
    std::string consumer;
    std::unique_ptr<Guard> guard;
  };
  struct Holder {
    Held held;
    std::string consumer;
    std::string key;
    std::string request;
    std::uint64_t turn = 0;  ///< which one of its key it is
  };
  /// Of one key of one consumer.
  struct Known {
    std::uint64_t turns = 0;
    std::set<std::string> results;  ///< those that a replay may bring
    bool finished = false;          ///< surely
    WallTime until{};
  };

  void enter(Process& process) {
    const auto key = "k" + std::to_string(random_->below(3));
    const auto request = random_->below(5) == 0 ? "other" : "usual";
    const auto now = clock_.wall_now();
    auto& known = known_[{process.consumer, key}];
    if (known.until <= now) {
      known.results.clear();
      known.finished = false;
    }
    auto entered = process.guard->enter("acme", key, sha256(request));
    if (!entered.ok()) return;
    if (const auto* guarded = std::get_if<Guarded>(&*entered)) {
      const auto want = process.consumer + " " + key + " " + request;
      if (!guarded->result->starts_with(want) || !known.results.contains(*guarded->result)) {
        fault_ = "wrong hit: " + want + " got " + *guarded->result;
      }
      return;
    }
    if (known.finished) fault_ = "a finished request is worked on again";
    for (const auto& other : holders_) {
      const bool same = other->consumer == process.consumer && other->key == key;
      // What it was told to stop, or can tell by its own clock.
      if (same && other->held.stop_token().stop_requested()) continue;
      if (same && alive_until_[other->held.ticket()] > now) fault_ = "two work on one request";
    }
    auto held = std::get<Held>(std::move(*entered));
    alive_until_[held.ticket()] = now + std::chrono::floor<WallTime::duration>(lease);
    known.until = now + std::chrono::floor<WallTime::duration>(ttl);
    holders_.push_back(std::make_unique<Holder>(
        Holder{std::move(held), process.consumer, key, request, ++known.turns}));
  }

  void end_one() {
    if (holders_.empty()) return;
    const auto at = holders_.begin() + static_cast<std::ptrdiff_t>(random_->below(holders_.size()));
    const auto taken = std::move(*at);
    holders_.erase(at);
    auto& holder = *taken;
    auto& known = known_[{holder.consumer, holder.key}];
    switch (random_->below(4)) {
      case 0:
        return;  // its process died
      case 1:
        (void)holder.held.fail({Code::provider_unavailable, "not now"});
        return;
      default:
        break;
    }
    const auto result = holder.consumer + " " + holder.key + " " + holder.request + " " +
                        std::to_string(holder.turn);
    known.results.insert(result);
    const auto done = holder.held.finish({result});
    if (done.ok()) {
      if (holder.turn != known.turns) fault_ = "a late finish was taken";
      known.finished = known.until > clock_.wall_now();
    } else if (done.error().code == Code::tx_lease_lost) {
      known.results.erase(result);
    }
  }

  testing::FakeClock clock_;
  std::unique_ptr<Random> random_;
  memory::MemoryStore store_{{.clock = &clock_}};
  FaultyRequests faulty_;
  std::vector<Process> guards_;
  std::vector<std::unique_ptr<Holder>> holders_;
  std::map<std::pair<std::string, std::string>, Known> known_;
  std::map<IdempotencyTicket, WallTime> alive_until_;
  std::string fault_;
};

std::string guard_faults(BrokenStore broken) {
  return first_fault([&](std::uint64_t seed) { return GuardWorld(seed, broken).run(); });
}

TEST(RequestSimulation, GuardsLetOneThroughAndReplayItsResult) {
  EXPECT_EQ(guard_faults(BrokenStore::none), "");
}

TEST(RequestSimulation, CatchesStoresThatForget) {
  for (const auto broken :
       {BrokenStore::lets_through_early, BrokenStore::forgets_tickets, BrokenStore::forgets_hashes,
        BrokenStore::forgets_results, BrokenStore::forgets_consumers}) {
    EXPECT_NE(guard_faults(broken), "") << "variant " << static_cast<int>(broken);
  }
}

enum class BrokenConsumer : std::uint8_t {
  none,
  takes_the_key_before,  ///< in a transaction of its own
  takes_the_key_after,
  takes_no_key,
  rolls_hits_back,   ///< so that no repetition renews a key
  purges_too_early,  ///< keys go before messages do
};

/// Consumers of messages that come several times, and die at any step. A message that was handled
/// may be replayed for as long as its outbox retains it, counted from its last delivery.
class InboxWorld {
 public:
  InboxWorld(std::uint64_t seed, BrokenConsumer broken)
      : random_(seeded_random(seed)),
        broken_(broken),
        purge_(store_,
               {.inbox_window = broken == BrokenConsumer::purges_too_early ? retention / 2
                                                                           : retention + hours(24),
                .interval = minutes(1),
                .clock = &clock_}) {
    for (int i = 0; i < 3; ++i) consumers_.push_back({store_.connect()});
    for (int i = 0; i < 6; ++i) messages_.push_back(next_message());
    store_.set_faults(some_faults(*random_, 15));
  }

  std::string run() {
    for (int i = 0; i < 400; ++i) {
      switch (random_->below(12)) {
        case 0:
          pass_time();
          break;
        case 1:
          while (purge_.step()) {
          }
          break;
        default:
          step(consumers_[random_->below(consumers_.size())]);
      }
    }
    store_.set_faults({});
    auto look = store_.connect();
    for (int i = 0; i < written_; ++i) {
      const auto message = "m" + std::to_string(i);
      const auto found = look.get("balance", message).value().value_or("0");
      if (found != "0" && found != "1") return message + " was done " + found + " times";
      if (found == "0" && acknowledged_.contains(message)) return message + " was never done";
    }
    return {};
  }

 private:
  static constexpr Duration retention = hours(24 * 7);

  struct Consumer {
    memory::Connection connection;
    int step = 0;
    std::string message{};
    bool hit = false;
  };

  std::string next_message() { return "m" + std::to_string(written_++); }
  /// Transactions are short.
  void pass_time() {
    const bool works =
        std::ranges::any_of(consumers_, [](const Consumer& one) { return one.step != 0; });
    clock_.advance(works ? Duration(seconds(random_->below(300)))
                         : Duration(minutes(random_->below(72 * 60))));
  }
  void step(Consumer& one) {
    const bool dies = random_->below(10) == 0;
    const bool on = !dies && (one.step == 0 ? begin(one) : one.step == 1 ? take(one) : end(one));
    one.step = on ? (one.step + 1) % 3 : 0;
    if (!on && one.connection.in_transaction()) one.connection.rollback().value();
  }
  void acknowledge(const std::string& message) {
    acknowledged_.insert(message);
    comes_until_[message] = clock_.wall_now() + std::chrono::floor<WallTime::duration>(retention);
  }
  bool begin(Consumer& one) {
    auto& place = messages_[random_->below(messages_.size())];
    const auto until = comes_until_.find(place);
    if (until != comes_until_.end() && until->second <= clock_.wall_now()) place = next_message();
    one.message = place;
    one.hit = false;
    if (acknowledged_.contains(one.message) && random_->below(3) != 0) return false;
    if (broken_ == BrokenConsumer::takes_the_key_before) {
      const auto first = take_alone(one.message);
      if (first.ok() && !*first) acknowledge(one.message);
      if (!first.ok() || !*first) return false;
    }
    return one.connection.begin().ok();
  }
  bool take(Consumer& one) {
    const bool takes = broken_ != BrokenConsumer::takes_the_key_before &&
                       broken_ != BrokenConsumer::takes_the_key_after &&
                       broken_ != BrokenConsumer::takes_no_key;
    if (!takes) return add_one(one).ok();
    const auto first =
        memory::enlist(one.connection).value().inbox().first_time("acme", "billing", one.message);
    if (!first.ok()) return false;
    one.hit = !*first;
    if (!one.hit) return add_one(one).ok();
    if (broken_ != BrokenConsumer::rolls_hits_back) return true;
    acknowledge(one.message);
    return false;
  }
  bool end(Consumer& one) {
    if (!one.connection.commit().ok()) {
      // It may have been committed, and comes again.
      comes_until_.try_emplace(
          one.message, clock_.wall_now() + std::chrono::floor<WallTime::duration>(retention));
      return false;
    }
    if (broken_ == BrokenConsumer::takes_the_key_after && !take_alone(one.message).ok()) {
      return false;
    }
    acknowledge(one.message);
    return true;
  }
  Result<bool> take_alone(const std::string& message) {
    auto connection = store_.connect();
    if (auto begun = connection.begin(); !begun.ok()) return begun.error();
    auto first = memory::enlist(connection).value().inbox().first_time("acme", "billing", message);
    if (!first.ok()) return first;
    if (auto committed = connection.commit(); !committed.ok()) return committed.error();
    return first;
  }
  static Status add_one(Consumer& one) {
    const auto known = one.connection.get("balance", one.message);
    if (!known.ok()) return known.error();
    const int before = *known ? std::stoi(**known) : 0;
    return one.connection.put("balance", one.message, std::to_string(before + 1));
  }

  testing::FakeClock clock_;
  std::unique_ptr<Random> random_;
  const BrokenConsumer broken_;
  memory::MemoryStore store_{{.clock = &clock_}};
  idempotency::RequestPurge purge_;
  std::vector<Consumer> consumers_;
  std::vector<std::string> messages_;  ///< that come
  std::set<std::string> acknowledged_;
  std::map<std::string, WallTime> comes_until_;
  int written_ = 0;
};

std::string inbox_fault(std::uint64_t seed, BrokenConsumer broken) {
  return InboxWorld(seed, broken).run();
}

TEST(RequestSimulation, InboxHasEveryEffectOnce) {
  EXPECT_EQ(first_fault([](auto seed) { return inbox_fault(seed, BrokenConsumer::none); }), "");
}

TEST(RequestSimulation, CatchesConsumersThatTakeTheKeyElsewhere) {
  for (const auto broken : {BrokenConsumer::takes_the_key_before,
                            BrokenConsumer::takes_the_key_after, BrokenConsumer::takes_no_key}) {
    EXPECT_NE(first_fault([&](auto seed) { return inbox_fault(seed, broken); }), "")
        << "variant " << static_cast<int>(broken);
  }
}

TEST(RequestSimulation, CatchesKeysThatGoBeforeTheirMessages) {
  for (const auto broken : {BrokenConsumer::rolls_hits_back, BrokenConsumer::purges_too_early}) {
    EXPECT_NE(first_fault([&](auto seed) { return inbox_fault(seed, broken); }), "")
        << "variant " << static_cast<int>(broken);
  }
}

enum class BrokenParticipant : std::uint8_t {
  none,
  undoes_what_never_ran,
  runs_late_actions,
  repeats,
  gives_no_retention,
  gives_its_own_deadline,  ///< that of the call, not of the saga
};

/// A participant that gets the calls of one step in any order, any number of times, until the
/// saga's deadline and retention are over, and may die before its commit. Notes whose time is over
/// are removed at any time.
std::string barrier_fault(std::uint64_t seed, BrokenParticipant broken) {
  const auto random = seeded_random(seed);
  testing::FakeClock clock;
  memory::MemoryStore store({.clock = &clock});
  store.set_faults(some_faults(*random, 10));
  idempotency::RequestPurge purge(store, {.interval = seconds(1), .clock = &clock});
  const auto deadline = clock.wall_now() + hours(6);
  const auto retention = hours(2);
  auto connection = store.connect();
  bool compensated = false;
  const auto runs_anyway = [&](BarrierAnswer answer) {
    switch (answer) {
      case BarrierAnswer::run:
        return true;
      case BarrierAnswer::repeated:
        return broken == BrokenParticipant::repeats;
      case BarrierAnswer::too_late:
        return broken == BrokenParticipant::runs_late_actions;
      case BarrierAnswer::nothing_to_undo:
        return broken == BrokenParticipant::undoes_what_never_ran;
    }
    return false;
  };
  while (clock.wall_now() < deadline + retention) {
    if (random->below(3) == 0) clock.advance(minutes(random->below(180)));
    if (random->below(3) == 0) {
      while (purge.step()) {
      }
    }
    if (clock.wall_now() >= deadline + retention) break;
    const bool action = random->below(2) == 0;
    if (!connection.begin().ok()) continue;
    const BarrierCall call{
        .saga = "s1",
        .step = "reserve",
        .direction = action ? BarrierDirection::action : BarrierDirection::compensation,
        .deadline = broken == BrokenParticipant::gives_its_own_deadline
                        ? clock.wall_now() + minutes(1)
                        : deadline,
        .retention =
            broken == BrokenParticipant::gives_no_retention ? Duration{} : Duration(retention)};
    const auto answer = memory::enlist(connection).value().inbox().barrier(call);
    bool goes_on = answer.ok() && random->below(8) != 0;
    if (goes_on && runs_anyway(*answer)) {
      const auto before = connection.get("stock", "reserved").value().value_or("0");
      const int after = std::stoi(before) + (action ? 1 : -1);
      goes_on = connection.put("stock", "reserved", std::to_string(after)).ok();
    }
    if (goes_on && connection.commit().ok()) compensated = compensated || !action;
    if (connection.in_transaction()) connection.rollback().value();
    const auto reserved = connection.get("stock", "reserved").value().value_or("0");
    if (reserved != "0" && reserved != "1") return "reserved " + reserved;
    if (compensated && reserved != "0") return "a compensation was answered and the action stands";
  }
  return {};
}

TEST(RequestSimulation, BarrierLeavesNothingOfACompensatedStep) {
  EXPECT_EQ(first_fault([](auto seed) { return barrier_fault(seed, BrokenParticipant::none); }),
            "");
}

TEST(RequestSimulation, CatchesParticipantsThatPassTheBarrier) {
  for (const auto broken :
       {BrokenParticipant::undoes_what_never_ran, BrokenParticipant::runs_late_actions,
        BrokenParticipant::repeats, BrokenParticipant::gives_no_retention,
        BrokenParticipant::gives_its_own_deadline}) {
    EXPECT_NE(first_fault([&](auto seed) { return barrier_fault(seed, broken); }), "")
        << "variant " << static_cast<int>(broken);
  }
}

}  // namespace
}  // namespace sagabox::simulation
