#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace sagabox::server {

/// Bounds the memory for bodies of all requests together. Thread-safe.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t bytes_max) : free_(bytes_max) {}
  BodyBudget(const BodyBudget&) = delete;
  BodyBudget& operator=(const BodyBudget&) = delete;

  /// The share of one request, which its destructor returns.
  class Hold {
   public:
    Hold() = default;
    explicit Hold(BodyBudget& budget) : budget_(&budget) {}
    Hold(Hold&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Hold& operator=(Hold&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Hold() {
      if (budget_ != nullptr) budget_->free_ += bytes_;
    }

    /// Returns false if there is not enough free; the share is unchanged then.
    [[nodiscard]] bool grow_to(std::size_t bytes) {
      if (bytes <= bytes_) return true;
      if (budget_ == nullptr || !budget_->take(bytes - bytes_)) return false;
      bytes_ = bytes;
      return true;
    }

   private:
    BodyBudget* budget_ = nullptr;
    std::size_t bytes_ = 0;
  };

  [[nodiscard]] std::size_t free() const noexcept { return free_; }

 private:
  bool take(std::size_t bytes) {
    auto free = free_.load();
    while (free >= bytes) {
      if (free_.compare_exchange_weak(free, free - bytes)) return true;
    }
    return false;
  }

  std::atomic<std::size_t> free_;
};

}  // namespace sagabox::server
