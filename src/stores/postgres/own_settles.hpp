#pragma once

#include <sagabox/spi/outbox_store.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace sagabox::postgres {

/// The transactions of this process's latest settles. They bring no row that a read could miss, so
/// reads need not wait for them: while one settle follows the other, every read would else begin
/// again below what it has read. Thread-safe.
class OwnSettles {
 public:
  /// `last_connection`: the number of the last one made so far.
  void add(TransactionId id, std::uint64_t last_connection) {
    const std::lock_guard lock(mutex_);
    latest_[next_++ % latest_.size()] = {id, last_connection};
  }

  /// Takes out what is known to be a settle. One that is not known yet stays, which costs a read
  /// more. A server that crashes gives numbers out again that it had not written down: only a
  /// connection that is older than the settle, and lives, proves that it did not.
  void remove_from(spi::Horizon& horizon, std::uint64_t connection) const;

 private:
  mutable std::mutex mutex_;
  /// More than commit during one read.
  struct Settle {
    TransactionId id{};
    std::uint64_t last_connection = 0;
  };
  std::array<Settle, 64> latest_{};
  std::size_t next_ = 0;
};

}  // namespace sagabox::postgres
