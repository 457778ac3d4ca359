#pragma once

#include "server/api/routes.hpp"

#include <optional>
#include <string>

namespace sagabox::server {

/// The store of that name, which may be omitted if there is only one.
Result<Store*> store_named(const ApiOptions& options, const std::optional<std::string>& name);

/// The store named in the query or body of a request.
template <class Given>
Result<Store*> store_of(const Call& call, Given& given) {
  return store_named(call.options, given.maybe_text("store"));
}

}  // namespace sagabox::server
