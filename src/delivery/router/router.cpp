#include "delivery/router/router.hpp"

#include "core/error_text.hpp"
#include "delivery/hub_log.hpp"
#include "delivery/notices.hpp"
#include "observe/audit_events.hpp"
#include "observe/hub_metric_names.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::delivery {
namespace {

/// The delivery that is not made, as one that died is in the audit log.
AuditEvent refusal_of(const DeliveryRecord& delivery, const Error& error, WallTime at) {
  AuditEvent event{.kind = AuditKind::dead_letter, .at = at};
  event.table = "hub";
  event.tenant = delivery.tenant;
  event.topic = delivery.type;
  event.message_id = delivery.id.str();
  event.code = code_name(error.code);
  event.detail = clean_error(
      "event " + delivery.event.str() + " for subscription " + delivery.subscription.str() +
          ": the store refuses the delivery, which is not made: " + error.message,
      audit_detail_bytes_max);
  return event;
}

}  // namespace

Router::Router(RouterParts parts, RouterOptions options)
    : parts_(std::move(parts)),
      options_(options),
      errors_(parts_.metrics),
      routed_(parts_.metrics.counter(metric::hub_routed_total, {})),
      made_(parts_.metrics.counter(metric::hub_deliveries_total, {})),
      unfit_(parts_.metrics.counter(metric::hub_unfit_total, {})),
      refused_(parts_.metrics.counter(metric::hub_refused_total, {})),
      shards_(parts_.events.capabilities().shards),
      reader_(parts_.events.capabilities(),
              {.poll_interval = options.poll_interval, .rows_stay = true}) {}

void Router::wake() noexcept { reader_.wake(); }

bool Router::live(BootTime now) const {
  const auto* const worker = worker_.load();
  return worker == nullptr || worker->live(now);
}

bool Router::step() {
  const auto now = parts_.clock.boot_now();
  if (!live(now)) return false;
  {
    const std::scoped_lock lock(mutex_);
    if (now < retry_.at()) return false;
  }
  // Deliveries first: what was read is what the book knows of.
  return add_deliveries(now) || begin_shards(now) || move_positions(now) || read_events(now);
}

BootTime Router::next(BootTime now) const {
  if (!live(now)) return now + options_.poll_interval;
  const std::scoped_lock lock(mutex_);
  auto next = reader_.next(now);
  const bool begins = std::ranges::any_of(
      shards_, [](const OwnedShard& shard) { return shard.ours && !shard.begun; });
  if (!batch_.empty() || !events_.empty() || begins) next = now;
  if (moves_wait()) next = std::min(next, move_at_);
  return std::max({next, retry_.at(), now});
}

void Router::failed(std::string_view what, const Error& error, BootTime now) {
  errors_.count(error.code);
  retry_.failed(now);
  parts_.log.log(LogLevel::warning, "a call of the router failed, will be made again",
                 {{"call", what},
                  {"code", code_name(error.code)},
                  {"error", std::string_view(error.message)}});
}

// Shards.

bool Router::begin_shards(BootTime now) {
  std::vector<Shard> asked;
  std::vector<std::uint32_t> tenures;
  {
    const std::scoped_lock lock(mutex_);
    for (std::size_t number = 0; number < shards_.size(); ++number) {
      if (!shards_[number].ours || shards_[number].begun) continue;
      asked.push_back(Shard{static_cast<std::uint16_t>(number)});
      tenures.push_back(shards_[number].tenure);
    }
  }
  if (asked.empty()) return false;
  const auto positions = parts_.events.positions(asked);
  const std::scoped_lock lock(mutex_);
  if (!positions.ok()) {
    failed("positions", positions.error(), now);
    return true;
  }
  retry_.succeeded();
  for (std::size_t at = 0; at < asked.size() && at < positions->size(); ++at) {
    auto& shard = shards_[asked[at].value];
    if (!shard.ours || shard.tenure != tenures[at]) continue;
    shard.begun = true;
    shard.moved = (*positions)[at].position;
    reader_.acquire(asked[at], shard.moved);
  }
  return true;
}

void Router::acquired(const spi::OwnedShard& taken, const WorkerId& owner, Timeline timeline) {
  {
    const std::scoped_lock lock(mutex_);
    forget(taken.shard);
    if (timeline != timeline_) {
      // Commits were lost: changes of subscriptions are counted anew, and events may be gone.
      book_ = {};
      batch_.is_void = true;
      timeline_ = timeline;
      parts_.timeline_changed();
    }
    auto& shard = shards_[taken.shard.value];
    shard.ours = true;
    shard.epoch = taken.epoch;
    shard.owner = owner;
  }
  parts_.wake();
}

void Router::drain(Shard shard) {
  const std::scoped_lock lock(mutex_);
  forget(shard);
}

bool Router::idle(Shard shard) const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::none_of(batch_.events,
                              [&](const feed::RowPlace& place) { return place.shard == shard; });
}

void Router::lost(Shard shard) {
  const std::scoped_lock lock(mutex_);
  forget(shard);
}

void Router::forget(Shard shard) {
  auto& owned = shards_[shard.value];
  ++owned.tenure;
  owned.ours = false;
  owned.begun = false;
  reader_.lose(shard);
  std::erase_if(events_, [&](const TakenEvent& event) { return event.place.shard == shard; });
}

// Events.

bool Router::read_events(BootTime now) {
  std::optional<Reading> reading;
  {
    const std::scoped_lock lock(mutex_);
    auto plan = reader_.plan(now, options_.read_rows_max);
    if (!plan) return false;
    reading = Reading{*std::move(plan), book_.change()};
  }
  auto reply = parts_.events.read(reading->plan.ranges, options_.read_bytes_max,
                                  reading->subscriptions_after);
  apply_read(*reading, std::move(reply), now);
  return true;
}

void Router::apply_read(const Reading& reading, Result<spi::RoutingReply> reply, BootTime now) {
  const std::scoped_lock lock(mutex_);
  if (!reply.ok()) {
    reader_.failed(reading.plan, now);
    return failed("read", reply.error(), now);
  }
  const bool is_other = reply->events.timeline != timeline_;
  if (is_other || reading.subscriptions_after != book_.change()) {
    reader_.discard(reading.plan);
    reader_.wake();
    auto* const worker = worker_.load();
    if (is_other && worker != nullptr) worker->timeline_changed(reply->events.timeline);
    return retry_.failed(now);
  }
  retry_.succeeded();
  book_.apply(reply->changed);
  auto taken = reader_.apply(reading.plan, std::move(reply->events), now);
  for (auto& event : taken.rows) events_.push_back(std::move(event));
}

// Deliveries.

bool Router::add_deliveries(BootTime now) {
  std::size_t rows = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (batch_.is_void) batch_ = {};
    if (batch_.empty()) fill_batch();
    if (batch_.empty()) return false;
    rows = std::min(batch_.rows_max, batch_.deliveries.size() - batch_.added);
    if (rows == 0) {
      end_batch();
      return true;
    }
  }
  // Only this thread changes the batch.
  if (batch_.refusal) return tell_refusal(now);
  const auto some = std::span(batch_.deliveries).subspan(batch_.added, rows);
  auto fresh = parts_.deliveries.add(some);
  if (fresh.ok()) parts_.added(some);
  const std::scoped_lock lock(mutex_);
  added(rows, std::move(fresh), now);
  return true;
}

void Router::fill_batch() {
  batch_.rows_max = options_.deliveries_max;
  const auto shards = static_cast<std::uint16_t>(shards_.size());
  while (!events_.empty() && batch_.deliveries.size() < options_.deliveries_max) {
    const auto& [event, place] = events_.front();
    check_type(event);
    for (const auto& subscription : book_.matching(event)) {
      batch_.deliveries.push_back(delivery_of(event, *subscription, shards));
    }
    batch_.events.push_back(place);
    events_.pop_front();
  }
}

void Router::added(std::size_t rows, Result<std::uint64_t> fresh, BootTime now) {
  if (fresh.ok()) {
    retry_.succeeded();
    totals_.deliveries += *fresh;
    made_.add(static_cast<double>(*fresh));
    log_made(std::span(batch_.deliveries).subspan(batch_.added, rows));
    end_writes(rows);
  } else if (fresh.error().code != Code::schema_validation_failed) {
    return failed("add", fresh.error(), now);
  } else if (rows > 1) {
    // One of them cannot be stored: the others must not wait for it.
    batch_.rows_max = rows / 2;
  } else {
    batch_.refusal = fresh.error();
  }
}

void Router::end_writes(std::size_t rows) {
  batch_.added += rows;
  batch_.rows_max = std::min(batch_.rows_max * 2, options_.deliveries_max);
  if (batch_.added == batch_.deliveries.size()) end_batch();
}

/// The position moves on over it, so it has to be found afterwards: it is in the audit log before.
bool Router::tell_refusal(BootTime now) {
  const auto& delivery = batch_.deliveries[batch_.added];
  const auto error = *batch_.refusal;
  Status told;
  if (parts_.audit != nullptr) {
    const auto event = refusal_of(delivery, error, parts_.clock.wall_now());
    const auto appended = parts_.audit->append(std::span(&event, 1));
    if (!appended.ok()) told = appended.error();
  }
  const std::scoped_lock lock(mutex_);
  if (!told.ok() && may_be_repeated(told.error().code)) {
    failed("audit", told.error(), now);
    return true;
  }
  retry_.succeeded();
  // Nothing would be routed any more where an operator has to put the log right first.
  if (!told.ok()) {
    errors_.count(told.error().code);
    log_delivery(parts_.log, LogLevel::error, "a refused delivery is not in the audit log",
                 delivery,
                 {{"code", code_name(told.error().code)},
                  {"error", std::string_view(told.error().message)}});
  }
  refused(delivery, error);
  batch_.refusal.reset();
  end_writes(1);
  return true;
}

void Router::log_made(std::span<const DeliveryRecord> deliveries) const {
  if (!parts_.log.enabled(LogLevel::debug)) return;
  for (const auto& delivery : deliveries) {
    log_delivery(parts_.log, LogLevel::debug, "an event has a delivery", delivery);
  }
}

void Router::refused(const DeliveryRecord& delivery, const Error& error) {
  errors_.count(error.code);
  refused_.increment();
  ++totals_.refused;
  log_delivery(parts_.log, LogLevel::error, "the store refuses a delivery, which is not made",
               delivery,
               {{"code", code_name(error.code)}, {"error", std::string_view(error.message)}});
}

/// What came in by SQL was checked by nobody. It is stored, and whoever published it was told so:
/// it goes out as it is.
void Router::check_type(const HubEvent& event) {
  if (parts_.types == nullptr || event.message->topic() == subscription_disabled_type) return;
  const auto fits = parts_.types->check(event);
  if (fits.ok()) return;
  errors_.count(fits.error().code);
  unfit_.increment();
  ++totals_.unfit;
  log_event(
      parts_.log, LogLevel::warning,
      "an event does not fit the catalogue of event types, and is delivered as it is", event,
      {{"code", code_name(fits.error().code)}, {"error", std::string_view(fits.error().message)}});
}

void Router::end_batch() {
  for (const auto& place : batch_.events) reader_.settled(place);
  totals_.events += batch_.events.size();
  routed_.add(static_cast<double>(batch_.events.size()));
  batch_ = {};
}

// Positions.

bool Router::moves_wait() const {
  for (std::size_t number = 0; number < shards_.size(); ++number) {
    const auto& shard = shards_[number];
    const auto position = reader_.position(Shard{static_cast<std::uint16_t>(number)});
    if (shard.begun && position > shard.moved) return true;
  }
  return false;
}

Router::Moves Router::plan_moves() const {
  Moves moves;
  for (std::size_t number = 0; number < shards_.size(); ++number) {
    const auto& shard = shards_[number];
    const Shard id{static_cast<std::uint16_t>(number)};
    const auto position = reader_.position(id);
    if (!shard.begun || position <= shard.moved) continue;
    // Shards of a worker that has started over may still have its old name; they have their turn.
    if (moves.fences.empty()) moves.owner = shard.owner;
    if (shard.owner != moves.owner) continue;
    moves.positions.push_back({id, position});
    moves.fences.push_back({id, shard.epoch});
  }
  return moves;
}

bool Router::move_positions(BootTime now) {
  Moves moves;
  {
    const std::scoped_lock lock(mutex_);
    if (now < move_at_) return false;
    moves = plan_moves();
  }
  if (moves.positions.empty()) return false;
  const auto held = parts_.events.move({scope, moves.owner, moves.fences}, moves.positions);
  std::vector<spi::Fence> broken;
  {
    const std::scoped_lock lock(mutex_);
    broken = apply_moves(moves, held, now);
  }
  if (auto* const worker = worker_.load()) {
    for (const auto& fence : broken) {
      worker->shard_lost(spi::Scope(scope), fence.shard, fence.epoch);
    }
  }
  return true;
}

std::vector<spi::Fence> Router::apply_moves(const Moves& moves,
                                            const Result<std::vector<bool>>& held, BootTime now) {
  if (!held.ok()) {
    failed("move", held.error(), now);
    return {};
  }
  retry_.succeeded();
  std::vector<spi::Fence> broken;
  for (std::size_t at = 0; at < held->size(); ++at) {
    if (!(*held)[at]) broken.push_back(moves.fences[at]);
  }
  for (const auto& [shard, position] : moves.positions) {
    auto& owned = shards_[shard.value];
    // Where one fence does not hold, nothing was moved.
    if (broken.empty() && owned.begun) owned.moved = std::max(owned.moved, position);
  }
  for (const auto& fence : broken) {
    if (shards_[fence.shard.value].epoch == fence.epoch) forget(fence.shard);
  }
  if (broken.empty()) move_at_ = now + options_.move_interval;
  return broken;
}

bool Router::owns(Shard shard) const {
  const std::scoped_lock lock(mutex_);
  return shards_[shard.value].ours;
}

RouterSnapshot Router::snapshot() const {
  const std::scoped_lock lock(mutex_);
  auto snapshot = totals_;
  snapshot.shards_owned = static_cast<std::uint32_t>(
      std::ranges::count_if(shards_, [](const OwnedShard& shard) { return shard.ours; }));
  return snapshot;
}

}  // namespace sagabox::delivery
