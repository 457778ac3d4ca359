#pragma once

#include "cli/operations.hpp"

#include <memory>
#include <string>

namespace sagabox::cli {

/// Works on a store directly; `actor` is recorded in its audit log. `hub_key`: see
/// HubAdminOptions::secret_key.
Result<std::unique_ptr<Operations>> operate_on(std::unique_ptr<Store> store,
                                               const std::string& actor,
                                               const std::string& hub_key = {});

}  // namespace sagabox::cli
