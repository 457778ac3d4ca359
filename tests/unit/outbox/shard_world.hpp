#pragma once

#include "outbox/read/shard_state.hpp"
#include "outbox/settle/verdict.hpp"
#include "unit/outbox/rows.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::outbox::testing {

/// A gate whose classes are topics.
class TopicGate final : public spi::Gate {
 public:
  [[nodiscard]] std::optional<spi::ClassId> class_of(const Message& message) const override {
    return spi::ClassId{stable_hash(message.topic())};
  }
  [[nodiscard]] bool closed(spi::ClassId id) const override { return shut.contains(id); }
  [[nodiscard]] bool samples(spi::ClassId /*id*/) const override { return sampling; }
  void close(std::string_view topic) { shut.insert(spi::ClassId{stable_hash(topic)}); }
  void open(std::string_view topic) { shut.erase(spi::ClassId{stable_hash(topic)}); }

  std::set<spi::ClassId> shut;
  bool sampling = false;
};

/// One shard, the rows it is read from, and handlers that end when the test says so.
class ShardWorld {
 public:
  struct Options {
    ShardState::Settings settings{.store = {.late_commits = spi::LateCommits::none, .shards = 1},
                                  .attempts_max = 3,
                                  .chain_max = 4};
    Room::Limits room{};
    std::uint32_t rows_each = 100;
  };
  explicit ShardWorld(const Options& options)
      : options_(options),
        room(options.room),
        state(Shard{0}, options.settings, room, feed::make_tracker()) {}

  void own(bool unclean = false) {
    state.acquire({.shard = Shard{0}, .epoch = Epoch{++epoch_}, .unclean = unclean});
    std::vector<spi::RetryingKey> keys;
    for (const auto& [sequence, waiting] : waiting_rows) {
      if (!is_retrying(waiting) || !waiting.message || !waiting.message->has_key()) continue;
      keys.push_back({waiting.message->key_hash(), Sequence{sequence}});
    }
    state.keys_loaded(keys, true);
  }

  void write(spi::Row row) { rows.emplace(row.sequence.value, std::move(row)); }
  void write(std::uint64_t sequence, std::string key = {}) { write(row(sequence, std::move(key))); }
  /// What waits and has been tried waits for a retry.
  [[nodiscard]] static bool is_retrying(const spi::Row& waiting) { return waiting.attempts > 0; }
  /// Written, its time has come, and it is no retry.
  void write_delayed(std::uint64_t sequence, std::string key) {
    waiting_rows.emplace(sequence, row(sequence, std::move(key)));
  }

  std::vector<PlannedRange> plan() {
    std::vector<PlannedRange> pages;
    Shares shares;
    shares.divide(options_.rows_each);
    state.plan(now, shares, false, pages);
    return pages;
  }
  /// What the store shows for a page.
  [[nodiscard]] std::pair<std::vector<spi::Row>, bool> show(const PlannedRange& page) const {
    std::vector<spi::Row> shown;
    for (auto at = rows.upper_bound(page.range.after.value); at != rows.end(); ++at) {
      const auto lane = at->second.message ? spi::lane_of(*at->second.message) : spi::Lane{1};
      if (lane != page.range.lane) continue;
      if (shown.size() == page.range.rows_max) return {std::move(shown), false};
      shown.push_back(at->second);
    }
    return {std::move(shown), true};
  }
  ShardState::Taken apply(const PlannedRange& page, std::vector<spi::Row> shown, bool exhausted,
                          const std::optional<spi::Horizon>& horizon = std::nullopt) {
    ShardState::Taken taken;
    state.take_page(page, shown, exhausted, horizon, now, wall, taken);
    return keep(std::move(taken));
  }
  /// One read of all lanes. What may go is added to `ready` (or `cautious`).
  std::vector<Purpose> read() {
    std::vector<Purpose> purposes;
    for (const auto& page : plan()) {
      purposes.push_back(page.purpose);
      auto [shown, exhausted] = show(page);
      (void)apply(page, std::move(shown), exhausted);
    }
    return purposes;
  }
  void read_until_calm() {
    do {
      read();
    } while (state.eager());
  }
  /// A read of what is due, and the forward read that it waits for.
  ShardState::Taken read_due(std::uint32_t rows_max = 100) {
    auto taken = read_due_only(rows_max);
    while (state.keeps_due()) read();
    return taken;
  }
  ShardState::Taken read_due_only(std::uint32_t rows_max = 100) {
    std::vector<spi::Row> shown;
    bool exhausted = true;
    const auto range = state.due_range(rows_max);
    for (auto at = waiting_rows.upper_bound(range.after.value); at != waiting_rows.end(); ++at) {
      if (shown.size() == rows_max) {
        exhausted = false;
        break;
      }
      shown.push_back(at->second);
      shown.back().retrying = is_retrying(at->second);
    }
    ShardState::Taken taken;
    state.take_due(shown, exhausted, taken);
    return keep(std::move(taken));
  }

  /// The next ready one starts. Nothing: it was void, or none is ready.
  std::optional<Entry> start() {
    if (ready.empty()) return std::nullopt;
    auto next = std::move(ready.front());
    ready.erase(ready.begin());
    room.release(next);
    if (!state.start(next)) return std::nullopt;
    return next;
  }
  /// A handler answers; what follows in its key is ready.
  bool finish(const Entry& entry, spi::Verdict verdict) {
    Settling settling{.tenure = entry.tenure};
    settling.settlement = {.sequence = entry.sequence,
                           .id = entry.message->id(),
                           .verdict = verdict,
                           .attempts = entry.attempts + 1};
    auto completed = state.complete(entry, std::move(settling));
    if (completed.next) ready.push_back(std::move(*completed.next));
    return completed.accepted;
  }
  /// Starts and ends everything that is ready, in order; gives their sequences.
  std::vector<std::uint64_t> run(spi::Verdict verdict = spi::Verdict::done) {
    std::vector<std::uint64_t> ran;
    while (!ready.empty()) {
      const auto entry = start();
      if (!entry) continue;
      ran.push_back(entry->sequence.value);
      finish(*entry, verdict);
    }
    return ran;
  }

  /// What waits to be settled goes to the store.
  std::vector<spi::Settlement> settle() {
    std::vector<Settling> batch;
    state.collect(1000, batch);
    std::vector<spi::Settlement> settled;
    for (const auto& [settlement, tenure, place, replayed, figures, dead] : batch) {
      commit(settlement);
      state.settled(settlement, tenure);
      settled.push_back(settlement);
    }
    return settled;
  }
  void commit(const spi::Settlement& settlement) {
    const auto sequence = settlement.sequence.value;
    auto& from = rows.contains(sequence) ? rows : waiting_rows;
    const auto found = from.find(sequence);
    if (found == from.end()) return;
    found->second.attempts = settlement.attempts;
    if (settlement.verdict == spi::Verdict::attempt) return;
    auto node = from.extract(found);
    if (settlement.verdict == spi::Verdict::retry) waiting_rows.insert(std::move(node));
  }

 private:
  ShardState::Taken keep(ShardState::Taken taken) {
    ready.insert(ready.end(), taken.ready.begin(), taken.ready.end());
    cautious.insert(cautious.end(), taken.cautious.begin(), taken.cautious.end());
    return taken;
  }

  Options options_;
  std::uint64_t epoch_ = 0;

 public:
  Room room;
  ShardState state;
  std::map<std::uint64_t, spi::Row> rows;
  std::map<std::uint64_t, spi::Row> waiting_rows;
  std::vector<Entry> ready;
  std::vector<Entry> cautious;
  BootTime now = at({});
  WallTime wall{seconds(1'767'225'600)};
};

}  // namespace sagabox::outbox::testing
