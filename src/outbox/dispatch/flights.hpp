#pragma once

#include "core/slab.hpp"
#include "outbox/entry.hpp"

#include <sagabox/delivery.hpp>
#include <sagabox/spi/transport.hpp>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>

namespace sagabox::outbox {

/// One message held by the sink.
struct Flight {
  Entry entry;
  Delivery::Facts facts;
  BootTime started{};
};

/// The messages held by the sink, by ticket. Thread-safe.
class Flights {
 public:
  spi::Ticket add(Flight flight) {
    count_.fetch_add(1);
    const std::scoped_lock lock(mutex_);
    return spi::Ticket{flights_.add(std::move(flight))};
  }

  /// nullopt if it was answered before.
  std::optional<Flight> take(spi::Ticket ticket) {
    const std::scoped_lock lock(mutex_);
    auto* const found = flights_.find(ticket.value);
    if (found == nullptr) return std::nullopt;
    auto flight = std::move(*found);
    flights_.remove(ticket.value);
    return flight;
  }
  /// When this message was handed over; nullopt: the sink does not have it. Looks at all of them.
  [[nodiscard]] std::optional<BootTime> started(Shard shard, Sequence sequence) {
    const std::scoped_lock lock(mutex_);
    std::optional<BootTime> started;
    flights_.for_each([&](std::uint64_t, const Flight& flight) {
      if (flight.entry.shard == shard && flight.entry.sequence == sequence)
        started = flight.started;
    });
    return started;
  }
  /// What `take` gave has been dealt with.
  void landed() { count_.fetch_sub(1); }

  [[nodiscard]] std::size_t count() const { return count_.load(); }

 private:
  std::mutex mutex_;
  Slab<Flight> flights_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace sagabox::outbox
