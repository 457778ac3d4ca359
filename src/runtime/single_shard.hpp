#pragma once

#include "ownership/holder.hpp"

#include <sagabox/time.hpp>

#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace sagabox::runtime {

/// The only shard of a scope that one process at a time works on. Two threads meet here: the
/// worker's, which brings and takes the shard, and the one that makes calls in its name.
class SingleShard final : public ownership::Holder {
 public:
  struct Tenure {
    WorkerId owner;
    Epoch epoch{};
    std::uint64_t number = 0;  ///< counts how often the shard was brought here
    friend bool operator==(const Tenure&, const Tenure&) = default;
  };

  /// `live`: whether the worker's lease runs.
  explicit SingleShard(std::function<bool(BootTime)> live) : live_(std::move(live)) {}

  /// In whose name a call may be begun now; nothing: in nobody's.
  [[nodiscard]] std::optional<Tenure> tenure(BootTime now) const {
    const std::scoped_lock lock(mutex_);
    if (!tenure_ || draining_ || !live_(now)) return std::nullopt;
    return tenure_;
  }
  /// The shard is not idle from here to `end_call`. False when it is no longer this tenure.
  [[nodiscard]] bool begin_call(const Tenure& tenure) {
    const std::scoped_lock lock(mutex_);
    if (tenure_ != tenure || draining_) return false;
    calling_ = true;
    return true;
  }
  /// False when the shard has gone meanwhile: the reply is nobody's.
  bool end_call(const Tenure& tenure) {
    const std::scoped_lock lock(mutex_);
    calling_ = false;
    return tenure_ == tenure;
  }
  /// A call found the shard in other hands: nothing more until it is brought again.
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
