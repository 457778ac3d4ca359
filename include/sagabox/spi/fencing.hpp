#pragma once

#include <sagabox/id.hpp>

#include <span>
#include <string>
#include <string_view>

namespace sagabox::spi {

/// A kind of work that has one owner for each shard: "outbox:orders", "purge:orders" … Engines
/// choose the names of their scopes; stores treat them as plain text.
using Scope = std::string;

struct Fence {
  Shard shard{};
  Epoch epoch{};
};

/// The ownership that a write relies on: `owner` holds these shards of `scope` at these epochs. The
/// store checks it in the transaction of the write, and it cannot change before that transaction
/// has ended. `scope` and `fences` outlive the call.
struct Fencing {
  std::string_view scope;
  WorkerId owner;
  std::span<const Fence> fences;  ///< no shard twice
};

}  // namespace sagabox::spi
