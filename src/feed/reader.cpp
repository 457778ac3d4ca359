#include "feed/reader.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::feed {
namespace {

/// The page size for a shard that was exhausted by the last read.
constexpr std::uint32_t rows_probe = 32;

}  // namespace

Reader::Reader(const spi::Capabilities& store, ReaderOptions options)
    : store_(store),
      options_(options),
      shards_(store.shards),
      schedule_(options.poll_interval),
      full_passes_({.interval_min = options.full_pass_interval_min}) {}

void Reader::acquire(Shard shard, Sequence start) {
  lose(shard);
  auto& reading = shards_[shard.value];
  reading.forward.emplace(store_.late_commits, store_.late_window, start);
  reading.hungry = true;
  reading.aside_next = false;
  wake();
}

void Reader::lose(Shard shard) {
  auto& reading = shards_[shard.value];
  ++reading.tenure;
  reading.forward.reset();
  reading.full_pass = {};
  reading.tracker->clear();
  reading.taken.clear();
  reading.done.clear();
  in_hand_ -= std::exchange(reading.in_hand, 0);
}

std::optional<ReadPlan> Reader::plan(BootTime now, std::uint32_t rows_max) {
  if (now < schedule_.retry_at() || rows_max == 0) return std::nullopt;
  if (!schedule_.due(now, [this] { return anything_eager(); })) return std::nullopt;
  schedule_.begin();
  const auto hungry = std::ranges::count_if(
      shards_, [](const ShardReading& shard) { return shard.forward && shard.hungry; });
  look_after_full_pass(now, hungry > 0);
  auto plan = ReadPlan{.rows_max = rows_max, .begun = now};
  const auto share = std::max(1U, rows_max / std::max(1U, static_cast<std::uint32_t>(hungry)));
  // Rows that exceed the room are not taken, so the first shard rotates.
  first_ = (first_ + 1) % shards_.size();
  for (std::size_t step = 0; step < shards_.size(); ++step) {
    const auto number = (first_ + step) % shards_.size();
    auto& shard = shards_[number];
    if (!shard.forward) continue;
    auto range = spi::FeedRange{.shard = Shard{static_cast<std::uint16_t>(number)}};
    plan.pages.push_back(plan_page(shard, range, share, now));
    plan.ranges.push_back(range);
  }
  if (!plan.ranges.empty()) return plan;
  schedule_.end(now, false);
  return std::nullopt;
}

ReadPlan::Page Reader::plan_page(ShardReading& shard, spi::FeedRange& range, std::uint32_t share,
                                 BootTime now) const {
  auto page = ReadPlan::Page{.tenure = shard.tenure, .ticket = shard.tracker->read_begun()};
  // Rows known to be missing below the position go first, because another page could return rows
  // that were written after them.
  page.full_pass = shard.forward->level() && shard.aside_next && !shard.hungry &&
                   shard.full_pass.after().has_value();
  if (page.full_pass) {
    range.after = *shard.full_pass.after();
    range.rows_max = std::max(share, rows_probe);
    return page;
  }
  range.after = shard.forward->next_after(now);
  range.rows_max = shard.hungry ? share : std::min(share, rows_probe);
  // Rows in hand are returned again below the position and must not fill the page.
  if (range.after < shard.forward->position()) {
    range.rows_max += static_cast<std::uint32_t>(shard.tracker->size());
  }
  return page;
}

void Reader::look_after_full_pass(BootTime now, bool backlog) {
  // Rows that are done are tracked only above the position, so a full pass would take them again.
  if (options_.rows_stay) return;
  const bool begins = full_passes_.begins(now, backlog);
  bool open = false;
  for (auto& shard : shards_) {
    if (!shard.forward) continue;
    if (begins) shard.full_pass.begin();
    open = open || shard.full_pass.after();
  }
  full_passes_.looked(now, open);
}

std::optional<Reader::PageLook> Reader::begin_page(const ReadPlan& plan, std::size_t part,
                                                   bool exhausted,
                                                   const std::optional<spi::Horizon>& horizon) {
  const auto& range = plan.ranges[part];
  const auto& page = plan.pages[part];
  auto& shard = shards_[range.shard.value];
  if (!shard.forward || page.tenure != shard.tenure) return std::nullopt;
  if (!page.full_pass) shard.hungry = !exhausted;
  shard.aside_next = !page.full_pass;
  if (!shard.forward->accept(range.after, horizon, !page.full_pass)) return std::nullopt;
  return PageLook{.range = range,
                  .page = page,
                  .shard = shard,
                  .position = shard.forward->position(),
                  .last = range.after,
                  .exhausted = exhausted};
}

Reader::Fate Reader::look_at(PageLook& look, Sequence sequence, std::uint32_t room) {
  auto& shard = look.shard;
  // Only forward reads advance the position, so that no page begins beyond the rows they have
  // processed.
  const bool ahead = look.page.full_pass && sequence > look.position;
  const bool is_done = shard.done.contains(sequence);
  if (!ahead && (is_done || !shard.tracker->admit(sequence))) {
    look.last = sequence;
    return Fate::known;
  }
  if (ahead || room == 0) {
    if (!ahead) shard.tracker->forget(sequence);
    look.last = ahead ? std::max(look.last, look.position) : look.last;
    look.exhausted = false;
    shard.hungry = shard.hungry || !look.page.full_pass;
    return Fate::no_room;
  }
  look.last = sequence;
  if (options_.rows_stay) shard.taken.insert(sequence);
  ++shard.in_hand;
  ++in_hand_;
  return Fate::taken;
}

void Reader::end_page(PageLook& look, BootTime now) {
  auto& shard = look.shard;
  if (look.page.full_pass) {
    shard.full_pass.page_seen(look.last, look.exhausted || look.last >= look.position);
  } else {
    shard.forward->seen(look.range.after, look.last, look.exhausted, now);
  }
  shard.forget_done();
}

void Reader::end_read(const ReadPlan& plan, BootTime now, std::size_t taken, std::size_t parts,
                      std::uint32_t by_full_pass) {
  discard(plan);
  schedule_.succeeded();
  schedule_.end(now, taken > 0 || parts < plan.ranges.size());
  if (std::ranges::any_of(plan.pages, &ReadPlan::Page::full_pass)) {
    full_passes_.pages_read(now - plan.begun, by_full_pass > 0);
  }
}

void Reader::discard(const ReadPlan& plan) {
  for (std::size_t page = 0; page < plan.pages.size(); ++page) {
    shards_[plan.ranges[page].shard.value].tracker->read_seen(plan.pages[page].ticket);
  }
}

void Reader::failed(const ReadPlan& plan, BootTime now) {
  discard(plan);
  schedule_.failed(now);
}

Reader::ShardReading* Reader::shard_of(const RowPlace& place) {
  auto& shard = shards_[place.shard.value];
  const bool is_known = place.tenure == shard.tenure && shard.tracker->in_hand(place.sequence);
  return is_known ? &shard : nullptr;
}

void Reader::settled(const RowPlace& place) {
  auto* const shard = shard_of(place);
  if (shard == nullptr) return;
  --shard->in_hand;
  --in_hand_;
  if (!options_.rows_stay) return shard->tracker->settled(place.sequence);
  shard->tracker->forget(place.sequence);
  shard->taken.erase(place.sequence);
  shard->done.insert(place.sequence);
  shard->forget_done();
}

void Reader::released(const RowPlace& place) {
  auto* const shard = shard_of(place);
  if (shard == nullptr) return;
  --shard->in_hand;
  --in_hand_;
  shard->tracker->forget(place.sequence);
  shard->taken.erase(place.sequence);
  shard->forward->rewind(Sequence{place.sequence.value - 1});
}

Sequence Reader::position(Shard shard) const {
  const auto& of = shards_[shard.value];
  return options_.rows_stay && of.forward ? of.position() : Sequence{};
}

BootTime Reader::next(BootTime now) const {
  return schedule_.next(now, [this] { return anything_eager(); });
}

bool Reader::anything_eager() const { return std::ranges::any_of(shards_, &ShardReading::eager); }

bool Reader::ShardReading::eager() const {
  // If `aside_next` is false, a page of the full pass replaced the requested forward read.
  return forward && (!forward->level() || hungry || !aside_next);
}

Sequence Reader::ShardReading::position() const {
  const auto low = forward->low_watermark();
  return taken.empty() ? low : std::min(low, Sequence{taken.begin()->value - 1});
}

void Reader::ShardReading::forget_done() {
  // No read begins below the position any more.
  if (!done.empty()) done.erase(done.begin(), done.upper_bound(position()));
}

}  // namespace sagabox::feed
