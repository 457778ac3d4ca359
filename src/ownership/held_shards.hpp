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

/// What a worker holds of one scope; tells the holder, the log and the metrics.
class HeldShards {
 public:
  HeldShards(ScopeOptions options, Metrics& metrics, Logger& log);

  [[nodiscard]] const ScopeOptions& options() const noexcept { return options_; }
  /// Ascending, with the holder's word on those that drain.
  [[nodiscard]] std::vector<HeldView> view() const;
  [[nodiscard]] bool holds_any() const noexcept { return !held_.empty(); }
  /// Given away, but the store has not said that it knows.
  [[nodiscard]] const std::vector<spi::OwnedShard>& unanswered() const noexcept {
    return unanswered_;
  }

  void acquire(std::span<const spi::OwnedShard> shards, const WorkerId& owner, Timeline timeline);
  void drain(Shard shard);
  /// The holder forgets them before the store is asked to release them.
  void give_away(std::span<const Shard> shards);
  /// What is held is given away as it is, unclean: whoever holds it forgets it at once.
  void abandon(std::string_view why);
  /// The store has said that these are released.
  void released(std::span<const spi::OwnedShard> shards);
  /// Nothing when it is not held, or held at another epoch than the one found broken.
  void lose(Shard shard, std::optional<Epoch> epoch, std::string_view why);
  /// Starts over, as a worker under a new id does.
  void lose_all(std::string_view why);
  /// Believes the store: what others hold is lost; what the store says is ours without our
  /// knowing (a take whose answer was lost) is adopted as unclean. Not while something is
  /// unanswered.
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
  std::unordered_map<Shard, Epoch> epoch_last_;  // held under this id, now or before
};

}  // namespace sagabox::ownership
