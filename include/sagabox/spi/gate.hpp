#pragma once

#include <sagabox/id.hpp>
#include <sagabox/message.hpp>

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
  /// If true, messages of this class that were read for the first time may be dispatched although
  /// earlier ones wait, because only the earlier ones may be failing. Not called if an earlier
  /// message of the key is known to wait.
  [[nodiscard]] virtual bool samples(ClassId /*id*/) const { return false; }
};

}  // namespace sagabox::spi
