#pragma once

#include <sagabox/spi/feed.hpp>
#include <sagabox/time.hpp>

#include <deque>
#include <optional>
#include <vector>

namespace sagabox::feed {

/// Where to read on in one shard of a feed (or one lane of it), and which rows may have committed
/// behind that point. Pure: no store, no clock.
///
/// A row can commit with a lower sequence than one already read. With `LateCommits::visible` each
/// read names the transactions it could not see; a transaction first named by a read can only have
/// drawn sequences above the position before that read, so when it ends, reading again from there
/// finds its rows. `LateCommits::window` reads the last seconds again every time.
class ForwardReader {
 public:
  /// Rows up to `start` are not read; no transaction that drew one of their sequences is open.
  ForwardReader(spi::LateCommits kind, Duration window, Sequence start = {})
      : kind_(kind), window_(window), position_(start), floor_(start) {}

  /// A read begins now; it takes rows above this.
  [[nodiscard]] Sequence next_after(BootTime now);

  /// Looks at what a read that began at `after` could not see. False: rows may have committed
  /// below `after` that must go first; drop this reply and read again from `next_after`.
  /// `forward`: the rows of this read are going to be `seen` here.
  [[nodiscard]] bool accept(Sequence after, const std::optional<spi::Horizon>& horizon,
                            bool forward);

  /// The rows of a read that began at `after` have been looked at up to `last`; `exhausted`:
  /// there were no more. A rewind below `after` that came while it was on its way still stands.
  void seen(Sequence after, Sequence last, bool exhausted, BootTime now);

  /// Rows above `after` must be looked at again.
  void rewind(Sequence after);

  /// The highest sequence looked at.
  [[nodiscard]] Sequence position() const noexcept { return position_; }
  /// How far it has come with what it reads now, which may be again.
  [[nodiscard]] Sequence come_to() const noexcept { return pass_.value_or(position_); }
  /// Every row up to this has been looked at, and no transaction can commit another one there. Not
  /// between `accept` and `seen`.
  [[nodiscard]] Sequence low_watermark() const;
  /// Nothing is behind the position that is known to be missing.
  [[nodiscard]] bool level() const noexcept { return !pass_ || *pass_ >= position_; }

 private:
  /// A transaction that was in progress when a read looked.
  struct Open {
    TransactionId id;
    Sequence before;  ///< it has drawn only sequences above this
    int reads = 0;    ///< that saw it in progress
  };
  /// Reads begin this many times below young transactions, so that those which end soon cost no
  /// second read; older ones are waited for.
  static constexpr int reads_young_max = 3;
  /// The window is remembered in steps this fine.
  static constexpr int samples_per_window = 16;

  struct Sample {
    BootTime at;
    Sequence position;
  };

  void move_floor(BootTime now);

  spi::LateCommits kind_;
  Duration window_;
  Sequence position_;
  std::optional<Sequence> pass_;  // reading again below the position, from here
  std::vector<Open> open_;
  std::deque<Sample> history_;
  BootTime begun_{};      // of the last read that began at the floor
  BootTime confirmed_{};  // … and whose rows have been looked at
  Sequence floor_;        // with `window`: nothing can commit below it any more
};

}  // namespace sagabox::feed
