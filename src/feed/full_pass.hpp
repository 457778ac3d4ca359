#pragma once

#include <sagabox/id.hpp>
#include <sagabox/time.hpp>

#include <optional>

namespace sagabox::feed {

/// A pass over all rows of one shard (or lane) of a feed, page by page. It finds rows that the
/// rules for late commits missed.
class FullPass {
 public:
  /// No-op while a pass runs.
  void begin(Sequence after = {}) {
    if (!after_) after_ = after;
  }
  /// The start of the next page; nullopt if no pass runs.
  [[nodiscard]] std::optional<Sequence> after() const noexcept { return after_; }
  /// A page has been processed up to `last`; `level`: it reached the position of the forward reads.
  void page_seen(Sequence last, bool level) { after_ = level ? std::nullopt : std::optional(last); }

 private:
  std::optional<Sequence> after_;
};

/// Decides when the full passes of a feed begin: at most every `interval_min`, and reading their
/// pages takes at most a twentieth of the time. Pure.
class FullPassSchedule {
 public:
  struct Options {
    Duration interval_min = std::chrono::seconds(30);
    /// Set if passes are expected to find rows: they do not wait for a backlog to end, and while
    /// they find rows the next one follows after the interval.
    bool finds_work = false;
  };
  explicit FullPassSchedule(Options options) : options_(options) {}

  /// Whether a pass begins now, in all shards. `backlog`: there are more rows than can be read at
  /// once; these go first for a few intervals. The first pass waits for one interval, because a new
  /// owner reads everything anyway.
  [[nodiscard]] bool begins(BootTime now, bool backlog);
  /// Call it after each `begins`. `open`: a shard has not finished its pass.
  void looked(BootTime now, bool open);
  /// A read with pages of the pass took this long; `found`: it returned rows that no other read had
  /// found.
  void pages_read(Duration took, bool found) {
    took_ += took;
    found_ = found_ || found;
  }

 private:
  static constexpr int time_share = 20;
  /// The number of intervals that a pass waits for the end of a backlog.
  static constexpr int patience = 4;

  Options options_;
  std::optional<BootTime> at_;
  Duration took_{};
  bool running_ = false;
  bool found_ = false;
};

}  // namespace sagabox::feed
