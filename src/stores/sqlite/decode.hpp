#pragma once

#include "core/stored_message.hpp"
#include "stores/sqlite/link.hpp"

#include <sagabox/spi/outbox_store.hpp>

#include <cstddef>

namespace sagabox::sqlite {

/// Decodes the current row of `run`. Columns as in sql/outbox.sql.
spi::Row decode_row(const Run& run);
/// The memory that the row needs.
std::size_t bytes_of_row(const Run& run, const spi::Row& row);

}  // namespace sagabox::sqlite
