#include "assembly/configuration_changes.hpp"

#include <map>
#include <utility>

namespace sagabox::assembly {
namespace {

using Shape = Setting::Shape;

struct Shown {
  std::string text{};
  Setting::Change change = Setting::Change::restart;
  friend bool operator==(const Shown&, const Shown&) = default;
};

class Flat {
 public:
  void add(const std::vector<Setting>& parts, const void* holder, const std::string& path,
           Setting::Change outer) {
    for (const auto& part : parts) {
      const auto inner = path.empty() ? part.name : path + "." + part.name;
      const auto change = part.change.value_or(outer);
      switch (part.shape) {
        case Shape::value:
          if (const auto shown = part.show(holder)) all_[inner] = {*shown, change};
          break;
        case Shape::values:
        case Shape::pairs: {
          std::size_t number = 0;
          for (const auto& [name, text] : part.shows(holder)) {
            const auto at = name.empty() ? std::to_string(number++) : name;
            all_[inner + "." + at] = {text, change};
          }
          break;
        }
        case Shape::section:
          if (const auto* const there = part.look(holder)) add(part.parts, there, inner, change);
          break;
        case Shape::list:
        case Shape::map:
          elements(part, holder, inner, change);
          break;
      }
    }
  }

  [[nodiscard]] const std::map<std::string, Shown>& all() const noexcept { return all_; }

 private:
  void elements(const Setting& part, const void* holder, const std::string& path,
                Setting::Change change) {
    std::size_t number = 0;
    for (const auto& [name, element] : part.each(holder)) {
      const auto inner = part.shape == Shape::list ? path + "[" + std::to_string(number++) + "]"
                                                   : path + "." + name;
      all_[inner] = {"", change};
      add(part.parts, element, inner, change);
    }
  }

  std::map<std::string, Shown> all_;
};

std::map<std::string, Shown> flat(const Configuration& configuration) {
  Flat made;
  made.add(settings(), &configuration, "", Setting::Change::restart);
  return made.all();
}

}  // namespace

std::vector<Changed> changes(const Configuration& before, const Configuration& after) {
  const auto old = flat(before);
  const auto young = flat(after);
  // For an added or removed element only the element itself is named.
  const auto in_both = [&](const std::string& path) {
    for (auto end = path.find('.'); end != std::string::npos; end = path.find('.', end + 1)) {
      const auto outer = path.substr(0, end);
      if (old.contains(outer) != young.contains(outer)) return false;
    }
    return true;
  };
  std::vector<Changed> found;
  for (const auto& [path, shown] : old) {
    const auto now = young.find(path);
    const bool same = now != young.end() && now->second == shown;
    if (!same && in_both(path)) found.push_back({path, shown.change});
  }
  for (const auto& [path, shown] : young) {
    if (!old.contains(path) && in_both(path)) found.push_back({path, shown.change});
  }
  return found;
}

}  // namespace sagabox::assembly
