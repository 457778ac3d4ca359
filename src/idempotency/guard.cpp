#include "core/error_text.hpp"
#include "idempotency/decide.hpp"
#include "idempotency/repeats.hpp"
#include "observe/metric_names.hpp"

#include <sagabox/idempotency.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace sagabox {
namespace {

using idempotency::HeldLease;
using idempotency::Verdict;
using idempotency::with_repeats;

Error invalid(const std::string& what) { return {Code::config_invalid, "guard: " + what}; }

/// Fills in what follows from the rest.
Status complete(GuardOptions& options) {
  const IdempotencyKey named{.consumer = options.consumer, .key = "k"};
  if (auto valid = named.check(); !valid.ok()) return invalid(valid.error().message);
  if (options.lease <= Duration::zero()) return invalid("lease: give a time above 0");
  if (options.ttl < options.lease) return invalid("ttl: give at least the lease");
  if (options.renew_interval == Duration::zero()) options.renew_interval = options.lease / 3;
  if (options.renew_interval <= Duration::zero() || options.renew_interval >= options.lease) {
    return invalid("renew_interval: give a time above 0 and below the lease");
  }
  return {};
}

}  // namespace

struct Held::Holding {
  IdempotencyKey key;
  IdempotencyTicket ticket{};
  std::uint32_t attempt = 1;
  HeldLease lease;
  std::stop_source stop{};
};

struct Guard::Parts {
  Parts(spi::IdempotencyStore& of, GuardOptions with)
      : store(of),
        options(std::move(with)),
        hits(counter(metric::idempotency_hits_total)),
        runs_succeeded(runs("succeeded")),
        runs_failed(runs("failed")),
        runs_released(runs("released")),
        runs_lost(runs("lost")),
        busy(conflicts("busy")),
        last_failed(conflicts("last_failed")),
        mismatch(conflicts("mismatch")) {}

  Counter& counter(std::string_view name) {
    return options.metrics->counter(name, {{"consumer", options.consumer}});
  }
  Counter& runs(std::string_view result) {
    return options.metrics->counter(metric::idempotency_runs_total,
                                    {{"consumer", options.consumer}, {"result", result}});
  }
  Counter& conflicts(std::string_view reason) {
    return options.metrics->counter(metric::idempotency_conflicts_total,
                                    {{"consumer", options.consumer}, {"reason", reason}});
  }

  IdempotencyTicket draw() const {
    // Databases count up to 2^63.
    return IdempotencyTicket{options.random->next() >> 1U};
  }
  void add(std::shared_ptr<Held::Holding> holding);
  void remove(const Held::Holding& holding);
  /// Those that have to be renewed now. Sets the stop token of those whose time is over.
  std::vector<std::shared_ptr<Held::Holding>> take_due(BootTime now);
  Status renew_due();
  void renew_until_stopped(const std::stop_token& stop);
  /// Sets the stop token of those whose time is over, also while a renewal hangs in the store.
  void watch_until_stopped(const std::stop_token& stop);
  void stop_what_is_over(BootTime now);
  Error refused(Verdict verdict, const IdempotencyRecord& record);
  Guarded replayed(IdempotencyRecord record);

  spi::IdempotencyStore& store;
  const GuardOptions options;
  Counter& hits;
  Counter& runs_succeeded;
  Counter& runs_failed;
  Counter& runs_released;
  Counter& runs_lost;
  Counter& busy;
  Counter& last_failed;
  Counter& mismatch;

  /// Sleeps until `moment_of` the first lease, or until one is held whose moment is earlier.
  void sleep(const std::stop_token& stop, BootTime& wakes_at,
             BootTime (HeldLease::*moment_of)() const noexcept);

  std::mutex mutex;
  std::condition_variable_any changed;
  std::vector<std::shared_ptr<Held::Holding>> held;
  /// What the threads sleep until: most requests end long before, and wake nobody.
  BootTime renewer_wakes_at = BootTime::max();
  BootTime watcher_wakes_at = BootTime::max();
  std::jthread renewer;  // last, like the watcher: they use the rest
  std::jthread watcher;
};

void Guard::Parts::add(std::shared_ptr<Held::Holding> holding) {
  const std::lock_guard lock(mutex);
  const auto& lease = holding->lease;
  const bool earlier = lease.next() < renewer_wakes_at || lease.until() < watcher_wakes_at;
  held.push_back(std::move(holding));
  if (!options.renews_itself) return;
  if (!renewer.joinable()) {
    renewer = std::jthread([this](const std::stop_token& stop) { renew_until_stopped(stop); });
    watcher = std::jthread([this](const std::stop_token& stop) { watch_until_stopped(stop); });
  }
  if (earlier) changed.notify_all();
}

void Guard::Parts::remove(const Held::Holding& holding) {
  const std::lock_guard lock(mutex);
  std::erase_if(held, [&](const auto& one) { return one.get() == &holding; });
}

std::vector<std::shared_ptr<Held::Holding>> Guard::Parts::take_due(BootTime now) {
  std::vector<std::shared_ptr<Held::Holding>> due;
  const std::lock_guard lock(mutex);
  std::erase_if(held, [&](const auto& one) {
    const auto what = one->lease.due(now);
    if (what == HeldLease::Due::renewal) due.push_back(one);
    if (what == HeldLease::Due::stop) one->stop.request_stop();
    return what == HeldLease::Due::stop;
  });
  return due;
}

void Guard::Parts::stop_what_is_over(BootTime now) {
  const std::lock_guard lock(mutex);
  std::erase_if(held, [&](const auto& one) {
    const bool over = one->lease.due(now) == HeldLease::Due::stop;
    if (over) one->stop.request_stop();
    return over;
  });
}

void Guard::Parts::sleep(const std::stop_token& stop, BootTime& wakes_at,
                         BootTime (HeldLease::*moment_of)() const noexcept) {
  const auto first = [&] {
    auto moment = BootTime::max();
    for (const auto& one : held) moment = std::min(moment, (one->lease.*moment_of)());
    return moment;
  };
  std::unique_lock lock(mutex);
  wakes_at = first();
  const auto earlier = [&] { return first() < wakes_at; };
  if (wakes_at == BootTime::max()) {
    changed.wait(lock, stop, earlier);
  } else {
    const auto wait = wakes_at - options.clock->boot_now();
    changed.wait_for(lock, stop, std::max(wait, Duration(std::chrono::milliseconds(1))), earlier);
  }
}

void Guard::Parts::watch_until_stopped(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    sleep(stop, watcher_wakes_at, &HeldLease::until);
    stop_what_is_over(options.clock->boot_now());
  }
}

Status Guard::Parts::renew_due() {
  const auto asked_at = options.clock->boot_now();
  const auto due = take_due(asked_at);
  if (due.empty()) return {};
  std::vector<spi::IdempotencyRenew> renewals;
  for (const auto& one : due) renewals.push_back({one->key, one->ticket, options.lease});
  const auto renewed = store.renew(renewals);
  const std::lock_guard lock(mutex);
  for (std::size_t i = 0; i < due.size(); ++i) {
    auto& one = *due[i];
    if (!renewed.ok()) {
      one.lease.failed(asked_at);
    } else if ((*renewed)[i]) {
      one.lease.renewed(asked_at);
    } else {
      std::erase(held, due[i]);
      one.stop.request_stop();
    }
  }
  if (renewed.ok()) return {};
  options.log->log(
      LogLevel::warning, "idempotency_renewal_failed",
      {{"consumer", options.consumer}, {"error", std::string_view(renewed.error().message)}});
  return renewed.error();
}

void Guard::Parts::renew_until_stopped(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    sleep(stop, renewer_wakes_at, &HeldLease::next);
    if (!stop.stop_requested()) (void)renew_due();
  }
}

Error Guard::Parts::refused(Verdict verdict, const IdempotencyRecord& record) {
  auto& counted = verdict == Verdict::busy          ? busy
                  : verdict == Verdict::last_failed ? last_failed
                                                    : mismatch;
  counted.increment();
  return idempotency::refusal(verdict, record);
}

Guarded Guard::Parts::replayed(IdempotencyRecord record) {
  hits.increment();
  return {std::move(record.result), record.result_digest, true};
}

Held::Held(Guard& guard, std::shared_ptr<Holding> holding)
    : guard_(&guard), holding_(std::move(holding)) {}

Held::Held(Held&&) noexcept = default;

Held::~Held() {
  if (holding_) guard_->parts_->remove(*holding_);
}

IdempotencyTicket Held::ticket() const noexcept { return holding_->ticket; }
const IdempotencyKey& Held::key() const noexcept { return holding_->key; }
std::uint32_t Held::attempt() const noexcept { return holding_->attempt; }
std::stop_token Held::stop_token() const { return holding_->stop.get_token(); }

Result<Guarded> Held::finish(GuardedResult result) {
  auto& parts = *guard_->parts_;
  auto stored = idempotency::bounded(result.bytes, std::move(result.if_too_large),
                                     parts.options.result_bytes_max);
  const spi::IdempotencyFinish finish{holding_->key, holding_->ticket, std::move(stored.result),
                                      stored.digest};
  const auto held =
      with_repeats(*parts.options.clock, [&] { return parts.store.finish(std::span(&finish, 1)); });
  parts.remove(*holding_);
  if (!held.ok()) return held.error();
  if (!held->front()) {
    parts.runs_lost.increment();
    return Error{Code::tx_lease_lost,
                 "the lease ran out before the work ended, and somebody else was let through; the "
                 "result was not stored. Give a longer lease, or stop when the token is set"};
  }
  parts.runs_succeeded.increment();
  return Guarded{std::move(result.bytes), stored.digest, false};
}

Status Held::fail(const Error& error) {
  auto& parts = *guard_->parts_;
  const bool final = parts.options.is_final(error);
  const spi::IdempotencyFail fail{holding_->key, holding_->ticket, final, error.code,
                                  clean_error(error.message)};
  const auto held =
      with_repeats(*parts.options.clock, [&] { return parts.store.fail(std::span(&fail, 1)); });
  parts.remove(*holding_);
  if (!held.ok()) return held.error();
  if (!held->front()) {
    parts.runs_lost.increment();
    return Error{Code::tx_lease_lost,
                 "the lease ran out before the work failed, and somebody else was let through"};
  }
  (final ? parts.runs_failed : parts.runs_released).increment();
  return {};
}

Guard::Guard(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Guard::~Guard() = default;

Result<std::unique_ptr<Guard>> Guard::create(Store& store, GuardOptions options) {
  auto* records = store.idempotency();
  if (records == nullptr) return invalid("the store " + store.name() + " keeps no requests");
  if (auto valid = complete(options); !valid.ok()) return valid.error();
  return std::unique_ptr<Guard>(new Guard(std::make_unique<Parts>(*records, std::move(options))));
}

Status Guard::renew_due() { return parts_->renew_due(); }

Result<Guard::Entered> Guard::enter(const std::string& tenant, const std::string& key,
                                    const Digest& request_hash) {
  const auto& options = parts_->options;
  const spi::IdempotencyCheck check{.key = {tenant, options.consumer, key},
                                    .request_hash = request_hash,
                                    .ticket = parts_->draw(),
                                    .lease = options.lease,
                                    .ttl = options.ttl};
  if (auto valid = check.key.check(); !valid.ok()) return valid.error();
  auto asked_at = options.clock->boot_now();
  auto replies = with_repeats(*options.clock, [&] {
    asked_at = options.clock->boot_now();
    return parts_->store.check(std::span(&check, 1));
  });
  if (!replies.ok()) return replies.error();
  auto& reply = replies->front();
  const auto verdict = idempotency::judge(reply, request_hash);
  if (verdict == Verdict::replay) return Entered(parts_->replayed(std::move(reply.record)));
  if (verdict != Verdict::go) return parts_->refused(verdict, reply.record);
  auto holding = std::make_shared<Held::Holding>(
      Held::Holding{check.key, check.ticket, reply.record.attempts,
                    HeldLease(options.lease, options.renew_interval, asked_at)});
  parts_->add(holding);
  return Entered(Held(*this, std::move(holding)));
}

Result<Guarded> Guard::run(const std::string& tenant, const std::string& key,
                           const Digest& request_hash, const Work& work) {
  auto entered = enter(tenant, key, request_hash);
  if (!entered.ok()) return entered.error();
  if (auto* known = std::get_if<Guarded>(&*entered)) return std::move(*known);
  auto& held = std::get<Held>(*entered);
  const auto failed = [&](Error error) -> Result<Guarded> {
    // What the caller has to know is why the work failed, not whether that could be stored.
    (void)held.fail(error);
    return error;
  };
  const auto worked = [&]() -> Result<GuardedResult> {
    try {
      return work(held.stop_token());
    } catch (const std::exception& thrown) {
      return Error{Code::tx_handler_failed, std::string("the work threw: ") + thrown.what()};
    } catch (...) {
      return Error{Code::tx_handler_failed, "the work threw what is not a std::exception"};
    }
  };
  auto result = worked();
  if (!result.ok()) return failed(result.error());
  return held.finish(std::move(result).value());
}

}  // namespace sagabox
