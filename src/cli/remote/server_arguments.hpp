#pragma once

#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <string>
#include <string_view>

/// Which daemon to ask, and with which key.
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

/// Whether a key sent to this URL is not encrypted on its way.
bool is_readable_by_others(std::string_view url);

/// A setting, given by its option or its variable.
struct Said {
  std::string option{};
  std::string variable{};  ///< empty: not set
  [[nodiscard]] bool given() const { return !option.empty(); }
  [[nodiscard]] bool typed() const { return given() && option != variable; }
};
/// Returns true for the daemon, false for the store. Options take precedence over variables;
/// CONFIG.INVALID if that does not decide.
Result<bool> chooses_server(const Said& store, const Said& server);

}  // namespace sagabox::cli
