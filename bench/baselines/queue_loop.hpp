#pragma once

#include <sagabox/message.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sagabox::bench {

using Messages = std::span<const std::shared_ptr<const Message>>;

struct QueueLoop {
  std::string name;
  double messages_per_second = 0;
};

/// What the pipeline of an outbox would be without an outbox: one producer, a bounded queue of
/// 1000, four workers that take one message at a time (a slow handler must not sit on others'
/// work) and call a handler that does nothing, and a collector that marks completions in batches.
/// The faster of a std::deque under a mutex with condition variables and a ring without locks.
QueueLoop best_queue_loop(Messages messages, std::uint32_t repeats);

}  // namespace sagabox::bench
