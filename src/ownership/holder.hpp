#pragma once

#include <sagabox/id.hpp>
#include <sagabox/spi/ownership_store.hpp>

#include <cstdint>

namespace sagabox::ownership {

/// The interface of a component that works on the shards of a scope. Called by the worker's own
/// thread only, one call at a time. A shard goes acquired → (drain → idle) → lost, and may then be
/// acquired again at a higher epoch.
class Holder {
 public:
  virtual ~Holder() = default;
  virtual void acquired(const spi::OwnedShard& shard, const WorkerId& owner, Timeline timeline) = 0;
  /// Starts no new work for this shard; it is released when it is idle.
  virtual void drain(Shard shard) = 0;
  /// Whether no work of this shard is running or waits to be settled. Called for draining shards
  /// only.
  [[nodiscard]] virtual bool idle(Shard shard) const = 0;
  /// The shard is not owned any more, because it was lost or released after a drain: drop its state
  /// at once and settle nothing more.
  virtual void lost(Shard shard) = 0;
};

/// The share of the shards of a scope that a worker requests.
enum class Share : std::uint8_t { even, all };

struct ScopeOptions {
  spi::Scope scope;
  std::uint16_t shards = 16;
  Share share = Share::even;
  Holder* holder = nullptr;
};

}  // namespace sagabox::ownership
