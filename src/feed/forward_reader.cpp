#include "feed/forward_reader.hpp"

#include <algorithm>

namespace sagabox::feed {

Sequence ForwardReader::next_after(BootTime now) {
  if (pass_) return *pass_;
  begun_ = now;
  auto after = position_;
  for (const auto& open : open_) {
    if (open.reads <= reads_young_max) after = std::min(after, open.before);
  }
  if (kind_ == spi::LateCommits::window) after = std::min(after, floor_);
  return after;
}

bool ForwardReader::accept(Sequence after, const std::optional<spi::Horizon>& horizon,
                           bool forward) {
  if (!horizon) return true;
  const auto& running = horizon->in_progress;
  auto lowest_ended = std::optional<Sequence>{};
  std::erase_if(open_, [&](const Open& open) {
    const bool ended =
        open.id < horizon->next && !std::binary_search(running.begin(), running.end(), open.id);
    if (ended && (!lowest_ended || open.before < *lowest_ended)) lowest_ended = open.before;
    return ended;
  });
  for (auto& open : open_) ++open.reads;
  for (const auto id : running) {
    const auto known =
        std::find_if(open_.begin(), open_.end(), [&](const Open& open) { return open.id == id; });
    if (known == open_.end()) open_.push_back({id, position_, 1});
  }
  if (!lowest_ended) return true;
  const bool covered = *lowest_ended >= after;
  if (!covered || !forward) rewind(*lowest_ended);
  return covered;
}

void ForwardReader::seen(Sequence after, Sequence last, bool exhausted, BootTime now) {
  const bool rewound = pass_ && *pass_ < after;
  // Also at the position itself: the next page continues from there instead of returning the same
  // rows again.
  const bool behind = !exhausted && last <= position_;
  position_ = std::max(position_, last);
  if (rewound) return;
  if (behind) {
    pass_ = last;
    return;
  }
  pass_.reset();
  confirmed_ = begun_;
  if (kind_ == spi::LateCommits::window) move_floor(now);
}

Sequence ForwardReader::low_watermark() const {
  auto low = std::min(come_to(), position_);
  for (const auto& open : open_) low = std::min(low, open.before);
  return kind_ == spi::LateCommits::window ? std::min(low, floor_) : low;
}

void ForwardReader::move_floor(BootTime now) {
  // Sequences below a sample are committed one window later, and a read that began since then has
  // seen their rows.
  while (!history_.empty() && begun_ - history_.front().at >= window_) {
    floor_ = history_.front().position;
    history_.pop_front();
  }
  if (!history_.empty() && now - history_.back().at < window_ / samples_per_window) return;
  history_.push_back({now, position_});
}

void ForwardReader::rewind(Sequence after) {
  if (after >= position_) return;
  // This pass does not return rows below `after`, so rows that only a failed read covered are not
  // confirmed.
  if (!pass_) begun_ = confirmed_;
  pass_ = pass_ ? std::min(*pass_, after) : after;
}

}  // namespace sagabox::feed
