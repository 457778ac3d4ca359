#pragma once

#include "ownership/decide.hpp"
#include "ownership/holder.hpp"

#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sagabox::ownership {

/// The shards of one scope that a worker holds. Reports changes to the holder, the log and the
/// metrics.
class HeldShards {
 public:
  HeldShards(ScopeOptions options, Metrics& metrics, Logger& log);

  [[nodiscard]] const ScopeOptions& options() const noexcept { return options_; }
  /// Ascending; for draining shards with the holder's `idle`.
  [[nodiscard]] std::vector<HeldView> view() const;
  [[nodiscard]] bool holds_any() const noexcept { return !held_.empty(); }
  /// Shards that were given away, but whose release the store has not confirmed.
  [[nodiscard]] const std::vector<spi::OwnedShard>& unanswered() const noexcept {
    return unanswered_;
  }

  void acquire(std::span<const spi::OwnedShard> shards, const WorkerId& owner, Timeline timeline);
  void drain(Shard shard);
  /// Gives shards away. The holder is told before the store is called to release them.
  void give_away(std::span<const Shard> shards);
  /// Gives all held shards away at once, as unclean; the holder gets `lost` immediately.
  void abandon(std::string_view why);
  /// The store has confirmed the release of these shards.
  void released(std::span<const spi::OwnedShard> shards);
  /// No-op if the shard is not held, or is held at another epoch than `epoch`.
  void lose(Shard shard, std::optional<Epoch> epoch, std::string_view why);
  /// Drops all shards and all state of this worker id.
  void lose_all(std::string_view why);
  /// Adopts the state of the store: shards that others hold are lost; shards that this worker holds
  /// without knowing it (the answer of a take was lost) are adopted as unclean. Must not be called
  /// while a release is unanswered.
  void reconcile(const spi::Census& census, const WorkerId& owner);

 private:
  struct Held {
    spi::OwnedShard shard;
    bool draining = false;
  };

  [[nodiscard]] std::vector<Held>::iterator find(Shard shard);
  void log_shards(LogLevel level, std::string_view event, std::span<const spi::OwnedShard> shards,
                  std::string_view why) const;
  void show_count();

  ScopeOptions options_;
  Logger& log_;
  Gauge& shards_gauge_;
  Counter& taken_clean_;
  Counter& taken_unclean_;
  Counter& lost_;

  std::vector<Held> held_;  // ascending
  std::vector<spi::OwnedShard> unanswered_;
  std::unordered_map<Shard, Epoch> epoch_last_;  // of shards held under this id, now or earlier
};

}  // namespace sagabox::ownership
