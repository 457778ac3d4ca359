#pragma once

#include <sagabox/id.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace sagabox::feed {

/// Numbers the reads of a shard in the order of their start.
using ReadTicket = Number<struct ReadTicketTag, std::uint64_t>;

/// Tracks the rows of one shard that this process handles. Not thread-safe: the caller locks the
/// shard.
///
/// A settled row stays known until every read that began before its settle committed has been
/// processed: such a read may still return the row, and it would be taken again.
class Tracker {
 public:
  virtual ~Tracker() = default;

  virtual ReadTicket read_begun() = 0;
  virtual void read_seen(ReadTicket ticket) = 0;

  /// Takes a row that a read returned. Returns false if it is in hand already, or was settled in
  /// the meantime. A reservation is converted, because rows that a read returns have committed.
  virtual bool admit(Sequence sequence) = 0;
  /// Its settle has committed.
  virtual void settled(Sequence sequence) = 0;
  /// The row was released without a settle; the next read may take it again.
  virtual void forget(Sequence sequence) = 0;

  /// Reserves a row that is not committed yet.
  virtual void reserve(Sequence sequence, BootTime expires) = 0;
  /// Takes the row if its reservation still exists; returns whether it did.
  virtual bool claim(Sequence sequence) = 0;
  virtual void cancel(Sequence sequence) = 0;
  virtual void expire_reservations(BootTime now) = 0;

  virtual void clear() = 0;

  /// Taken and not yet settled.
  [[nodiscard]] virtual bool in_hand(Sequence sequence) const = 0;
  /// The number of entries of all kinds, including settled ones.
  [[nodiscard]] virtual std::size_t size() const = 0;
};

using TrackerFactory = std::function<std::unique_ptr<Tracker>()>;

std::unique_ptr<Tracker> make_tracker();

}  // namespace sagabox::feed
