#pragma once

#include <sagabox/id.hpp>
#include <sagabox/message.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <optional>

namespace sagabox::spi {

/// A group of messages that can be held back together: a key whose head fails, a destination that
/// is down.
using ClassId = Number<struct ClassIdTag, std::uint64_t>;

/// Tells which classes of messages cannot be dispatched now. Thread-safe. When a class opens again,
/// the relay is notified and dispatches the messages that it skipped.
class Gate {
 public:
  virtual ~Gate() = default;
  /// The class of this message; nullopt: it can always be dispatched.
  [[nodiscard]] virtual std::optional<ClassId> class_of(const Message& message) const = 0;
  [[nodiscard]] virtual bool closed(ClassId id) const = 0;
  /// Whether a message of this class, which could have gone since then, cannot go now. A message
  /// may have waited long enough although its class is closed.
  [[nodiscard]] virtual bool holds(ClassId id, const Message& /*message*/,
                                   WallTime /*since*/) const {
    return closed(id);
  }
  /// Messages of this class that no read has shown before may go although earlier ones wait: what
  /// is not taken may be only those. Not asked where an earlier message of the key is known to
  /// wait.
  [[nodiscard]] virtual bool samples(ClassId /*id*/) const { return false; }
};

}  // namespace sagabox::spi
