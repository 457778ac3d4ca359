#pragma once

#include "core/stored_message.hpp"
#include "stores/sqlite/link.hpp"

#include <sagabox/records.hpp>
#include <sagabox/spi/outbox_store.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

namespace sagabox::sqlite {

/// The row that `run` stands on. Columns `{row}`.
spi::Row decode_row(const Run& run);
/// What holding it costs.
std::size_t bytes_of_row(const Run& run, const spi::Row& row);

/// A record and its message; the message has an empty payload where that was not read.
struct Decoded {
  MessageRecord record;
  std::shared_ptr<const Message> message;
};

/// The columns `{pending}`, `{ended}` or `{done}`, and the payload or NULL.
Decoded decode_record(const Run& run, bool with_history = false);
/// Whose it is, also where the message cannot be decoded.
std::string_view tenant_of_record(const Run& run);

}  // namespace sagabox::sqlite
