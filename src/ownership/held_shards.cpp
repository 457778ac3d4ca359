#include "ownership/held_shards.hpp"

#include "observe/metric_names.hpp"

#include <algorithm>
#include <string>

namespace sagabox::ownership {

namespace {

const spi::ShardOwner* find_in(const spi::Census& census, Shard shard) {
  const auto at = std::ranges::find(census.shards, shard, &spi::ShardOwner::shard);
  return at == census.shards.end() ? nullptr : &*at;
}

bool says(const spi::Census& census, const WorkerId& owner, const spi::OwnedShard& shard) {
  const auto* found = find_in(census, shard.shard);
  return found != nullptr && found->owner == owner && found->epoch == shard.epoch;
}

}  // namespace

HeldShards::HeldShards(ScopeOptions options, Metrics& metrics, Logger& log)
    : options_(std::move(options)),
      log_(log),
      shards_gauge_(metrics.gauge(metric::ownership_shards, {{"scope", options_.scope}})),
      taken_clean_(metrics.counter(metric::ownership_taken_total,
                                   {{"scope", options_.scope}, {"unclean", "false"}})),
      taken_unclean_(metrics.counter(metric::ownership_taken_total,
                                     {{"scope", options_.scope}, {"unclean", "true"}})),
      lost_(metrics.counter(metric::ownership_lost_total, {{"scope", options_.scope}})) {
  show_count();
}

std::vector<HeldView> HeldShards::view() const {
  std::vector<HeldView> view;
  view.reserve(held_.size());
  for (const Held& held : held_) {
    const Shard shard = held.shard.shard;
    view.push_back({shard, held.draining, held.draining && options_.holder->idle(shard)});
  }
  return view;
}

void HeldShards::acquire(std::span<const spi::OwnedShard> shards, const WorkerId& owner,
                         Timeline timeline) {
  if (shards.empty()) return;
  for (const spi::OwnedShard& shard : shards) {
    if (const auto at = find(shard.shard); at != held_.end()) {
      if (at->shard.epoch == shard.epoch) continue;
      lose(shard.shard, at->shard.epoch, "taken again at another epoch");
    }
    held_.insert(std::ranges::upper_bound(held_, shard.shard, {},
                                          [](const Held& held) { return held.shard.shard; }),
                 Held{shard});
    epoch_last_[shard.shard] = shard.epoch;
    (shard.unclean ? taken_unclean_ : taken_clean_).increment();
    options_.holder->acquired(shard, owner, timeline);
  }
  show_count();
  log_shards(LogLevel::info, "shards taken", shards, "");
}

void HeldShards::drain(Shard shard) {
  const auto at = find(shard);
  if (at == held_.end() || at->draining) return;
  at->draining = true;
  options_.holder->drain(shard);
}

void HeldShards::give_away(std::span<const Shard> shards) {
  for (const Shard shard : shards) {
    const auto at = find(shard);
    if (at == held_.end()) continue;
    unanswered_.push_back({.shard = shard, .epoch = at->shard.epoch, .unclean = false});
    held_.erase(at);
    options_.holder->lost(shard);
  }
  show_count();
}

void HeldShards::abandon(std::string_view why) {
  std::vector<spi::OwnedShard> gone;
  for (const Held& held : held_) {
    gone.push_back({.shard = held.shard.shard, .epoch = held.shard.epoch, .unclean = true});
  }
  held_.clear();
  unanswered_.insert(unanswered_.end(), gone.begin(), gone.end());
  for (const spi::OwnedShard& shard : gone) {
    lost_.increment();
    options_.holder->lost(shard.shard);
  }
  show_count();
  if (!gone.empty()) log_shards(LogLevel::warning, "shards lost", gone, why);
}

void HeldShards::released(std::span<const spi::OwnedShard> shards) {
  for (const spi::OwnedShard& shard : shards) {
    std::erase_if(unanswered_, [&](const spi::OwnedShard& other) {
      return other.shard == shard.shard && other.epoch == shard.epoch;
    });
  }
  log_shards(LogLevel::info, "shards released", shards, "");
}

void HeldShards::lose(Shard shard, std::optional<Epoch> epoch, std::string_view why) {
  const auto at = find(shard);
  if (at == held_.end() || (epoch && *epoch != at->shard.epoch)) return;
  const spi::OwnedShard gone = at->shard;
  held_.erase(at);
  lost_.increment();
  options_.holder->lost(shard);
  show_count();
  log_shards(LogLevel::warning, "shards lost", std::span(&gone, 1), why);
}

void HeldShards::lose_all(std::string_view why) {
  std::vector<spi::OwnedShard> gone;
  for (const Held& held : held_) gone.push_back(held.shard);
  held_.clear();
  unanswered_.clear();
  epoch_last_.clear();
  for (const spi::OwnedShard& shard : gone) {
    lost_.increment();
    options_.holder->lost(shard.shard);
  }
  show_count();
  if (!gone.empty()) log_shards(LogLevel::warning, "shards lost", gone, why);
}

void HeldShards::reconcile(const spi::Census& census, const WorkerId& owner) {
  for (const HeldView& held : view()) {
    const auto at = find(held.shard);
    if (!says(census, owner, at->shard)) {
      lose(held.shard, at->shard.epoch, "the store names another owner or epoch");
    }
  }

  std::vector<spi::OwnedShard> adopted;
  for (const spi::ShardOwner& shard : census.shards) {
    if (shard.owner != owner || find(shard.shard) != held_.end()) continue;
    if (const auto last = epoch_last_.find(shard.shard);
        last != epoch_last_.end() && last->second >= shard.epoch) {
      // Work from the lost ownership may still be running, and only a higher epoch fences it.
      unanswered_.push_back({shard.shard, shard.epoch, true});
    } else {
      adopted.push_back({shard.shard, shard.epoch, true});
    }
  }
  acquire(adopted, owner, census.timeline);
}

std::vector<HeldShards::Held>::iterator HeldShards::find(Shard shard) {
  return std::ranges::find_if(held_, [&](const Held& held) { return held.shard.shard == shard; });
}

void HeldShards::log_shards(LogLevel level, std::string_view event,
                            std::span<const spi::OwnedShard> shards, std::string_view why) const {
  if (!log_.enabled(level)) return;
  std::string list;
  std::uint64_t unclean = 0;
  for (const spi::OwnedShard& shard : shards) {
    if (!list.empty()) list += ' ';
    list += std::to_string(shard.shard.value) + '@' + std::to_string(shard.epoch.value);
    if (shard.unclean) ++unclean;
  }
  if (why.empty()) {
    log_.log(level, event,
             {{"scope", std::string_view(options_.scope)},
              {"shards", std::string_view(list)},
              {"unclean", unclean},
              {"held", std::uint64_t{held_.size()}}});
  } else {
    log_.log(level, event,
             {{"scope", std::string_view(options_.scope)},
              {"shards", std::string_view(list)},
              {"why", why},
              {"held", std::uint64_t{held_.size()}}});
  }
}

void HeldShards::show_count() { shards_gauge_.set(static_cast<double>(held_.size())); }

}  // namespace sagabox::ownership
