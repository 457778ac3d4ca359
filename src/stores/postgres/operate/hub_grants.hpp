#pragma once

#include "stores/postgres/driver/names.hpp"

#include <sagabox/result.hpp>
#include <sagabox/spi/schema_store.hpp>

#include <string>

namespace sagabox::postgres {

/// What a user needs for one role of the delivery hub, as statements to run in psql.
/// CONFIG.INVALID for an unknown role or an impossible user.
Result<std::string> hub_grants(const Names& names, const spi::HubGrants& request);

}  // namespace sagabox::postgres
