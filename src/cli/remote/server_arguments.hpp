#pragma once

#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <string>
#include <string_view>

/// Which daemon to ask, and who asks.
namespace sagabox::cli {

struct ServerArguments {
  std::string url{};  ///< empty: no daemon
  std::string key_file{};
  std::string ca_file{};
  Duration timeout = std::chrono::seconds(30);
  std::string store{};  ///< of the daemon, for its audit log
};

/// "http://127.0.0.1:8700", "https://ops.example.com/sagabox": without a slash at its end.
Result<std::string> parse_server(std::string_view text);

/// The key in a file's text, or in a variable: one word, `sbx_…`. The error never shows it.
Result<std::string> parse_key(std::string_view text);

/// Whether a key that goes to this URL can be read on its way.
bool is_readable_by_others(std::string_view url);

/// What was said, each by the option or by its variable.
struct Said {
  std::string option{};
  std::string variable{};  ///< empty: not set
  [[nodiscard]] bool given() const { return !option.empty(); }
  [[nodiscard]] bool typed() const { return given() && option != variable; }
};
/// True: the daemon; false: the store. What was typed comes before what a variable says;
/// CONFIG.INVALID when that does not decide.
Result<bool> chooses_server(const Said& store, const Said& server);

}  // namespace sagabox::cli
