#pragma once

#include "stores/postgres/schema.hpp"

/// The steps after the first, a file each.
namespace sagabox::postgres {

Migration enqueue_step() noexcept;    ///< 2: writing from SQL
Migration wake_step() noexcept;       ///< 3: waking owners that sleep
Migration operators_step() noexcept;  ///< 4: watched tables, and what people look at
Migration rights_step() noexcept;     ///< 5: rights of producers, names that are found for sure

}  // namespace sagabox::postgres
