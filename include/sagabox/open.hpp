#pragma once

#include <sagabox/store.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sagabox {

/// What every store can be opened with; a store's own header has the rest.
struct StoreOptions {
  /// Of every outbox; those that are there must have been made with the same.
  std::uint16_t shards = 16;
  /// Where our tables are, for databases that have schemas.
  std::string schema = "sagabox";
};

/// The store that a URL names: `sqlite:orders.db`, `postgres://user@host:5432/database`, `memory:`.
/// CONFIG.INVALID for one that this build does not have; the text says which it has.
Result<std::unique_ptr<Store>> open_store(const std::string& url, const StoreOptions& options = {});

/// How the URLs of the stores in this build begin: "memory:", "postgres://" …
std::vector<std::string> store_schemes();

}  // namespace sagabox
