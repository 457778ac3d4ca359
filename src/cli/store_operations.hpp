#pragma once

#include "cli/operations.hpp"

#include <memory>
#include <string>

namespace sagabox::cli {

/// Straight on a store, which `actor` acts on.
Result<std::unique_ptr<Operations>> operate_on(std::unique_ptr<Store> store,
                                               const std::string& actor);

}  // namespace sagabox::cli
