#pragma once

#include <sagabox/id.hpp>
#include <sagabox/spi/ownership_store.hpp>

#include <cstdint>

namespace sagabox::ownership {

/// Whoever works on the shards of a scope. Called by the worker's own thread only, one call at a
/// time. A shard goes acquired → (drain → idle) → lost, and may then be acquired again at a
/// higher epoch.
class Holder {
 public:
  virtual ~Holder() = default;
  virtual void acquired(const spi::OwnedShard& shard, const WorkerId& owner, Timeline timeline) = 0;
  /// Take on nothing new of this shard; it is given away once it is idle.
  virtual void drain(Shard shard) = 0;
  /// Nothing of this shard is running or waits to be settled. Asked of draining shards only.
  [[nodiscard]] virtual bool idle(Shard shard) const = 0;
  /// No longer ours, be it taken from us or given away after a drain: forget it at once, settle
  /// nothing more.
  virtual void lost(Shard shard) = 0;
};

/// How many shards of a scope a worker wants.
enum class Share : std::uint8_t { even, all };

struct ScopeOptions {
  spi::Scope scope;
  std::uint16_t shards = 16;
  Share share = Share::even;
  Holder* holder = nullptr;
};

}  // namespace sagabox::ownership
