#pragma once

#include "wire/hub.hpp"

#include <string>
#include <utility>

namespace sagabox::cli {

/// The `--json` output of the delivery hub: a record of src/wire, one object.
template <class... Parts>
std::string hub_json(const Parts&... parts) {
  wire::JsonOut json;
  wire::put(json, parts...);
  return std::move(json).take();
}

}  // namespace sagabox::cli
