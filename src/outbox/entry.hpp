#pragma once

#include <sagabox/id.hpp>
#include <sagabox/message.hpp>
#include <sagabox/spi/outbox_store.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <memory>

namespace sagabox::outbox {

struct Route;

/// The queue that a message came through.
enum class Source : std::uint8_t { hot, cold };

/// One message in this process, from intake to settle.
struct Entry {
  std::shared_ptr<const Message> message;
  /// Its route; null if not looked up yet, or if no listener or sink takes it.
  const Route* route = nullptr;
  Sequence sequence{};
  WallTime written_at{};
  /// When it was written, or later became due.
  WallTime available_at{};
  /// Spent before this attempt.
  std::uint32_t attempts = 0;
  TargetsDone targets_done{};
  /// The period of ownership of the shard; entries of an earlier tenure are void.
  std::uint32_t tenure = 0;
  /// The number of checks of blocked keys that had begun when it was read.
  std::uint32_t key_checks = 0;
  Shard shard{};
  Source source = Source::cold;
  /// The attempt is stored before the dispatch, because the message may crash the process.
  bool cautious = false;
  /// It was replayed by an operator at least once.
  bool replayed = false;
  /// It was read from the waiting lane, so it would be read again by time, not by sequence.
  bool was_waiting = false;
  /// It is dispatched before earlier messages of its class, see spi::Gate::samples.
  bool sample = false;
  /// It was in the waiting lane because an attempt had failed.
  bool was_retrying = false;
  /// Its key was blocked by it.
  bool was_blocking = false;
};

}  // namespace sagabox::outbox
