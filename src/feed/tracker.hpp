#pragma once

#include <sagabox/id.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace sagabox::feed {

/// Numbers the reads of a shard in the order they began.
using ReadTicket = Number<struct ReadTicketTag, std::uint64_t>;

/// Which rows of one shard this process works on. Not thread-safe: its shard is locked.
///
/// A settled row stays known until every read that began before its settle committed has been
/// looked at: such a read still shows the row, which would be taken again.
class Tracker {
 public:
  virtual ~Tracker() = default;

  virtual ReadTicket read_begun() = 0;
  virtual void read_seen(ReadTicket ticket) = 0;

  /// Takes a row that a read showed. False: it is in hand already, or was settled meanwhile.
  /// A reservation is taken over: what a read shows has committed.
  virtual bool admit(Sequence sequence) = 0;
  /// Its settle has committed.
  virtual void settled(Sequence sequence) = 0;
  /// Released unsettled; the next read may take it again.
  virtual void forget(Sequence sequence) = 0;

  /// Keeps a place for a row that is not committed yet.
  virtual void reserve(Sequence sequence, BootTime expires) = 0;
  /// Takes the row if its reservation is still there.
  virtual bool claim(Sequence sequence) = 0;
  virtual void cancel(Sequence sequence) = 0;
  virtual void expire_reservations(BootTime now) = 0;

  virtual void clear() = 0;

  /// Taken and not yet settled.
  [[nodiscard]] virtual bool in_hand(Sequence sequence) const = 0;
  /// Entries of all kinds, settled ones included.
  [[nodiscard]] virtual std::size_t size() const = 0;
};

using TrackerFactory = std::function<std::unique_ptr<Tracker>()>;

std::unique_ptr<Tracker> make_tracker();

}  // namespace sagabox::feed
