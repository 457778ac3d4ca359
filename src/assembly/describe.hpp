#pragma once

#include "assembly/setting.hpp"
#include "assembly/setting_values.hpp"

#include <sagabox/result.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Functions that describe settings: each makes one of a `Holder`, and `access` (a member, or a
/// function that returns a reference) selects it.
namespace sagabox::assembly {

template <class Value>
struct Inside {
  using Type = Value;
};
template <class Value>
struct Inside<std::optional<Value>> {
  using Type = Value;
};

template <class Holder, class Access>
using Accessed = std::remove_cvref_t<std::invoke_result_t<Access&, Holder&>>;

template <class Value>
constexpr Setting::Kind kind_of() {
  if constexpr (std::same_as<Value, bool>) return Setting::Kind::flag;
  if constexpr (std::same_as<Value, double>) return Setting::Kind::decimal;
  if constexpr (std::unsigned_integral<Value>) return Setting::Kind::number;
  if constexpr (std::same_as<Value, Duration> || std::same_as<Value, std::chrono::seconds>) {
    return Setting::Kind::duration;
  }
  return Setting::Kind::text;
}

/// `setting.min` and `setting.max` must be valid themselves.
template <class Value>
std::string read_bounded(const Setting& setting, const std::string& text, Value& value) {
  const auto read = [&](const std::string& written, Value& into) {
    if constexpr (std::unsigned_integral<Value>) {
      if (setting.kind == Setting::Kind::bytes) {
        std::uint64_t wide = 0;
        auto problem = read_bytes(written, wide);
        into = static_cast<Value>(std::min<std::uint64_t>(wide, std::numeric_limits<Value>::max()));
        return problem;
      }
    }
    return read_value(written, into);
  };
  Value found{};
  if (auto problem = read(text, found); !problem.empty()) return problem;
  if (!setting.min.empty()) {
    Value least{};
    Value most{};
    (void)read(setting.min, least);
    (void)read(setting.max, most);
    if (found < least || found > most) {
      return "it must be from " + setting.min + " to " + setting.max;
    }
  }
  value = std::move(found);
  return {};
}

template <class Value>
std::optional<std::string> shown(const Setting::Kind kind, const Value& value) {
  if constexpr (std::unsigned_integral<Value>) {
    if (kind == Setting::Kind::bytes) return show_bytes(value);
  }
  if constexpr (std::same_as<Value, std::string>) {
    if (value.empty()) return std::nullopt;
  }
  return show_value(value);
}

template <class Holder, class Access>
Setting value(std::string name, Access access, std::string doc,
              std::optional<Setting::Kind> kind = {}) {
  using Stored = Accessed<Holder, Access>;
  using Value = typename Inside<Stored>::Type;
  constexpr bool optional = !std::same_as<Stored, Value>;
  Setting setting{.name = std::move(name), .doc = std::move(doc)};
  setting.kind = kind.value_or(kind_of<Value>());
  setting.read = [access](const Setting& self, void* holder, const std::string& text) {
    auto& stored = std::invoke(access, *static_cast<Holder*>(holder));
    if constexpr (optional) {
      if (text == unset_word) {
        stored.reset();
        return std::string();
      }
      Value found{};
      auto problem = read_bounded(self, text, found);
      if (problem.empty()) stored = std::move(found);
      return problem;
    } else {
      return read_bounded(self, text, stored);
    }
  };
  setting.show = [access, shown_as = setting.kind](const void* holder) {
    const auto& stored = std::invoke(access, *static_cast<const Holder*>(holder));
    if constexpr (optional) {
      return stored ? shown(shown_as, *stored) : std::nullopt;
    } else {
      return shown(shown_as, stored);
    }
  };
  return setting;
}

/// A value that is one of several names.
template <class Holder, class Access, std::size_t count>
Setting choice(std::string name, Access access,
               std::array<std::pair<std::string_view, Accessed<Holder, Access>>, count> names,
               std::string doc) {
  Setting setting{.name = std::move(name), .doc = std::move(doc), .kind = Setting::Kind::choice};
  for (const auto& [known, value] : names) setting.choices.emplace_back(known);
  setting.read = [access, names](const Setting& self, void* holder, const std::string& text) {
    for (const auto& [known, value] : names) {
      if (known != text) continue;
      std::invoke(access, *static_cast<Holder*>(holder)) = value;
      return std::string();
    }
    std::string list;
    for (const auto& known : self.choices) list += (list.empty() ? "" : ", ") + known;
    return "write one of " + list;
  };
  setting.show = [access, names](const void* holder) -> std::optional<std::string> {
    const auto& value = std::invoke(access, *static_cast<const Holder*>(holder));
    for (const auto& [known, meant] : names) {
      if (meant == value) return std::string(known);
    }
    return std::nullopt;
  };
  return setting;
}

/// Read by `read`, which returns the error; not shown, because the settings that it sets are shown.
template <class Holder>
Setting read_only(std::string name, std::function<std::string(Holder&, const std::string&)> read,
                  std::string doc) {
  Setting setting{.name = std::move(name), .doc = std::move(doc)};
  setting.read = [read = std::move(read)](const Setting&, void* holder, const std::string& text) {
    return read(*static_cast<Holder*>(holder), text);
  };
  setting.show = [](const void*) { return std::optional<std::string>(); };
  return setting;
}

/// A list of texts.
template <class Holder, class Access>
Setting values(std::string name, Access access, std::string doc) {
  Setting setting{.name = std::move(name), .doc = std::move(doc), .shape = Setting::Shape::values};
  setting.put = [access](void* holder, const std::string&, const std::string& text) {
    std::invoke(access, *static_cast<Holder*>(holder)).push_back(text);
  };
  setting.shows = [access](const void* holder) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const auto& text : std::invoke(access, *static_cast<const Holder*>(holder))) {
      all.emplace_back("", text);
    }
    return all;
  };
  setting.enter = [access](void* holder) -> void* {
    std::invoke(access, *static_cast<Holder*>(holder)).clear();
    return holder;
  };
  return setting;
}

template <class Holder, class Access>
Setting pairs(std::string name, Access access, std::string doc) {
  Setting setting{.name = std::move(name), .doc = std::move(doc), .shape = Setting::Shape::pairs};
  setting.put = [access](void* holder, const std::string& key, const std::string& text) {
    std::invoke(access, *static_cast<Holder*>(holder)).emplace_back(key, text);
  };
  setting.shows = [access](const void* holder) {
    return std::invoke(access, *static_cast<const Holder*>(holder));
  };
  return setting;
}

template <class Holder, class Access>
Setting section(std::string name, Access access, std::vector<Setting> parts, std::string doc) {
  using Stored = Accessed<Holder, Access>;
  constexpr bool optional = !std::same_as<Stored, typename Inside<Stored>::Type>;
  Setting setting{.name = std::move(name),
                  .doc = std::move(doc),
                  .shape = Setting::Shape::section,
                  .parts = std::move(parts)};
  setting.enter = [access](void* holder) -> void* {
    auto& stored = std::invoke(access, *static_cast<Holder*>(holder));
    if constexpr (optional) {
      if (!stored) stored.emplace();
      return &*stored;
    } else {
      return &stored;
    }
  };
  setting.look = [access](const void* holder) -> const void* {
    const auto& stored = std::invoke(access, *static_cast<const Holder*>(holder));
    if constexpr (optional) {
      return stored ? &*stored : nullptr;
    } else {
      return &stored;
    }
  };
  return setting;
}

/// `add(holder, name)` makes an element and returns a reference to it; elements of a list have no
/// names. `name_of(element)` returns the name.
template <class Holder, class Access, class Add, class NameOf>
Setting elements(Setting::Shape shape, std::string name, Access access, Add add, NameOf name_of,
                 std::vector<Setting> parts, std::string doc) {
  Setting setting{
      .name = std::move(name), .doc = std::move(doc), .shape = shape, .parts = std::move(parts)};
  setting.add = [add](void* holder, const std::string& key) -> void* {
    return &add(*static_cast<Holder*>(holder), key);
  };
  setting.each = [access, name_of](const void* holder) {
    std::vector<std::pair<std::string, const void*>> all;
    for (const auto& one : std::invoke(access, *static_cast<const Holder*>(holder))) {
      all.emplace_back(name_of(one), &one);
    }
    return all;
  };
  return setting;
}

template <class Holder, class Access>
Setting list(std::string name, Access access, std::vector<Setting> parts, std::string doc) {
  return elements<Holder>(
      Setting::Shape::list, std::move(name), access,
      [access](Holder& holder, const std::string&) -> auto& {
        return std::invoke(access, holder).emplace_back();
      },
      [](const auto&) { return std::string(); }, std::move(parts), std::move(doc));
}

/// Returns the error of `Part::check()`.
template <class Part>
std::function<std::string(const void*)> own_check() {
  return [](const void* holder) {
    const auto checked = static_cast<const Part*>(holder)->check();
    return checked.ok() ? std::string() : checked.error().message;
  };
}

}  // namespace sagabox::assembly
