#pragma once

#include <sagabox/id.hpp>

#include <span>
#include <string>
#include <string_view>

namespace sagabox::spi {

/// Something that must have one owner a shard: "outbox:orders", "purge:orders" … Engines name
/// their scopes; to a store they are plain text.
using Scope = std::string;

struct Fence {
  Shard shard{};
  Epoch epoch{};
};

/// The ownership that a write relies on: `owner` holds these shards of `scope` at these
/// epochs. The store checks it in the transaction of the write, and it stays so until that
/// transaction has ended. `scope` and `fences` outlive the call.
struct Fencing {
  std::string_view scope;
  WorkerId owner;
  std::span<const Fence> fences;  ///< no shard twice
};

}  // namespace sagabox::spi
