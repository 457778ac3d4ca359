#include "assembly/config_reader.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

namespace sagabox::assembly {
namespace {

using Shape = Setting::Shape;

std::string_view shape_name(ConfigNode::Shape shape) {
  switch (shape) {
    case ConfigNode::Shape::nothing:
      return "nothing";
    case ConfigNode::Shape::text:
      return "a plain value";
    case ConfigNode::Shape::list:
      return "a list";
    case ConfigNode::Shape::map:
      break;
  }
  return "a group of settings";
}

void add_texts(const ConfigNode& given, SecretTexts& secrets) {
  secrets.add_text(given.text);
  for (const auto& member : given.members) {
    secrets.add_text(member.key);
    add_texts(member.value, secrets);
  }
}

class Reader {
 public:
  Reader(std::string folder, Configured& configured)
      : folder_(std::move(folder)), configured_(configured) {}

  void section(const std::vector<Setting>& parts, const ConfigNode& given, void* holder,
               const std::string& path) {
    if (given.shape == ConfigNode::Shape::nothing) return;
    if (given.shape != ConfigNode::Shape::map) {
      return wrong(given.from, place(path) + " is " + std::string(shape_name(given.shape)) +
                                   "; it must be a group of settings");
    }
    look_at_keys(parts, given, path);
    for (const auto& part : parts) {
      if (part.name.empty()) {
        others(parts, part, given, holder, path);
        continue;
      }
      const auto inner = path.empty() ? part.name : path + "." + part.name;
      if (const auto* const found = given.find(part.name)) one(part, *found, holder, inner);
      if (const auto* const file = secret_file(part, given)) from_file(part, *file, holder, inner);
    }
  }

 private:
  void wrong(const std::string& from, const std::string& what) {
    configured_.problems.push_back(from.empty() ? what : from + ": " + what);
  }

  static std::string place(const std::string& path) { return path.empty() ? "the file" : path; }

  static const ConfigNode* secret_file(const Setting& part, const ConfigNode& given) {
    return part.has_file_twin() ? given.find(part.name + "_file") : nullptr;
  }

  void look_at_keys(const std::vector<Setting>& parts, const ConfigNode& given,
                    const std::string& path) {
    std::vector<std::string> names;
    for (const auto& part : parts) {
      if (part.name.empty()) return;  // accepts any name
      names.push_back(part.name);
      if (part.has_file_twin()) names.push_back(part.name + "_file");
    }
    for (const auto& member : given.members) {
      if (std::ranges::find(names, member.key) != names.end()) continue;
      const auto under = path.empty() ? std::string() : " under " + path;
      const auto near = nearest(member.key, names);
      std::string list;
      for (const auto& name : names) list += (list.empty() ? "" : ", ") + name;
      wrong(member.from,
            "unknown key " + quoted(member.key) + under +
                (near.empty() ? "; there are " + list : "; did you mean \"" + near + "\"?"));
    }
  }

  void one(const Setting& part, const ConfigNode& given, void* holder, const std::string& path) {
    configured_.origins[path] = given.from;
    switch (part.shape) {
      case Shape::value:
        return value(part, given, holder, path);
      case Shape::values:
        return values(part, given, holder, path);
      case Shape::pairs:
        return pairs(part, given, holder, path);
      case Shape::section: {
        const auto before = configured_.problems.size();
        auto* const inner = part.enter(holder);
        section(part.parts, given, inner, path);
        return check(part, inner, given.from, path, before);
      }
      case Shape::list:
        return list(part, given, holder, path);
      case Shape::map:
        return map(part, given, holder, path);
    }
  }

  /// Runs the check only if the parts have no errors of their own.
  void check(const Setting& part, const void* holder, const std::string& from,
             const std::string& path, std::size_t problems_before) {
    if (!part.check || configured_.problems.size() != problems_before) return;
    if (const auto problem = part.check(holder); !problem.empty())
      wrong(from, path + ": " + problem);
  }

  void value(const Setting& part, const ConfigNode& given, void* holder, const std::string& path) {
    if (given.shape != ConfigNode::Shape::text) {
      return wrong(given.from, path + " is " + std::string(shape_name(given.shape)) +
                                   "; it must be a single value");
    }
    read(part, given.text, given.from, holder, path);
  }

  void read(const Setting& part, const std::string& text, const std::string& from, void* holder,
            const std::string& path) {
    if (part.secret == Setting::Secret::yes) configured_.secrets.add_secret(text);
    const auto problem =
        part.read(part, holder, part.kind == Setting::Kind::path ? resolved(text) : text);
    if (problem.empty()) return;
    // A text that may be a secret is not repeated.
    const bool plain = part.secret == Setting::Secret::no;
    wrong(from, path + (plain ? " is " + quoted(text) : "") + "; " + problem);
  }

  [[nodiscard]] std::string resolved(const std::string& path) const {
    if (path.empty() || folder_.empty()) return path;
    return (std::filesystem::path(folder_) / path).lexically_normal().string();
  }

  void from_file(const Setting& part, const ConfigNode& given, void* holder,
                 const std::string& path) {
    if (given.shape != ConfigNode::Shape::text) {
      return wrong(given.from, path + "_file must be the path of a file");
    }
    const auto text = file_text(resolved(given.text));
    if (!text) return wrong(given.from, path + "_file " + quoted(given.text) + " cannot be read");
    configured_.origins[path] = given.from;
    configured_.secrets.add_text(*text);
    read(part, *text, given.from, holder, path);
  }

  void values(const Setting& part, const ConfigNode& given, void* holder, const std::string& path) {
    if (given.shape == ConfigNode::Shape::map) {
      return wrong(given.from, path + " is a group of settings; it must be a list");
    }
    part.enter(holder);
    if (given.shape == ConfigNode::Shape::text) return part.put(holder, "", given.text);
    for (const auto& member : given.members) {
      if (member.value.shape == ConfigNode::Shape::text) {
        part.put(holder, "", member.value.text);
      } else {
        wrong(member.from, path + " has something that is not a plain value in its list");
      }
    }
  }

  void pairs(const Setting& part, const ConfigNode& given, void* holder, const std::string& path) {
    if (given.shape == ConfigNode::Shape::nothing) return;
    if (given.shape != ConfigNode::Shape::map) {
      return wrong(given.from, path + " is " + std::string(shape_name(given.shape)) +
                                   "; it must be names with values");
    }
    for (const auto& member : given.members) pair(part, member, holder, path);
  }

  void pair(const Setting& part, const ConfigNode::Member& member, void* holder,
            const std::string& path) {
    if (member.value.shape != ConfigNode::Shape::text) {
      return wrong(member.from, path + "." + member.key + " is " +
                                    std::string(shape_name(member.value.shape)) +
                                    "; it must be a single value");
    }
    if (part.secret == Setting::Secret::yes || names_a_secret(member.key)) {
      configured_.secrets.add_secret(member.value.text);
    }
    part.put(holder, member.key, member.value.text);
  }

  /// Reads the keys of a section that are not settings of its own.
  void others(const std::vector<Setting>& parts, const Setting& part, const ConfigNode& given,
              void* holder, const std::string& path) {
    for (const auto& member : given.members) {
      const bool own = std::ranges::any_of(parts, [&](const Setting& other) {
        return other.name == member.key ||
               (other.has_file_twin() && other.name + "_file" == member.key);
      });
      if (!own) pair(part, member, holder, path);
    }
  }

  void list(const Setting& part, const ConfigNode& given, void* holder, const std::string& path) {
    if (given.shape == ConfigNode::Shape::nothing) return;
    const bool alone = !part.shorthand.empty() && given.shape != ConfigNode::Shape::list;
    if (alone) return element(part, given, holder, path + "[0]");
    if (given.shape != ConfigNode::Shape::list) {
      return wrong(given.from,
                   path + " is " + std::string(shape_name(given.shape)) + "; it must be a list");
    }
    for (std::size_t at = 0; at < given.members.size(); ++at) {
      element(part, given.members[at].value, holder, path + "[" + std::to_string(at) + "]");
    }
  }

  void element(const Setting& part, const ConfigNode& given, void* holder,
               const std::string& path) {
    const auto before = configured_.problems.size();
    configured_.origins[path] = given.from;
    auto* const made = part.add(holder, "");
    if (given.shape == ConfigNode::Shape::text && !part.shorthand.empty()) {
      ConfigNode whole{.shape = ConfigNode::Shape::map, .from = given.from};
      whole.members.push_back({.key = part.shorthand, .from = given.from, .value = given});
      section(part.parts, whole, made, path);
    } else {
      section(part.parts, given, made, path);
    }
    check(part, made, given.from, path, before);
  }

  void map(const Setting& part, const ConfigNode& given, void* holder, const std::string& path) {
    if (given.shape == ConfigNode::Shape::nothing) return;
    const bool names = !part.shorthand.empty() && given.shape == ConfigNode::Shape::list;
    const bool alone = !part.shorthand.empty() && given.shape == ConfigNode::Shape::text;
    if (given.shape != ConfigNode::Shape::map && !names && !alone) {
      return wrong(given.from, path + " is " + std::string(shape_name(given.shape)) +
                                   "; it must be a group of settings by name");
    }
    if (alone) return named(part, given.text, ConfigNode{.from = given.from}, holder, path);
    std::set<std::string> known;
    for (const auto& member : given.members) {
      if (names && member.value.shape != ConfigNode::Shape::text) {
        wrong(member.from, path + " has something that is not a name in its list");
        continue;
      }
      const auto& name = names ? member.value.text : member.key;
      if (!known.insert(name).second) {
        wrong(member.from, path + " has " + quoted(name) + " twice");
        continue;
      }
      named(part, name, names ? ConfigNode{.from = member.from} : member.value, holder, path);
    }
  }

  void named(const Setting& part, const std::string& name, const ConfigNode& given, void* holder,
             const std::string& path) {
    const auto before = configured_.problems.size();
    const auto inner = path + "." + name;
    configured_.origins[inner] = given.from;
    auto* const made = part.add(holder, name);
    section(part.parts, given, made, inner);
    check(part, made, given.from, inner, before);
  }

  std::string folder_;
  Configured& configured_;
};

}  // namespace

std::optional<std::string> file_text(const std::string& path) {
  // A directory can be opened, but not read.
  if (!std::filesystem::is_regular_file(path)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return std::nullopt;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

void read_config(const ConfigNode& given, const std::string& folder, Configured& configured) {
  add_texts(given, configured.secrets);
  Reader(folder, configured).section(settings(), given, &configured.configuration, "");
}

}  // namespace sagabox::assembly
