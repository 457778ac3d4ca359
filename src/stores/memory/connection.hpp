#pragma once

#include "stores/memory/database.hpp"

#include <sagabox/stores/memory.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace sagabox::memory {

struct Connection::Session {
  explicit Session(std::shared_ptr<Database> of) : database(std::move(of)) {}
  ~Session();

  std::shared_ptr<Database> database;
  std::shared_ptr<OpenTransaction> transaction;
  /// Distinguishes the transactions of this connection.
  std::uint64_t begun = 0;
};

}  // namespace sagabox::memory
