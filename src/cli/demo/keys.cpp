#include "cli/demo/keys.hpp"

#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

namespace sagabox::cli {
namespace {

constexpr char escape = '\x1b';

std::optional<Key> key_typed(char typed) {
  switch (typed) {
    case 'd':
      return Key::dead_letters;
    case 'r':
      return Key::replay;
    case 'p':
      return Key::pause;
    case 'q':
      return Key::quit;
    default:
      return std::nullopt;
  }
}

/// Returns the text after the escape sequence at the start of `typed`: ESC [ … letter, ESC O
/// letter, ESC letter. The Esc key itself arrives alone.
std::string_view skip_escape(std::string_view typed) {
  typed.remove_prefix(1);
  if (typed.empty() || typed.front() == escape) return typed;
  const char kind = typed.front();
  typed.remove_prefix(1);
  if (kind == '[') {
    const auto ends = [](char c) { return c >= '@' && c <= '~'; };
    const auto last = std::find_if(typed.begin(), typed.end(), ends);
    typed.remove_prefix(static_cast<std::size_t>(last - typed.begin()));
  }
  if ((kind == '[' || kind == 'O') && !typed.empty()) typed.remove_prefix(1);
  return typed;
}

// The process has one terminal, and a signal handler can only use globals.
termios settings_before{};
std::atomic<bool> settings_changed{false};
static_assert(std::atomic<bool>::is_always_lock_free);

constexpr std::array ending_signals{SIGHUP, SIGQUIT, SIGABRT, SIGTSTP};

/// Changing a terminal from the background stops the process. A terminal that does not control this
/// session has no background.
bool in_foreground() {
  const auto group = tcgetpgrp(STDIN_FILENO);
  return group == -1 || group == getpgrp();
}

/// Safe in signal handlers. In the background the terminal belongs to another process.
void restore_settings() {
  if (!settings_changed.exchange(false) || !in_foreground()) return;
  (void)tcsetattr(STDIN_FILENO, TCSANOW, &settings_before);
}

/// Installed with SA_RESETHAND, so that the signal raised here has its default effect.
void restore_and_go_on(int signal) {
  const int saved = errno;
  restore_settings();
  (void)std::raise(signal);
  errno = saved;
}

void set_handlers(void (*from)(int), void (*to)(int)) {
  for (const int signal : ending_signals) {
    struct sigaction action{};
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler != from) continue;
    action = {};
    action.sa_handler = to;
    if (to != SIG_DFL) action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    (void)sigaction(signal, &action, nullptr);
  }
}

/// Also called after a suspension, when the shell or our handler has restored the settings.
void take_single_keys() {
  termios settings{};
  if (tcgetattr(STDIN_FILENO, &settings) != 0) return;
  if (settings_changed && (settings.c_lflag & ICANON) == 0) return;
  settings_before = settings;
  settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  settings.c_cc[VMIN] = 1;
  settings.c_cc[VTIME] = 0;
  set_handlers(SIG_DFL, restore_and_go_on);
  settings_changed = true;
  (void)tcsetattr(STDIN_FILENO, TCSANOW, &settings);
}

}  // namespace

std::vector<Key> keys_in(std::string_view typed) {
  std::vector<Key> keys;
  while (!typed.empty()) {
    if (typed.front() == escape) {
      typed = skip_escape(typed);
      continue;
    }
    if (const auto key = key_typed(typed.front())) keys.push_back(*key);
    typed.remove_prefix(1);
  }
  return keys;
}

Keyboard::Keyboard(Opened opened)
    : open_(opened == Opened::yes), terminal_(open_ && stdin_is_terminal()) {}

int Keyboard::descriptor() {
  if (!open_) return -1;
  if (terminal_) {
    if (!in_foreground()) return -1;
    take_single_keys();
  }
  return STDIN_FILENO;
}

void Keyboard::read() {
  std::array<char, 256> typed{};
  const auto bytes = ::read(STDIN_FILENO, typed.data(), typed.size());
  if (bytes < 0 && errno == EINTR) return;
  if (bytes <= 0) return close();
  const auto keys = keys_in({typed.data(), static_cast<std::size_t>(bytes)});
  keys_.insert(keys_.end(), keys.begin(), keys.end());
}

std::optional<Key> Keyboard::next() {
  if (keys_.empty()) return std::nullopt;
  const auto key = keys_.front();
  keys_.pop_front();
  return key;
}

void Keyboard::close() {
  open_ = false;
  if (!terminal_) return;
  restore_settings();
  set_handlers(restore_and_go_on, SIG_DFL);
}

bool stdin_is_terminal() { return isatty(STDIN_FILENO) != 0; }

}  // namespace sagabox::cli
