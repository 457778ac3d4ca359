#pragma once

#include <sagabox/spi/feed.hpp>
#include <sagabox/time.hpp>

#include <deque>
#include <optional>
#include <vector>

namespace sagabox::feed {

/// Decides where to continue reading in one shard of a feed (or one lane of it), and tracks which
/// rows may have committed below that position. Pure: no store, no clock.
///
/// A row can commit with a lower sequence than one already read. With `LateCommits::visible` each
/// read returns the transactions it could not see. A transaction that a read returns for the first
/// time can only have sequences above the position before that read, so when it ends, reading again
/// from there finds its rows. With `LateCommits::window` each read covers the last seconds again.
class ForwardReader {
 public:
  /// Rows up to `start` are not read; no transaction with one of their sequences may be open.
  ForwardReader(spi::LateCommits kind, Duration window, Sequence start = {})
      : kind_(kind), window_(window), position_(start), floor_(start) {}

  /// Begins a read and returns the sequence above which it reads.
  [[nodiscard]] Sequence next_after(BootTime now);

  /// Processes the horizon of a read that began at `after`. Returns false if rows that must go
  /// first may have committed below `after`; drop this reply and read again from `next_after`.
  /// `forward`: `seen` will be called for the rows of this read.
  [[nodiscard]] bool accept(Sequence after, const std::optional<spi::Horizon>& horizon,
                            bool forward);

  /// The rows of a read that began at `after` have been processed up to `last`; `exhausted`: there
  /// were no more. A rewind below `after` during the read stays in effect.
  void seen(Sequence after, Sequence last, bool exhausted, BootTime now);

  /// Rows above `after` must be read again.
  void rewind(Sequence after);

  /// The highest sequence processed.
  [[nodiscard]] Sequence position() const noexcept { return position_; }
  /// The sequence up to which the present pass has read; below the position after a rewind.
  [[nodiscard]] Sequence come_to() const noexcept { return pass_.value_or(position_); }
  /// Every row up to this has been processed, and no transaction can commit another one there. Must
  /// not be called between `accept` and `seen`.
  [[nodiscard]] Sequence low_watermark() const;
  /// Whether no rows below the position are known to be missing.
  [[nodiscard]] bool level() const noexcept { return !pass_ || *pass_ >= position_; }

 private:
  /// A transaction that was in progress during a read.
  struct Open {
    TransactionId id;
    Sequence before;  ///< all its sequences are above this
    int reads = 0;    ///< reads that saw it in progress
  };
  /// This many reads begin below a new transaction, so that transactions that end soon need no
  /// second read. For older ones, the reader waits until they end.
  static constexpr int reads_young_max = 3;
  /// The number of samples of the position that are kept per window.
  static constexpr int samples_per_window = 16;

  struct Sample {
    BootTime at;
    Sequence position;
  };

  void move_floor(BootTime now);

  spi::LateCommits kind_;
  Duration window_;
  Sequence position_;
  std::optional<Sequence> pass_;  // set while reading again below the position; continues from here
  std::vector<Open> open_;
  std::deque<Sample> history_;
  BootTime begun_{};      // the start of the last read that began at the floor
  BootTime confirmed_{};  // the start of the last such read whose rows have been processed
  Sequence floor_;        // with `window`: nothing can commit below it any more
};

}  // namespace sagabox::feed
