#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

namespace sagabox::cli {

enum class Key : std::uint8_t { dead_letters, replay, pause, quit };

/// The keys in a text that was read at once, in order. Everything else is ignored, including the
/// letters in the escape sequences of arrow keys.
std::vector<Key> keys_in(std::string_view typed);

/// Keys from standard input. A terminal delivers each key at once, without echo. Its settings are
/// restored when this closes, while the process is suspended, and when a signal ends it. Only one
/// may exist at a time.
class Keyboard {
 public:
  enum class Opened : std::uint8_t { no, yes };
  explicit Keyboard(Opened opened);
  ~Keyboard() { close(); }
  Keyboard(const Keyboard&) = delete;
  Keyboard& operator=(const Keyboard&) = delete;

  /// Returns false after `close` and at the end of the input.
  [[nodiscard]] bool open() const noexcept { return open_; }
  /// The descriptor to wait for before `read`; -1 if there is none: closed, or in the background,
  /// where reading would stop the process.
  [[nodiscard]] int descriptor();
  /// Blocks unless the descriptor is readable.
  void read();
  /// The next of the keys that were read.
  std::optional<Key> next();
  [[nodiscard]] bool has_next() const noexcept { return !keys_.empty(); }
  void close();

 private:
  bool open_;
  bool terminal_;
  std::deque<Key> keys_;
};

/// Whether keys can be typed: standard input is a terminal.
bool stdin_is_terminal();

}  // namespace sagabox::cli
