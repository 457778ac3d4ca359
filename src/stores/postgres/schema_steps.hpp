#pragma once

#include "stores/postgres/schema.hpp"

/// The steps after the first, a file each.
namespace sagabox::postgres {

Migration enqueue_step() noexcept;  ///< 2: writing from SQL

}  // namespace sagabox::postgres
