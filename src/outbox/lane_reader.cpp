#include "outbox/lane_reader.hpp"

#include <algorithm>

namespace sagabox::outbox {

Sequence LaneReader::next_after(BootTime now) const {
  if (pass_) return *pass_;
  auto after = position_;
  for (const auto& open : open_) {
    if (open.reads <= reads_young_max) after = std::min(after, open.before);
  }
  if (kind_ == spi::LateCommits::window) {
    auto old_enough = Sequence{};
    for (const auto& sample : history_) {
      if (now - sample.at < window_) break;
      old_enough = sample.position;
    }
    after = std::min(after, old_enough);
  }
  return after;
}

bool LaneReader::accept(Sequence after, const std::optional<spi::Horizon>& horizon,
                        bool forward) {
  if (!horizon) return true;
  const auto& running = horizon->in_progress;
  auto lowest_ended = std::optional<Sequence>{};
  std::erase_if(open_, [&](const Open& open) {
    const bool ended = open.id < horizon->next &&
                       !std::binary_search(running.begin(), running.end(), open.id);
    if (ended && (!lowest_ended || open.before < *lowest_ended)) lowest_ended = open.before;
    return ended;
  });
  for (auto& open : open_) ++open.reads;
  for (const auto id : running) {
    const auto known = std::find_if(open_.begin(), open_.end(),
                                    [&](const Open& open) { return open.id == id; });
    if (known == open_.end()) open_.push_back({id, position_, 1});
  }
  if (!lowest_ended) return true;
  const bool covered = *lowest_ended >= after;
  if (!covered || !forward) rewind(*lowest_ended);
  return covered;
}

void LaneReader::seen(Sequence last, bool exhausted, BootTime now) {
  if (!exhausted && last < position_) {
    pass_ = last;
    return;
  }
  pass_.reset();
  position_ = std::max(position_, last);
  if (kind_ != spi::LateCommits::window) return;
  if (!history_.empty() && now - history_.back().at < window_ / samples_per_window) return;
  history_.push_back({now, position_});
  while (history_.size() > 1 && now - history_[1].at >= window_) history_.pop_front();
}

void LaneReader::rewind(Sequence after) {
  if (after >= position_) return;
  pass_ = pass_ ? std::min(*pass_, after) : after;
}

}  // namespace sagabox::outbox
