#pragma once

#include "core/nearest.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::assembly {

/// A value from a file or the environment, before it is interpreted.
struct ConfigNode {
  enum class Shape : std::uint8_t { nothing, text, list, map };
  struct Member;

  Shape shape = Shape::nothing;
  std::string text{};
  std::vector<Member> members;  ///< those of a list have no keys
  std::string from{};           ///< "sagabox.yaml:9", "SAGABOX_LISTEN"
  bool in_quotes = false;       ///< a text of a file: not a number, true or false
  std::size_t line = 0;         ///< in a file; 0: unknown

  [[nodiscard]] const ConfigNode* find(std::string_view key) const;
  /// Returns the member with this key, and makes it if needed; turns this into a map.
  ConfigNode& at(std::string_view key);
};

struct ConfigNode::Member {
  std::string key{};
  std::string from{};
  ConfigNode value{};
  std::size_t line = 0;  ///< of the key in a file; 0: unknown
};

/// One setting, or a group of them, of the object that `holder` points to: its name, its allowed
/// values, its meaning, how it is read and shown. Files, the environment, `config print`, `config
/// schema` and the documentation all use these.
struct Setting {
  enum class Shape : std::uint8_t {
    value,
    values,   ///< a list of texts; a single one needs no brackets
    pairs,    ///< any names, each with a text; unnamed: the other keys of its section
    section,  ///< the settings in `parts`
    list,     ///< of sections
    map,      ///< of sections by name
  };
  enum class Kind : std::uint8_t { text, path, flag, number, decimal, duration, bytes, choice };
  enum class Secret : std::uint8_t { no, password_of_url, yes };
  /// How a running daemon applies a new value.
  enum class Change : std::uint8_t {
    restart,  ///< only at a restart
    table,    ///< the table is stopped and started again
    routing,  ///< when the messages in flight have been answered
    at_once,
  };

  std::string name{};
  std::string doc{};
  Shape shape = Shape::value;
  Kind kind = Kind::text;
  Secret secret = Secret::no;
  std::optional<Change> change{};  ///< nullopt: as its group; at the top: restart
  /// In the same format as the setting itself.
  std::string min{};
  std::string max{};
  std::vector<std::string> choices{};
  std::vector<Setting> parts{};
  /// For a list: the part that is set if an element is only a text. For a map: a list of names is
  /// enough.
  std::string shorthand{};

  /// Returns an empty text if it was read, otherwise what is wrong with the text and what would be
  /// right.
  std::function<std::string(const Setting&, void* holder, const std::string& text)> read{};
  /// Returns nullopt if it is not set.
  std::function<std::optional<std::string>(const void* holder)> show{};
  std::function<void(void* holder, const std::string& name, const std::string& text)> put{};
  std::function<std::vector<std::pair<std::string, std::string>>(const void* holder)> shows{};
  /// The holder of the parts: `enter` creates an optional one, `look` returns null for it.
  std::function<void*(void* holder)> enter{};
  std::function<const void*(const void* holder)> look{};
  /// Adds an element to a list or a map.
  std::function<void*(void* holder, const std::string& name)> add{};
  std::function<std::vector<std::pair<std::string, const void*>>(const void* holder)> each{};
  /// The error in a combination of parts; empty if there is none. For a list or a map: of each
  /// element.
  std::function<std::string(const void* holder)> check{};

  /// Whether its value can also be in a file that a setting with `_file` after its name gives.
  [[nodiscard]] bool has_file_twin() const noexcept {
    return secret != Secret::no && shape == Shape::value;
  }

  Setting between(std::string least, std::string most) &&;
  Setting hidden(Secret how = Secret::yes) &&;
  Setting checked(std::function<std::string(const void*)> by) &&;
  Setting short_for(std::string part) &&;
  Setting changed_by(Change how) &&;
};

/// All settings; the holder is a Configuration.
const std::vector<Setting>& settings();

/// Whether the value of a key of this name is likely a secret: `sasl.password`, `header.X-Api-Key`.
bool names_a_secret(std::string_view name);

}  // namespace sagabox::assembly
