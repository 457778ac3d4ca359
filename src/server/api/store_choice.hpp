#pragma once

#include "server/api/routes.hpp"

#include <optional>
#include <string>

namespace sagabox::server {

/// The store of that name; it may be left out where there is one only.
Result<Store*> store_named(const ApiOptions& options, const std::optional<std::string>& name);

/// As the query or body of a request names it.
template <class Given>
Result<Store*> store_of(const Call& call, Given& given) {
  return store_named(call.options, given.maybe_text("store"));
}

}  // namespace sagabox::server
