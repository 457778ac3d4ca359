#include "outbox/read/intake.hpp"

#include "observe/metric_names.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::outbox {
namespace {

constexpr std::uint32_t keys_page = 1000;
/// After this many reads the lowest priority comes first, so that it does not starve.
constexpr std::uint32_t low_first_every = 8;
/// If this many due rows could not be dispatched, the next due read is delayed.
constexpr std::size_t due_in_vain_min = 100;
constexpr Duration due_rest_max = std::chrono::seconds(1);

/// The most rows that the page will claim. For a probe an even share of the room is enough, and no
/// room is reserved.
std::uint64_t claim_of(PlannedRange& page, std::uint32_t free, std::size_t shards) {
  if (!page.probe) return page.range.rows_max;
  const auto share = static_cast<std::uint32_t>(free / (shards * spi::lane_count));
  page.range.rows_max = std::min(page.range.rows_max, std::max<std::uint32_t>(1, share));
  return 1;
}

}  // namespace

Intake::Instruments::Instruments(Metrics& metrics, std::string_view table)
    : fresh_rows(
          metrics.counter(metric::outbox_read_rows_total, {{"table", table}, {"kind", "fresh"}})),
      due_rows(
          metrics.counter(metric::outbox_read_rows_total, {{"table", table}, {"kind", "due"}})),
      admitted(metrics.counter(metric::outbox_cold_enqueued_total, {{"table", table}})),
      late_rows(metrics.counter(metric::outbox_late_rows_total, {{"table", table}})),
      safety_rows(metrics.counter(metric::outbox_safety_rows_total, {{"table", table}})),
      errors(metrics) {}

Intake::Intake(Parts parts, IntakeOptions options)
    : parts_(std::move(parts)),
      options_(options),
      instruments_(parts_.metrics, parts_.table.str()),
      claims_(parts_.store.capabilities().claims),
      ahead_(parts_.room.capacity(Source::cold), options_.read_ahead),
      schedule_(options_.poll_interval),
      // With claims, a pass also takes unclaimed rows of other shards, which wait for it.
      full_passes_(
          {.interval_min = claims_ ? options_.sweep_interval : options_.safety_interval_min,
           .finds_work = claims_}) {}

std::optional<ReadPlan> Intake::plan(BootTime now) {
  if (!parts_.shards.live(now) || now < schedule_.retry_at() || !parts_.shards.places_left() ||
      parts_.pauses.whole_table()) {
    return std::nullopt;
  }
  // Checks of blocked keys alternate with other reads, because they may need many pages.
  if (auto keys = plan_keys(keys_last_ ? Keys::loading : Keys::all)) {
    keys_last_ = std::get<KeysRead>(keys->what).again.has_value();
    return keys;
  }
  if (auto rows = plan_rows(now); rows || !std::exchange(keys_last_, false)) return rows;
  return plan_keys(Keys::all);
}

std::optional<ReadPlan> Intake::plan_rows(BootTime now) {
  parts_.room.resize(Source::cold, ahead_.capacity(parts_.room.count(Source::cold), now));
  if (parts_.room.free(Source::cold) == 0 || !fits()) return std::nullopt;
  if (reopened_.exchange(false)) due_at_ = std::min(due_at_, now);
  if (now >= due_at_ && !due_last_) {
    due_last_ = true;
    if (auto due = plan_due()) return due;
  }
  due_last_ = false;
  return plan_fresh(now);
}

std::optional<ReadPlan> Intake::plan_keys(Keys which) {
  for (std::size_t number = 0; number < parts_.shards.size(); ++number) {
    auto& slot = parts_.shards.at(number);
    const std::scoped_lock lock(slot.mutex);
    const bool first = slot.state.phase() == ShardState::Phase::loading;
    const auto again = slot.state.blocked_keys_page();
    if (!first && (!again || which == Keys::loading)) continue;
    return ReadPlan{.what = KeysRead{.shard = Shard{static_cast<std::uint16_t>(number)},
                                     .after = first ? slot.state.keys_after() : again->after,
                                     .tenure = slot.state.tenure(),
                                     .again = again}};
  }
  return std::nullopt;
}

std::optional<ReadPlan> Intake::plan_due() {
  auto plan = ReadPlan{.bytes_max = parts_.room.free_bytes(Source::cold)};
  auto due = DueRead{};
  const auto count = parts_.shards.size();
  const auto rows = std::max<std::uint32_t>(
      1, parts_.room.free(Source::cold) / static_cast<std::uint32_t>(count));
  // The limit of bytes may end a read before the last shards, so the first shard rotates.
  first_due_ = (first_due_ + 1) % count;
  for (std::size_t step = 0; step < count; ++step) {
    const auto number = (first_due_ + step) % count;
    auto& slot = parts_.shards.at(number);
    const std::scoped_lock lock(slot.mutex);
    if (slot.state.phase() != ShardState::Phase::active || slot.state.keeps_due()) continue;
    due.ranges.push_back(slot.state.due_range(rows));
    due.tenures.push_back(slot.state.tenure());
    plan.tickets.push_back(
        {Shard{static_cast<std::uint16_t>(number)}, slot.state.tracker().read_begun()});
  }
  if (due.ranges.empty()) return std::nullopt;
  plan.what = std::move(due);
  return plan;
}

std::optional<ReadPlan> Intake::plan_fresh(BootTime now) {
  if (!schedule_.due(now, [this] { return anything_eager(); })) return std::nullopt;
  if (!parts_.room.worth_reading(Source::cold)) return std::nullopt;
  schedule_.begin();
  const auto free = parts_.room.free(Source::cold);
  auto plan = ReadPlan{.bytes_max = parts_.room.free_bytes(Source::cold)};
  auto fresh = FreshRead{.begun = now};
  const auto count = parts_.shards.size();
  Shares shares(options_.apart_max);
  for (std::size_t number = 0; number < count; ++number) {
    parts_.shards.with(Shard{static_cast<std::uint16_t>(number)},
                       [&](const ShardState& state) { state.add_hungry(shares); });
  }
  shares.divide(free);
  look_after_full_pass(now, !shares.nobody());
  const bool low_first = ++reads_ % low_first_every == 0;
  first_ = (first_ + 1) % count;
  std::uint64_t asked = 0;
  for (std::size_t step = 0; step < count; ++step) {
    // Rows that are claimed without room would be withheld from other shards.
    if (claims_ && asked >= free) break;
    const auto number = (first_ + step) % count;
    auto& slot = parts_.shards.at(number);
    const std::scoped_lock lock(slot.mutex);
    const auto before = fresh.pages.size();
    slot.state.plan(now, shares, low_first, fresh.pages);
    if (fresh.pages.size() == before) continue;
    for (auto page = before; claims_ && page < fresh.pages.size(); ++page) {
      asked += claim_of(fresh.pages[page], free, count);
    }
    plan.tickets.push_back(
        {Shard{static_cast<std::uint16_t>(number)}, slot.state.tracker().read_begun()});
  }
  if (fresh.pages.empty()) {
    schedule_.end(now, false);
    return std::nullopt;
  }
  fresh.ranges.reserve(fresh.pages.size());
  for (const auto& page : fresh.pages) fresh.ranges.push_back(page.range);
  plan.what = std::move(fresh);
  return plan;
}

ReadAnswer Intake::perform(const ReadPlan& plan) {
  if (const auto* keys = std::get_if<KeysRead>(&plan.what)) {
    return parts_.store.read_retrying_keys(parts_.table, keys->shard, keys->after, keys_page);
  }
  if (const auto* due = std::get_if<DueRead>(&plan.what)) {
    return parts_.store.read_due(parts_.table, due->ranges, plan.bytes_max);
  }
  return parts_.store.read(parts_.table, std::get<FreshRead>(plan.what).ranges, plan.bytes_max);
}

void Intake::apply(const ReadPlan& plan, ReadAnswer answer, BootTime now) {
  if (const auto* keys = std::get_if<KeysRead>(&plan.what)) {
    auto& reply = std::get<Result<spi::RetryingKeysReply>>(answer);
    if (!reply.ok()) return failed(reply.error(), now);
    schedule_.succeeded();
    if (parts_.shards.same_timeline(reply->timeline)) apply_keys(*keys, *reply);
    return;
  }
  auto& reply = std::get<Result<spi::ReadReply>>(answer);
  if (!reply.ok()) {
    failed(reply.error(), now);
  } else if (schedule_.succeeded(); parts_.shards.same_timeline(reply->timeline)) {
    if (const auto* due = std::get_if<DueRead>(&plan.what)) {
      apply_due(*due, *reply, now);
    } else {
      apply_fresh(std::get<FreshRead>(plan.what), *reply, now);
    }
    ahead_.filled(parts_.room.count(Source::cold), now);
  }
  mark_seen(plan);
}

void Intake::apply_keys(const KeysRead& plan, const spi::RetryingKeysReply& reply) {
  parts_.shards.with(plan.shard, [&](ShardState& state) {
    if (state.tenure() != plan.tenure) return;
    if (!plan.again) return state.keys_loaded(reply.keys, reply.exhausted);
    if (state.blocked_keys_seen(*plan.again, reply.keys, reply.exhausted)) wake();
  });
}

void Intake::apply_due(const DueRead& plan, spi::ReadReply& reply, BootTime now) {
  ShardState::Taken taken;
  auto rows = std::span(reply.rows);
  bool open = reply.parts.size() < plan.ranges.size();
  for (std::size_t part = 0; part < reply.parts.size(); ++part) {
    const auto mine = rows.first(reply.parts[part].rows);
    rows = rows.subspan(mine.size());
    parts_.shards.with(plan.ranges[part].shard, [&](ShardState& state) {
      if (state.tenure() != plan.tenures[part]) return;
      state.take_due(mine, reply.parts[part].exhausted, taken);
      open = open || state.due_pass_open();
    });
  }
  due_shown_ += reply.rows.size();
  due_went_ = due_went_ || taken.admitted > 0 || !taken.buried.empty() || taken.cut_at;
  // An unfinished pass over due rows continues at once; the next pass waits for the next poll.
  due_at_ = open && !taken.cut_at ? now : now + rest_after_due_pass();
  bytes_wanted_ = taken.cut_at;
  instruments_.due_rows.add(static_cast<double>(reply.rows.size()));
  instruments_.admitted.add(taken.admitted);
  parts_.deliver(taken);
}

Duration Intake::rest_after_due_pass() {
  // If many due rows cannot be dispatched because their destination is down, they are read less
  // often.
  const bool in_vain = !due_went_ && due_shown_ >= due_in_vain_min;
  due_rest_ = in_vain ? std::clamp(2 * due_rest_, options_.poll_interval,
                                   std::max(due_rest_max, options_.poll_interval))
                      : options_.poll_interval;
  due_shown_ = 0;
  due_went_ = false;
  return due_rest_;
}

void Intake::apply_fresh(const FreshRead& plan, spi::ReadReply& reply, BootTime now) {
  ShardState::Taken taken;
  auto rows = std::span(reply.rows);
  std::uint32_t safety = 0;
  const auto wall_now = parts_.clock.wall_now();
  for (std::size_t part = 0; part < reply.parts.size(); ++part) {
    const auto mine = rows.first(reply.parts[part].rows);
    rows = rows.subspan(mine.size());
    const auto& page = plan.pages[part];
    const auto before = taken.admitted;
    parts_.shards.with(page.range.shard, [&](ShardState& state) {
      state.take_page(page, mine, reply.parts[part].exhausted, reply.horizon, now, wall_now, taken);
    });
    if (page.purpose == Purpose::safety) safety += taken.admitted - before;
  }
  due_went_ = due_went_ || taken.due > 0;
  schedule_.end(now, taken.admitted > 0 || reply.parts.size() < plan.pages.size());
  bytes_wanted_ = taken.cut_at;
  instruments_.fresh_rows.add(static_cast<double>(reply.rows.size()));
  instruments_.admitted.add(taken.admitted);
  if (taken.late > 0) instruments_.late_rows.add(taken.late);
  // With claims, rows claimed from other shards are expected here.
  if (safety > 0 && !claims_) instruments_.safety_rows.add(safety);
  if (std::ranges::count(plan.pages, Purpose::safety, &PlannedRange::purpose) > 0) {
    full_passes_.pages_read(now - plan.begun, safety > 0);
  }
  parts_.deliver(taken);
}

void Intake::mark_seen(const ReadPlan& plan) {
  for (const auto& [shard, ticket] : plan.tickets) {
    parts_.shards.with(shard, [&](ShardState& state) { state.tracker().read_seen(ticket); });
  }
}

void Intake::failed(const Error& error, BootTime now) {
  instruments_.errors.count(error.code);
  schedule_.failed(now);
  parts_.log.log(LogLevel::warning, "read failed, will be tried again",
                 {{"table", std::string_view(parts_.table.str())},
                  {"code", code_name(error.code)},
                  {"error", std::string_view(error.message)}});
}

void Intake::look_after_full_pass(BootTime now, bool backlog) {
  const bool begins = full_passes_.begins(now, backlog);
  bool open = false;
  for (std::size_t number = 0; number < parts_.shards.size(); ++number) {
    parts_.shards.with(Shard{static_cast<std::uint16_t>(number)}, [&](ShardState& state) {
      if (begins) {
        state.begin_safety_pass();
        state.check_blocked_keys();
      }
      open = open || state.in_safety_pass();
    });
  }
  full_passes_.looked(now, open);
}

bool Intake::anything_eager() const {
  for (std::size_t number = 0; number < parts_.shards.size(); ++number) {
    if (parts_.shards.with(Shard{static_cast<std::uint16_t>(number)},
                           [](const ShardState& state) { return state.eager(); })) {
      return true;
    }
  }
  return false;
}

BootTime Intake::next(BootTime now) const {
  // The reader is woken when a shard is acquired.
  if (!parts_.shards.live(now) || parts_.pauses.whole_table()) {
    return now + options_.poll_interval;
  }
  const auto fresh = schedule_.next(now, [this] { return anything_eager(); });
  return fresh <= now ? fresh : std::min(fresh, std::max(schedule_.retry_at(), due_at_));
}

bool Intake::fits() const {
  return !bytes_wanted_ || parts_.room.fits(Source::cold, *bytes_wanted_);
}

bool Intake::waits_for_room() const {
  return !parts_.room.worth_reading(Source::cold) || !fits() || !parts_.shards.places_left();
}

void Intake::reopen() {
  for (std::size_t number = 0; number < parts_.shards.size(); ++number) {
    parts_.shards.with(Shard{static_cast<std::uint16_t>(number)},
                       [](ShardState& state) { state.reopen(); });
  }
  reopened_.store(true);
  wake();
}

}  // namespace sagabox::outbox
