#pragma once

#include <sagabox/spi/outbox_store.hpp>

#include <array>
#include <cstddef>
#include <mutex>

namespace sagabox::postgres {

/// The transactions of this process's latest settles. They bring no row that a read could miss, so
/// reads need not wait for them: while one settle follows the other, every read would else begin
/// again below what it has read. Thread-safe.
class OwnSettles {
 public:
  void add(TransactionId id) {
    const std::lock_guard lock(mutex_);
    latest_[next_++ % latest_.size()] = id;
  }

  /// Takes out what is known to be a settle. One that is not known yet stays, which costs a read
  /// more.
  void remove_from(spi::Horizon& horizon) const;

 private:
  mutable std::mutex mutex_;
  /// More than commit during one read.
  std::array<TransactionId, 64> latest_{};
  std::size_t next_ = 0;
};

}  // namespace sagabox::postgres
