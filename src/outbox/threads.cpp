#include "outbox/threads.hpp"

#include "outbox/dispatch/surplus_detector.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace sagabox::outbox {
namespace {

using std::chrono::milliseconds;

constexpr Duration wait_min = milliseconds(1);
constexpr Duration wait_max = milliseconds(100);
constexpr Duration watch_interval = milliseconds(20);
constexpr int ticks_per_housekeeping = 10;
/// How long one handler thread polls for work before it sleeps, because waking it costs far more.
/// Only one thread polls, because polling takes processor time from other threads.
constexpr Duration look_max = std::chrono::microseconds(50);
/// A thread on standby sleeps after this many checks without activity in the queues.
constexpr int looks_at_rest = 10;

/// The right to poll for work, which one thread at a time holds.
class LooksForWork {
 public:
  explicit LooksForWork(std::atomic<bool>& taken) : taken_(taken) {}
  ~LooksForWork() { end(); }
  LooksForWork(const LooksForWork&) = delete;
  LooksForWork& operator=(const LooksForWork&) = delete;

  /// Returns false if another thread polls.
  bool begin() {
    mine_ = mine_ || !taken_.exchange(true);
    return mine_;
  }
  void end() {
    if (std::exchange(mine_, false)) taken_.store(false);
  }

 private:
  std::atomic<bool>& taken_;
  bool mine_ = false;
};

}  // namespace

Threads::Threads(spi::OutboxStore& store, const TableName& table, const OutboxOptions& options,
                 Relay& relay)
    : store_(store),
      table_(table),
      options_(options),
      relay_(relay),
      spares_(options.spare_workers_max) {}

Threads::~Threads() {
  ending_.store(true);
  wakeup_.notify_all();
  for (auto* threads : {&stages_, &handlers_}) {
    for (auto& thread : *threads) thread.join();
  }
  for (auto& spare : spares_) {
    if (spare.thread.joinable()) spare.thread.join();
  }
}

void Threads::start() {
  stages_.emplace_back([this] { read(); });
  stages_.emplace_back([this] { settle(); });
  stages_.emplace_back([this] { watch(); });
  for (std::uint32_t number = 0; number < options_.workers; ++number) {
    handlers_.emplace_back([this, number] { handle(relay_.dispatcher().runner(number), 0); });
  }
}

Status Threads::stop(runtime::Registration& registration) {
  relay_.settler().begin_stop();
  // Deadlines are not watched after the limit, so stop is requested of all handlers now.
  registration.hand_over(options_.clock->boot_now() + options_.drain_timeout,
                         [this] { relay_.dispatcher().tell_all_to_stop(); });
  ending_.store(true);
  wakeup_.notify_all();
  store_.wake(table_);
  relay_.dispatcher().work_wakeup().notify_all();
  relay_.shards().room_wakeup().notify_all();
  relay_.shards().settle_wakeup().notify_all();
  for (auto& thread : stages_) thread.join();
  stages_.clear();
  registration.end();
  const auto running = relay_.dispatcher().running();
  if (running == 0) return {};
  return Error{Code::tx_timeout,
               std::to_string(running) + " handlers or sends still run after the drain limit; " +
                   "their messages will be delivered again by whoever owns their shards next"};
}

void Threads::read() {
  auto& intake = relay_.intake();
  while (!ending()) {
    const auto now = options_.clock->boot_now();
    if (auto plan = intake.plan(now)) {
      reads_.begin(now);
      auto answer = intake.perform(*plan);
      intake.apply(*plan, std::move(answer), options_.clock->boot_now());
      reads_.end();
    } else if (intake.waits_for_room()) {
      relay_.shards().room_wakeup().wait_for(wait_max,
                                             [&] { return ending() || !intake.waits_for_room(); });
    } else {
      store_.wait(table_, std::max(wait_min, intake.next(now) - now));
      // Either the next poll is due, or a transaction has committed, maybe in another process. If
      // it may have been one of this process, the hot path goes first.
      if (relay_.dispatcher().reserved() > 0) {
        wakeup_.wait_for(wait_min, [this] { return ending(); });
      }
      intake.wake();
    }
  }
}

void Threads::settle() {
  auto& settler = relay_.settler();
  while (!ending()) {
    const auto now = options_.clock->boot_now();
    if (auto plan = settler.plan(now)) {
      settles_.begin(now);
      auto reply = settler.perform(*plan);
      settler.apply(std::move(*plan), std::move(reply), options_.clock->boot_now());
      settles_.end();
      continue;
    }
    const auto next = settler.next(now);
    const auto wait = next == BootTime::max() ? wait_max : std::min(wait_max, next - now);
    if (wait <= Duration{}) continue;
    relay_.shards().settle_wakeup().wait_for(wait,
                                             [&] { return ending() || settler.next(now) != next; });
  }
}

void Threads::watch() {
  int ticks = 0;
  while (!ending()) {
    const auto now = options_.clock->boot_now();
    relay_.dispatcher().check_deadlines(now);
    call_in_spares();
    if (++ticks % ticks_per_housekeeping == 0) relay_.tick(now);
    wakeup_.wait_for(watch_interval, [this] { return ending(); });
  }
}

void Threads::call_in_spares() {
  const auto wanted =
      std::min<std::size_t>(relay_.dispatcher().overdue(), options_.spare_workers_max);
  for (std::size_t at = 0; at < wanted; ++at) {
    auto& spare = spares_[at];
    if (spare.running.load()) continue;
    if (spare.thread.joinable()) spare.thread.join();
    spare.running.store(true);
    spare.thread = std::thread([this, at, &spare] {
      handle(relay_.dispatcher().runner(options_.workers + at), static_cast<std::uint32_t>(at + 1));
      spare.running.store(false);
    });
  }
}

void Threads::handle(Runner& runner, std::uint32_t spare) {
  auto& dispatcher = relay_.dispatcher();
  auto now = options_.clock->boot_now();
  SurplusDetector surplus_detector;
  surplus_detector.begin(now, dispatcher.taken());
  std::optional<BootTime> idle_since;
  LooksForWork look(somebody_looks_);
  while (!ending() && dispatcher.overdue() >= spare) {
    const auto took = dispatcher.take(runner, now);
    if (took != Dispatcher::Took::nothing) {
      look.end();
      if (const auto since = std::exchange(idle_since, std::nullopt)) {
        // If messages come one by one, all free threads must be ready for the next one.
        if (now - *since < wait_min) {
          surplus_detector.rested(now - *since);
        } else {
          surplus_detector.begin(now, dispatcher.taken());
        }
      }
    }
    if (took == Dispatcher::Took::handler) {
      auto outcome = dispatcher.invoke(runner);
      now = options_.clock->boot_now();
      dispatcher.complete(runner, std::move(outcome), now);
      if (spare == 0 && surplus_detector.one_too_many(now, [&] { return dispatcher.taken(); })) {
        stand_by();
        now = options_.clock->boot_now();
        surplus_detector.begin(now, dispatcher.taken());
      }
      continue;
    }
    if (took == Dispatcher::Took::nothing) {
      now = options_.clock->boot_now();  // the time up to here was not idle
      if (!idle_since) idle_since = now;
      if (dispatcher.work_waits()) {
        look.end();
        relay_.shards().room_wakeup().wait_for(wait_min, [this] { return ending(); });
      } else if (now - *idle_since < look_max && look.begin()) {
        std::this_thread::yield();
      } else {
        look.end();
        dispatcher.work_wakeup().wait_for(wait_max,
                                          [&] { return ending() || dispatcher.work_waits(); });
      }
    }
    now = options_.clock->boot_now();
  }
}

void Threads::stand_by() {
  if (standing_by_.fetch_add(1) + 1 < options_.workers) {
    const auto& dispatcher = relay_.dispatcher();
    auto taken = dispatcher.taken();
    bool waited = false;
    for (int looks = 0; !ending() && looks < looks_at_rest;) {
      wakeup_.wait_for(wait_min, [this] { return ending(); });
      const auto moved = dispatcher.taken() - std::exchange(taken, dispatcher.taken());
      const bool waits = dispatcher.work_waits();
      // Do not react to a single check: rows that were just read wait for a moment.
      if (waits && moved < SurplusDetector::brisk(wait_min) && (waited || moved == 0)) break;
      waited = waits;
      looks = moved == 0 ? looks + 1 : 0;
    }
  }
  standing_by_.fetch_sub(1);
}

}  // namespace sagabox::outbox
