#pragma once

#include "core/stored_message.hpp"
#include "stores/sqlite/link.hpp"

#include <sagabox/records.hpp>
#include <sagabox/spi/outbox_store.hpp>

#include <cstddef>

namespace sagabox::sqlite {

/// What holding the row that `run` stands on will cost, told without decoding it. Columns `{row}`.
std::size_t bytes_of_row(const Run& run);
spi::Row decode_row(const Run& run);

/// A record and its message; the message has an empty payload where that was not read.
struct Decoded {
  MessageRecord record;
  std::shared_ptr<const Message> message;
};

/// The columns `{pending}`, `{ended}` or `{done}`, and the payload or NULL.
Decoded decode_record(const Run& run, bool with_history = false);

}  // namespace sagabox::sqlite
