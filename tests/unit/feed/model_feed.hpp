#pragma once

#include <sagabox/id.hpp>
#include <sagabox/spi/feed.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

namespace sagabox::feed::testing {

struct ModelRow {
  Sequence sequence{};
};

/// A feed in a database where transactions write into any shard, draw sequences when they write,
/// and end when they like.
class ModelFeed {
 public:
  struct Written {
    Shard shard{};
    std::uint64_t drawn_after = 0;  ///< so many commits
    std::uint64_t commit = 0;       ///< the number of its own, from 0
  };
  struct Open {
    std::map<std::uint64_t, Written> drawn;  // by sequence
    BootTime begun{};
  };

  explicit ModelFeed(std::uint16_t shards) : rows_(shards), committed_(shards) {}

  std::uint64_t begin(BootTime now) {
    open_[next_transaction_].begun = now;
    return next_transaction_++;
  }
  void write(std::uint64_t transaction, Shard shard) {
    open_.at(transaction).drawn[next_sequence_++] = {.shard = shard, .drawn_after = commits_};
  }
  void commit(std::uint64_t transaction) {
    for (auto [sequence, written] : open_.at(transaction).drawn) {
      written.commit = commits_;
      rows_[written.shard.value].insert(sequence);
      committed_[written.shard.value].emplace(sequence, written);
    }
    ++commits_;
    open_.erase(transaction);
  }
  void roll_back(std::uint64_t transaction) { open_.erase(transaction); }
  /// The owner's deletion has committed.
  void remove(Shard shard, Sequence sequence) { rows_[shard.value].erase(sequence.value); }

  [[nodiscard]] spi::FeedReply<ModelRow> read(std::span<const spi::FeedRange> ranges,
                                              std::size_t rows_in_all_max) const {
    spi::FeedReply<ModelRow> reply;
    for (const auto& range : ranges) {
      const auto& rows = rows_[range.shard.value];
      auto part = spi::FeedPart{.rows = 0, .exhausted = true};
      for (auto at = rows.upper_bound(range.after.value); at != rows.end(); ++at) {
        const bool full = reply.rows.size() == rows_in_all_max;
        if (full || part.rows == range.rows_max) {
          part.exhausted = false;
          break;
        }
        reply.rows.push_back({Sequence{*at}});
        ++part.rows;
      }
      reply.parts.push_back(part);
      if (reply.rows.size() == rows_in_all_max) break;
    }
    reply.horizon = horizon();
    return reply;
  }
  [[nodiscard]] spi::Horizon horizon() const {
    spi::Horizon seen;
    for (const auto& [id, open] : open_) seen.in_progress.push_back(TransactionId{id});
    seen.next = TransactionId{next_transaction_};
    return seen;
  }

  [[nodiscard]] const std::map<std::uint64_t, Open>& open() const { return open_; }
  /// What was ever committed to a shard, by sequence.
  [[nodiscard]] const std::map<std::uint64_t, Written>& committed(Shard shard) const {
    return committed_[shard.value];
  }
  [[nodiscard]] std::size_t pending(Shard shard) const { return rows_[shard.value].size(); }
  [[nodiscard]] std::uint64_t next_sequence() const { return next_sequence_; }

 private:
  std::map<std::uint64_t, Open> open_;
  std::vector<std::set<std::uint64_t>> rows_;
  std::vector<std::map<std::uint64_t, Written>> committed_;
  std::uint64_t next_transaction_ = 1;
  std::uint64_t next_sequence_ = 1;
  std::uint64_t commits_ = 0;
};

}  // namespace sagabox::feed::testing
