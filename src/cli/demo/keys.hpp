#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

namespace sagabox::cli {

enum class Key : std::uint8_t { dead_letters, replay, pause, quit };

/// The keys in what was typed at once, in order. Anything else means nothing, nor do the letters
/// in the escape sequences of arrows and the like.
std::vector<Key> keys_in(std::string_view typed);

/// Keys from standard input. A terminal gives each at once and shows none of them; it gets its
/// settings back when this closes, while the process is suspended, and when a signal ends it.
/// There is one at a time.
class Keyboard {
 public:
  enum class Opened : std::uint8_t { no, yes };
  explicit Keyboard(Opened opened);
  ~Keyboard() { close(); }
  Keyboard(const Keyboard&) = delete;
  Keyboard& operator=(const Keyboard&) = delete;

  /// False after `close` and at the end of the input.
  [[nodiscard]] bool open() const noexcept { return open_; }
  /// What to wait for before `read`; -1 while there is nothing to wait for: closed, or in the
  /// background, where reading would stop the process.
  [[nodiscard]] int descriptor();
  /// Blocks unless the descriptor is readable.
  void read();
  /// Of those read, oldest first.
  std::optional<Key> next();
  [[nodiscard]] bool has_next() const noexcept { return !keys_.empty(); }
  void close();

 private:
  bool open_;
  bool terminal_;
  std::deque<Key> keys_;
};

/// Keys can be typed: standard input is a terminal.
bool stdin_is_terminal();

}  // namespace sagabox::cli
