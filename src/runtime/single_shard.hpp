#pragma once

#include "ownership/holder.hpp"

#include <sagabox/time.hpp>

#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace sagabox::runtime {

/// The holder of a scope with a single shard, which one process at a time works on. Used by two
/// threads: the worker's, which acquires and removes the shard, and the one that calls the store on
/// its behalf.
class SingleShard final : public ownership::Holder {
 public:
  struct Tenure {
    WorkerId owner;
    Epoch epoch{};
    std::uint64_t number = 0;  ///< counts how often the shard was acquired
    friend bool operator==(const Tenure&, const Tenure&) = default;
  };

  /// `live`: whether the worker's lease is valid.
  explicit SingleShard(std::function<bool(BootTime)> live) : live_(std::move(live)) {}

  /// The tenure under which a call may begin now; nullopt if none may.
  [[nodiscard]] std::optional<Tenure> tenure(BootTime now) const {
    const std::scoped_lock lock(mutex_);
    if (!tenure_ || draining_ || !live_(now)) return std::nullopt;
    return tenure_;
  }
  /// The shard is not idle from here to `end_call`. Returns false if the tenure has ended.
  [[nodiscard]] bool begin_call(const Tenure& tenure) {
    const std::scoped_lock lock(mutex_);
    if (tenure_ != tenure || draining_) return false;
    calling_ = true;
    return true;
  }
  /// Returns false if the tenure has ended in the meantime: the reply must not be used.
  bool end_call(const Tenure& tenure) {
    const std::scoped_lock lock(mutex_);
    calling_ = false;
    return tenure_ == tenure;
  }
  /// A call found that the shard has another owner or epoch: no calls until it is acquired again.
  void broken(const Tenure& tenure) {
    const std::scoped_lock lock(mutex_);
    if (tenure_ == tenure) tenure_.reset();
  }

  void acquired(const spi::OwnedShard& shard, const WorkerId& owner, Timeline) override {
    const std::scoped_lock lock(mutex_);
    tenure_ = Tenure{.owner = owner, .epoch = shard.epoch, .number = ++tenures_};
    draining_ = false;
  }
  void drain(Shard) override {
    const std::scoped_lock lock(mutex_);
    draining_ = true;
  }
  [[nodiscard]] bool idle(Shard) const override {
    const std::scoped_lock lock(mutex_);
    return !calling_;
  }
  void lost(Shard) override {
    const std::scoped_lock lock(mutex_);
    tenure_.reset();
  }

 private:
  std::function<bool(BootTime)> live_;
  mutable std::mutex mutex_;
  std::optional<Tenure> tenure_;
  std::uint64_t tenures_ = 0;
  bool draining_ = false;
  bool calling_ = false;
};

}  // namespace sagabox::runtime
