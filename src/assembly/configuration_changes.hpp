#pragma once

#include "assembly/configuration.hpp"
#include "assembly/setting.hpp"

#include <string>
#include <vector>

namespace sagabox::assembly {

/// A setting that differs between two configurations.
struct Changed {
  std::string path;
  Setting::Change change = Setting::Change::restart;
};

std::vector<Changed> changes(const Configuration& before, const Configuration& after);

}  // namespace sagabox::assembly
