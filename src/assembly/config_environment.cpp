#include "assembly/config_reader.hpp"
#include "core/ascii.hpp"
#include "core/masked_url.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::assembly {
namespace {

using Shape = Setting::Shape;

constexpr std::string_view prefix = "SAGABOX_";
constexpr std::string_view file_suffix = "_FILE";

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

std::string lowered(std::string_view text) {
  std::string made(text);
  std::ranges::transform(made, made.begin(), lower);
  return made;
}

/// The rest of `name` after `part` and `_`; nullopt if it does not begin with them.
std::optional<std::string_view> after(std::string_view name, const std::string& part) {
  if (!name.starts_with(part) || name.size() < part.size() + 2 || name[part.size()] != '_') {
    return std::nullopt;
  }
  return name.substr(part.size() + 1);
}

/// One variable: its name and its value.
class Variable {
 public:
  Variable(std::string name, std::string text, std::vector<std::string>& problems)
      : name_(std::move(name)), text_(std::move(text)), problems_(problems) {}

  /// Returns false if no setting has this name.
  bool put(const std::vector<Setting>& parts, ConfigNode& given, std::string_view rest) {
    for (const auto& part : parts) {
      if (part.name.empty()) continue;
      const auto own = variable_part(part.name);
      if (rest == own && put_here(part, given.at(part.name))) return true;
    }
    for (const auto& part : parts) {
      if (part.name.empty()) continue;
      const auto own = variable_part(part.name);
      if (part.shape == Shape::value && rest == own + std::string(file_suffix)) {
        return put_file(given, part.name);
      }
      const auto inner = after(rest, own);
      if (!inner) continue;
      if (part.shape == Shape::section && has(part.parts, *inner) &&
          put(part.parts, given.at(part.name), *inner)) {
        return true;
      }
      if (part.shape == Shape::map && put_named(part, given, *inner)) return true;
    }
    return false;
  }

 private:
  bool put_here(const Setting& part, ConfigNode& given) {
    if (part.shape == Shape::value) {
      given = ConfigNode{.shape = ConfigNode::Shape::text, .text = text_, .from = name_};
      return true;
    }
    const bool names = part.shape == Shape::map && !part.shorthand.empty();
    if (part.shape != Shape::values && !names) return false;
    given = ConfigNode{.shape = ConfigNode::Shape::list, .from = name_};
    for (std::size_t begin = 0; begin <= text_.size();) {
      const auto end = std::min(text_.find(',', begin), text_.size());
      auto one = ConfigNode{.shape = ConfigNode::Shape::text,
                            .text = text_.substr(begin, end - begin),
                            .from = name_};
      if (!one.text.empty()) given.members.push_back({.from = name_, .value = std::move(one)});
      begin = end + 1;
    }
    return true;
  }

  bool put_file(ConfigNode& given, const std::string& setting) {
    const auto text = file_text(text_);
    if (text) {
      given.at(setting) =
          ConfigNode{.shape = ConfigNode::Shape::text, .text = *text, .from = name_};
    } else {
      problems_.push_back(name_ + ": " + quoted(masked_url(text_)) + " cannot be read");
    }
    return true;
  }

  /// Puts it into an element that the file has, otherwise into a new one with the name in the
  /// variable.
  bool put_named(const Setting& part, ConfigNode& given, std::string_view rest) {
    auto& all = given.at(part.name);
    std::vector<std::string> keys;
    for (const auto& member : all.members) {
      keys.push_back(all.shape == ConfigNode::Shape::list ? member.value.text : member.key);
    }
    for (const auto& key : keys) {
      const auto inner = after(rest, variable_part(key));
      if (inner && has(part.parts, *inner)) return put(part.parts, all.at(key), *inner);
    }
    for (auto end = rest.find('_'); end != std::string_view::npos; end = rest.find('_', end + 1)) {
      const auto inner = rest.substr(end + 1);
      if (end == 0 || !has(part.parts, inner)) continue;
      auto& made = all.at(lowered(rest.substr(0, end)));
      made.from = name_;
      return put(part.parts, made, inner);
    }
    return false;
  }

  /// Whether one of these settings has this name, tried on an empty configuration.
  static bool has(const std::vector<Setting>& parts, std::string_view rest) {
    ConfigNode nothing;
    std::vector<std::string> ignored;
    return Variable("", "", ignored).put(parts, nothing, rest);
  }

  std::string name_;
  std::string text_;
  std::vector<std::string>& problems_;
};

/// Adds the names of all possible variables for these elements.
void add_names(const std::vector<Setting>& parts, const ConfigNode* given,
               const std::string& before, std::vector<std::string>& names) {
  for (const auto& part : parts) {
    if (part.name.empty()) continue;
    const auto own = before + variable_part(part.name);
    const auto* const inner = given == nullptr ? nullptr : given->find(part.name);
    switch (part.shape) {
      case Shape::value:
        names.push_back(own + std::string(file_suffix));
        [[fallthrough]];
      case Shape::values:
        names.push_back(own);
        break;
      case Shape::section:
        add_names(part.parts, inner, own + "_", names);
        break;
      case Shape::map:
        if (!part.shorthand.empty()) names.push_back(own);
        for (const auto& member :
             inner == nullptr ? std::vector<ConfigNode::Member>{} : inner->members) {
          const auto& key = member.key.empty() ? member.value.text : member.key;
          add_names(part.parts, &member.value, own + "_" + variable_part(key) + "_", names);
        }
        break;
      case Shape::list:
      case Shape::pairs:
        break;
    }
  }
}

}  // namespace

std::string variable_part(std::string_view key) {
  std::string made(key);
  std::ranges::transform(made, made.begin(), [](char c) {
    const char up = upper(c);
    return (up >= 'A' && up <= 'Z') || (up >= '0' && up <= '9') ? up : '_';
  });
  return made;
}

void add_environment(const Environment& environment, const std::vector<std::string>& known,
                     ConfigNode& given, std::vector<std::string>& problems) {
  for (const auto& [name, text] : environment) {
    if (!name.starts_with(prefix) || std::ranges::find(known, name) != known.end()) continue;
    const auto rest = std::string_view(name).substr(prefix.size());
    auto changed = given;
    if (Variable(name, text, problems).put(settings(), changed, rest)) {
      given = std::move(changed);
      continue;
    }
    std::vector<std::string> names;
    add_names(settings(), &given, std::string(prefix), names);
    const auto near = nearest(name, names);
    problems.push_back(name + ": no setting has this name" +
                       (near.empty() ? "; `sagabox config schema` lists them, routes can only be "
                                       "given in the file"
                                     : "; did you mean " + near + "?"));
  }
}

}  // namespace sagabox::assembly
