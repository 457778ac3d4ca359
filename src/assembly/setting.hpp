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

/// What a file or the environment says, before anybody knows what it means.
struct Given {
  enum class Shape : std::uint8_t { nothing, text, list, map };
  struct Member;

  Shape shape = Shape::nothing;
  std::string text{};
  std::vector<Member> members;  ///< of a list without keys
  std::string from{};           ///< "sagabox.yaml:9", "SAGABOX_LISTEN"
  bool in_quotes = false;       ///< a text of a file: it is no number, true or false
  std::size_t line = 0;         ///< of a file; 0: not known

  [[nodiscard]] const Given* find(std::string_view key) const;
  /// The member of this key, made when it is not there; this becomes a map.
  Given& at(std::string_view key);
};

struct Given::Member {
  std::string key{};
  std::string from{};
  Given value{};
  std::size_t line = 0;  ///< of the key in a file; 0: not known
};

/// One setting, or a group of them, of whatever `holder` points to: how it is called, what it may
/// be, what it means, how it is read and shown. Files, the environment, `config print`, `config
/// schema` and the documentation all go by these.
struct Setting {
  enum class Shape : std::uint8_t {
    value,
    values,   ///< a list of texts; one alone needs no brackets
    pairs,    ///< any names, each with a text; without a name: what its section has besides
    section,  ///< the settings in `parts`
    list,     ///< of sections
    map,      ///< of sections by name
  };
  enum class Kind : std::uint8_t { text, path, flag, number, decimal, duration, bytes, choice };
  enum class Secret : std::uint8_t { no, password_of_url, yes };
  /// How a daemon that runs takes another value.
  enum class Change : std::uint8_t {
    restart,  ///< not at all
    table,    ///< the table stops and goes on
    routing,  ///< when what is under way has arrived
    at_once,
  };

  std::string name{};
  std::string doc{};
  Shape shape = Shape::value;
  Kind kind = Kind::text;
  Secret secret = Secret::no;
  std::optional<Change> change{};  ///< nothing: as its group; at the top: restart
  /// Written as the setting itself is.
  std::string min{};
  std::string max{};
  std::vector<std::string> choices{};
  std::vector<Setting> parts{};
  /// list: the part that an element is when it is only a text. map: a list of names is enough.
  std::string shorthand{};

  /// Empty: read. Else what is wrong with the text and what would be right.
  std::function<std::string(const Setting&, void* holder, const std::string& text)> read{};
  /// Nothing: not set.
  std::function<std::optional<std::string>(const void* holder)> show{};
  std::function<void(void* holder, const std::string& name, const std::string& text)> put{};
  std::function<std::vector<std::pair<std::string, std::string>>(const void* holder)> shows{};
  /// The holder of the parts; `enter` makes it where it is optional, `look` gives null.
  std::function<void*(void* holder)> enter{};
  std::function<const void*(const void* holder)> look{};
  /// One more element of a list or a map.
  std::function<void*(void* holder, const std::string& name)> add{};
  std::function<std::vector<std::pair<std::string, const void*>>(const void* holder)> each{};
  /// What is wrong between the parts; empty: nothing. Of a list or a map: of each element.
  std::function<std::string(const void* holder)> check{};

  /// Whether it can also be given as a file that has it: its name with `_file` behind it.
  [[nodiscard]] bool has_file_twin() const noexcept {
    return secret != Secret::no && shape == Shape::value;
  }

  Setting between(std::string least, std::string most) &&;
  Setting hidden(Secret how = Secret::yes) &&;
  Setting checked(std::function<std::string(const void*)> by) &&;
  Setting short_for(std::string part) &&;
  Setting changed_by(Change how) &&;
};

/// All of them; the holder is a Configuration.
const std::vector<Setting>& settings();

/// Whether the value of what is called so is likely a secret: `sasl.password`, `header.X-Api-Key`.
bool names_a_secret(std::string_view name);

}  // namespace sagabox::assembly
