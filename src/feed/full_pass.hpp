#pragma once

#include <sagabox/id.hpp>
#include <sagabox/time.hpp>

#include <optional>

namespace sagabox::feed {

/// A pass over everything that one shard (or lane) of a feed holds, page by page: the safety net
/// below the rules by which late commits are found.
class FullPass {
 public:
  /// No-op while one runs.
  void begin(Sequence after = {}) {
    if (!after_) after_ = after;
  }
  /// Where its next page begins; nullopt if none runs.
  [[nodiscard]] std::optional<Sequence> after() const noexcept { return after_; }
  /// A page has been looked at up to `last`; `level`: it reached the forward reads.
  void page_seen(Sequence last, bool level) { after_ = level ? std::nullopt : std::optional(last); }

 private:
  std::optional<Sequence> after_;
};

/// When the full passes of a feed begin: at most every `interval_min`, and so that reading their
/// pages takes at most a twentieth of the time. Pure.
class FullPassSchedule {
 public:
  struct Options {
    Duration interval_min = std::chrono::seconds(30);
    /// What a pass finds is expected, not an accident: it does not wait for a backlog, and the next
    /// one follows after the interval while they find something.
    bool finds_work = false;
  };
  explicit FullPassSchedule(Options options) : options_(options) {}

  /// Whether a pass begins now, in all shards. `backlog`: there is more to read than fits, which
  /// goes first for a few intervals. The first pass waits for one interval: whoever begins reads
  /// everything anyway.
  [[nodiscard]] bool begins(BootTime now, bool backlog);
  /// After `begins`, each time. `open`: some shard is still in its pass.
  void looked(BootTime now, bool open);
  /// A read that held pages of the pass took so long, and `found` rows that nothing else had.
  void pages_read(Duration took, bool found) {
    took_ += took;
    found_ = found_ || found;
  }

 private:
  static constexpr int time_share = 20;
  /// So many intervals a pass waits for the end of a backlog.
  static constexpr int patience = 4;

  Options options_;
  std::optional<BootTime> at_;
  Duration took_{};
  bool running_ = false;
  bool found_ = false;
};

}  // namespace sagabox::feed
