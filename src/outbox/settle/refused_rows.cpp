#include "outbox/settle/refused_rows.hpp"

#include "core/error_text.hpp"

#include <algorithm>
#include <iterator>

namespace sagabox::outbox {
namespace {

/// The limit for texts of rows that are kept for a long time.
constexpr std::size_t text_bytes_max = 256;
constexpr std::uint32_t tries_counted_max = 16;

/// Keeps only the data that a later try needs.
RefusedRows::Row shortened(RefusedRows::Row row) {
  auto& settlement = row.result.settlement;
  settlement.error = clean_error(settlement.error, text_bytes_max);
  row.result.dead.reset();
  return row;
}

Error shortened(const Error& why) { return {why.code, clean_error(why.message, text_bytes_max)}; }

}  // namespace

void RefusedRows::park(Row row, Error why) {
  const auto& settlement = row.result.settlement;
  const Key key{settlement.shard, settlement.sequence};
  const std::scoped_lock lock(mutex_);
  const auto found = rows_.find(key);
  if (found == rows_.end()) {
    rows_.emplace(key, Entry{.row = shortened(std::move(row)), .why = shortened(why)});
  } else {
    found->second.why = shortened(why);
  }
}

void RefusedRows::forget(Shard shard, std::uint32_t tenure) {
  auto& forgotten = forgotten_[shard];
  if (forgotten.tenure != tenure) forgotten = {.tenure = tenure};
  ++forgotten.rows;
}

std::optional<RefusedResult> RefusedRows::make_room(Shard shard, Sequence sequence) {
  const std::scoped_lock lock(mutex_);
  const auto known = rows_.find({shard, sequence});
  if (held_ < rows_max_ || (known != rows_.end() && known->second.held)) return std::nullopt;
  // Rows that were refused most often are due last.
  const auto last = std::find_if(due_.rbegin(), due_.rend(),
                                 [&](const auto& due) { return rows_.at(due.second).refused; });
  if (last == due_.rend()) return std::nullopt;
  const auto found = rows_.find(last->second);
  auto gone = shown(found->second);
  forget(found->first.first, found->second.row.result.tenure);
  due_.erase(std::next(last).base());
  rows_.erase(found);
  --held_;
  return gone;
}

RefusedRows::Held RefusedRows::keep_refused(Row row, Error why, BootTime now, bool refused) {
  const auto& settlement = row.result.settlement;
  const Key key{settlement.shard, settlement.sequence};
  const auto tenure = row.result.tenure;
  const std::scoped_lock lock(mutex_);
  auto found = rows_.find(key);
  if (found == rows_.end()) {
    found = rows_.emplace(key, Entry{.row = shortened(std::move(row)), .why = {}}).first;
  }
  auto& entry = found->second;
  const bool again = entry.held;
  if (!again && held_ >= rows_max_) {
    rows_.erase(found);
    forget(key.first, tenure);
    return Held::forgotten;
  }
  if (!again) ++held_;
  entry.held = true;
  entry.refused = entry.refused || refused;
  // The row no longer holds a place for results in flight.
  entry.row.result.holds_place = false;
  entry.why = shortened(why);
  const auto doublings = std::min(entry.tries, tries_counted_max);
  entry.retry_at = now + std::min<Duration>(retry_max, retry_min * (1 << doublings));
  ++entry.tries;
  due_.emplace(entry.retry_at, key);
  return again ? Held::again : Held::first;
}

std::optional<RefusedRows::Row> RefusedRows::next(BootTime now) {
  const std::scoped_lock lock(mutex_);
  if (due_.empty() || due_.begin()->first > now) return std::nullopt;
  const auto key = due_.begin()->second;
  due_.erase(due_.begin());
  return rows_.at(key).row;
}

BootTime RefusedRows::due() const {
  const std::scoped_lock lock(mutex_);
  return due_.empty() ? BootTime::max() : due_.begin()->first;
}

void RefusedRows::retry_all(BootTime now) {
  const std::scoped_lock lock(mutex_);
  if (due_.empty() || due_.rbegin()->first <= now) return;
  std::set<std::pair<BootTime, Key>> all;
  for (const auto& [at, key] : due_) {
    all.emplace(now, key);
    rows_.at(key).retry_at = now;
  }
  due_ = std::move(all);
}

std::optional<RefusedRows::Known> RefusedRows::stored(Shard shard, Sequence sequence) {
  const std::scoped_lock lock(mutex_);
  const auto found = rows_.find({shard, sequence});
  if (found == rows_.end()) return std::nullopt;
  const auto& entry = found->second;
  const Known known{.held_back = entry.held,
                    .blocks_key = entry.row.result.settlement.verdict == spi::Verdict::retry};
  held_ -= entry.held ? 1 : 0;
  due_.erase({entry.retry_at, found->first});
  rows_.erase(found);
  return known;
}

std::uint32_t RefusedRows::tries(Shard shard, Sequence sequence) const {
  const std::scoped_lock lock(mutex_);
  const auto found = rows_.find({shard, sequence});
  return found == rows_.end() ? 0 : found->second.tries;
}

bool RefusedRows::held_back(Shard shard, Sequence sequence) const {
  const std::scoped_lock lock(mutex_);
  const auto found = rows_.find({shard, sequence});
  return found != rows_.end() && found->second.held;
}

std::vector<std::pair<Shard, std::uint32_t>> RefusedRows::shards() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::pair<Shard, std::uint32_t>> all;
  for (const auto& [shard, forgotten] : forgotten_) all.emplace_back(shard, forgotten.tenure);
  for (auto at = rows_.begin(); at != rows_.end();) {
    const auto shard = at->first.first;
    all.emplace_back(shard, at->second.row.result.tenure);
    at = rows_.upper_bound({shard, Sequence{~std::uint64_t{0}}});
  }
  return all;
}

std::size_t RefusedRows::drop(Shard shard, bool lost) {
  const std::scoped_lock lock(mutex_);
  std::size_t dropped = 0;
  if (const auto found = forgotten_.find(shard); found != forgotten_.end()) {
    dropped += found->second.rows;
    forgotten_.erase(found);
  }
  for (auto at = rows_.lower_bound({shard, Sequence{}});
       at != rows_.end() && at->first.first == shard;) {
    const bool waits = due_.erase({at->second.retry_at, at->first}) > 0;
    if (!waits && !lost) {
      ++at;
      continue;
    }
    dropped += at->second.held ? 1 : 0;
    held_ -= at->second.held ? 1 : 0;
    at = rows_.erase(at);
  }
  return dropped;
}

bool RefusedRows::empty() const {
  const std::scoped_lock lock(mutex_);
  return rows_.empty() && forgotten_.empty();
}

std::uint64_t RefusedRows::count() const {
  const std::scoped_lock lock(mutex_);
  std::uint64_t rows = held_;
  for (const auto& [shard, forgotten] : forgotten_) rows += forgotten.rows;
  return rows;
}

RefusedResult RefusedRows::shown(const Entry& entry) {
  const auto& settlement = entry.row.result.settlement;
  return {.id = settlement.id,
          .sequence = settlement.sequence,
          .shard = settlement.shard,
          .delivered = settlement.verdict == spi::Verdict::done,
          .code = entry.why.code,
          .error = entry.why.message,
          .tries = entry.tries};
}

std::vector<RefusedResult> RefusedRows::list(std::size_t rows_max) const {
  const std::scoped_lock lock(mutex_);
  std::vector<RefusedResult> all;
  for (const auto& [key, entry] : rows_) {
    if (all.size() == rows_max) break;
    if (entry.held) all.push_back(shown(entry));
  }
  return all;
}

std::optional<RefusedResult> RefusedRows::find(Sequence sequence) const {
  const std::scoped_lock lock(mutex_);
  for (const auto& [key, entry] : rows_) {
    if (entry.held && key.second == sequence) return shown(entry);
  }
  return std::nullopt;
}

}  // namespace sagabox::outbox
