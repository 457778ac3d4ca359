#pragma once

#include <sagabox/id.hpp>
#include <sagabox/message.hpp>
#include <sagabox/spi/outbox_store.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <memory>

namespace sagabox::outbox {

struct Route;

/// Which queue a message came by.
enum class Source : std::uint8_t { hot, cold };

/// One message in this process's hands, from intake to settle.
struct Entry {
  std::shared_ptr<const Message> message;
  /// Where it goes; null where nobody looked yet, or nobody listens.
  const Route* route = nullptr;
  Sequence sequence{};
  WallTime written_at{};
  /// When it was written, or later became due.
  WallTime available_at{};
  /// Spent before this attempt.
  std::uint32_t attempts = 0;
  TargetsDone targets_done{};
  /// The time this shard was in our hands; entries of an earlier time are void.
  std::uint32_t tenure = 0;
  /// How often keys that wait had been checked from outside when it was read.
  std::uint32_t key_checks = 0;
  Shard shard{};
  Source source = Source::cold;
  /// The attempt is written before the dispatch: it may kill the process.
  bool cautious = false;
  /// By an operator, at least once.
  bool replayed = false;
  /// Read from the waiting lane: read again by time, not by sequence.
  bool was_waiting = false;
  /// It goes before earlier messages of its class, see spi::Gate::samples.
  bool sample = false;
  /// It waited there because it had failed.
  bool was_retrying = false;
  /// Its key waited for it.
  bool was_blocking = false;
};

}  // namespace sagabox::outbox
