#pragma once

#include <sagabox/store.hpp>

#include <optional>

namespace sagabox::admin {

/// The owners of a table.
struct TableOwners {
  spi::Census relays{};
  std::optional<spi::ShardOwner> replayer{};  ///< the owner of its replay jobs
  std::optional<spi::ShardOwner> purger{};
};

Result<TableOwners> owners_of(Store& store, const TableName& table);

}  // namespace sagabox::admin
