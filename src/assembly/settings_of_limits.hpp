#pragma once

#include "assembly/describe.hpp"

#include <sagabox/limits.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::assembly {

/// The holder is a Limits.
std::vector<Setting> limits_parts();

/// Limits by name; `access` selects the map of a Holder.
template <class Holder, class Access>
Setting named_limits(std::string name, Access access, std::string doc) {
  Setting setting{.name = std::move(name),
                  .doc = std::move(doc),
                  .shape = Setting::Shape::map,
                  .parts = limits_parts()};
  setting.add = [access](void* holder, const std::string& key) -> void* {
    return &std::invoke(access, *static_cast<Holder*>(holder))[key];
  };
  setting.each = [access](const void* holder) {
    std::vector<std::pair<std::string, const void*>> all;
    for (const auto& [key, limits] : std::invoke(access, *static_cast<const Holder*>(holder))) {
      all.emplace_back(key, &limits);
    }
    return all;
  };
  setting.check = own_check<Limits>();
  return setting;
}

}  // namespace sagabox::assembly
