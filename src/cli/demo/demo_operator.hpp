#pragma once

#include "cli/demo/keys.hpp"
#include "cli/terminal.hpp"

#include <sagabox/admin.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace sagabox::cli {

/// Carries out the keys of the demo: lists dead letters, replays them, pauses and resumes the
/// table. Uses Admin, as any operator does.
class DemoOperator {
 public:
  static constexpr std::uint32_t letters_max = 10;

  /// The store and the clock must outlive it. `mend` is called before a replay: it fixes the cause
  /// of the failures first.
  DemoOperator(Store& store, const TableName& table, const Clock& clock,
               std::function<void()> mend);

  /// Handles every key except `quit`.
  void press(Key key);
  /// Updates the progress of the replay.
  void look();

  /// As reported by the store.
  [[nodiscard]] bool paused() const;
  [[nodiscard]] bool replaying() const { return job_.has_value(); }
  /// Messages that all replays so far have made pending again.
  [[nodiscard]] std::uint64_t replayed() const;

  /// At most `rows_max` dead letters, oldest first.
  [[nodiscard]] std::vector<Line> dead_letters(std::uint32_t rows_max) const;
  /// The progress of the replay; nullopt if none is running.
  [[nodiscard]] std::optional<Line> progress() const;
  /// The results of the keys since the last call.
  std::vector<Line> news() { return std::exchange(news_, {}); }
  /// The lines below the counters: the keys, the result of the last one, and, if shown, as many
  /// dead letters as fit into `rows_max` lines.
  [[nodiscard]] std::vector<Line> block(std::size_t rows_max) const;

 private:
  void replay();
  void pause_or_resume();
  void say(const Line& line);

  Admin admin_;
  const TableName& table_;
  const Clock& clock_;
  const std::function<void()> mend_;
  bool letters_shown_ = false;
  std::optional<ReplayJob> job_;  // while it runs
  std::vector<Line> news_;
  std::optional<Line> said_;  // the last result
  BootTime said_at_{};
};

}  // namespace sagabox::cli
