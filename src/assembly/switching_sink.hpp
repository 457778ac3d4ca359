#pragma once

#include <sagabox/router.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace sagabox::assembly {

/// A router that can be replaced by another one while outboxes use it. Messages that arrive
/// meanwhile are held until everything in flight at the old one has its answer, so that none
/// overtakes another.
class SwitchingSink final : public spi::Sink {
 public:
  explicit SwitchingSink(std::shared_ptr<Router> router) : current_(std::move(router)) {}

  /// Returns when `next` has taken over, that is, when nothing is in flight at the old one: at most
  /// the timeout of a send.
  void change(std::shared_ptr<Router> next);
  [[nodiscard]] std::shared_ptr<Router> router() const;
  /// How many wait for a change to end.
  [[nodiscard]] std::size_t held() const;

  [[nodiscard]] std::optional<spi::ClassId> class_of(const Message& message) const override;
  [[nodiscard]] bool closed(spi::ClassId id) const override;
  [[nodiscard]] bool samples(spi::ClassId id) const override;
  [[nodiscard]] bool takes(const Message& message) const override;
  [[nodiscard]] std::uint64_t routes_version() const override { return changes_.load(); }
  [[nodiscard]] std::uint32_t attempts_max(std::uint32_t of_table) const override;
  void join(spi::DispatchResults& results) override;
  void deliver(std::span<spi::Dispatch> dispatches, spi::DispatchResults& results) override;
  void recall(spi::DispatchResults& results, Shard shard) override;
  void leave(spi::DispatchResults& results) override;

 private:
  struct Held {
    spi::Dispatch dispatch;
    spi::DispatchResults* results;
  };
  /// Returns all held messages. If there are none, returns an empty list, and none is held from now
  /// on.
  std::vector<Held> take_held();
  void wait_until_outside();
  void outside();

  std::mutex membership_;  // held during a change, so that members do not change
  std::vector<spi::DispatchResults*> members_;

  mutable std::shared_mutex mutex_;  // guards the three members below
  std::shared_ptr<Router> current_;
  bool changing_ = false;
  std::atomic<std::uint64_t> changes_{0};
  std::vector<Held> held_;

  std::mutex inside_mutex_;  // guards inside_
  std::size_t inside_ = 0;   // calls of `deliver` that use the current router
  std::condition_variable went_outside_;
};

}  // namespace sagabox::assembly
