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

/// Who presses the keys of the demo: looks at dead letters, replays them, pauses and resumes the
/// table. Does it the way any operator does, through Admin.
class DemoOperator {
 public:
  static constexpr std::uint32_t letters_max = 10;

  /// The store and the clock outlive it. `mend` is called before a replay: what killed the
  /// messages is put right first.
  DemoOperator(Store& store, const TableName& table, const Clock& clock,
               std::function<void()> mend);

  /// All but `quit`.
  void press(Key key);
  /// Sees how the replay goes on.
  void look();

  /// The store says so.
  [[nodiscard]] bool paused() const;
  [[nodiscard]] bool replaying() const { return job_.has_value(); }
  /// Messages that all replays so far have made pending again.
  [[nodiscard]] std::uint64_t replayed() const;

  /// At most `rows_max` dead letters, oldest first.
  [[nodiscard]] std::vector<Line> dead_letters(std::uint32_t rows_max) const;
  /// How the replay stands; nothing when none runs.
  [[nodiscard]] std::optional<Line> progress() const;
  /// What came of the keys, since asked last.
  std::vector<Line> news() { return std::exchange(news_, {}); }
  /// What stands under the counters: the keys, what came of the last one, and when they are shown,
  /// as many dead letters as fit into `rows_max` lines.
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
  std::optional<Line> said_;  // last
  BootTime said_at_{};
};

}  // namespace sagabox::cli
