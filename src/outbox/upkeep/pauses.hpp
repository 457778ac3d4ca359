#pragma once

#include <sagabox/records.hpp>
#include <sagabox/spi/gate.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>

namespace sagabox::outbox {

/// The pauses of operators, as last read from the store, combined with another gate. Everything is
/// paused until the first read. Thread-safe.
class Pauses final : public spi::Gate {
 public:
  /// `beneath` (null: none) outlives it.
  explicit Pauses(const spi::Gate* beneath = nullptr) : beneath_(beneath) {}

  /// Returns true if messages may be dispatched that could not before.
  bool set(std::span<const Pause> pauses);
  [[nodiscard]] bool whole_table() const noexcept { return table_.load(std::memory_order_acquire); }

  /// A paused topic is a class of its own; else the class is that of `beneath`.
  [[nodiscard]] std::optional<spi::ClassId> class_of(const Message& message) const override;
  [[nodiscard]] bool closed(spi::ClassId id) const override;
  [[nodiscard]] bool holds(spi::ClassId id, const Message& message, WallTime since) const override;
  [[nodiscard]] bool samples(spi::ClassId id) const override;

 private:
  [[nodiscard]] static spi::ClassId class_of_topic(std::string_view topic);

  const spi::Gate* beneath_;
  std::atomic<bool> table_{true};
  std::atomic<bool> any_topic_{false};
  mutable std::mutex mutex_;  // protects the two members below
  std::set<std::string, std::less<>> topics_;
  std::set<spi::ClassId> classes_;
};

}  // namespace sagabox::outbox
