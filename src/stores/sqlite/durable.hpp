#pragma once

#include "stores/sqlite/writer.hpp"

#include <sagabox/message.hpp>

#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace sagabox::sqlite {

/// The sequence up to which an outbox is known to be on the disk. Readers see a commit a moment
/// before it is there, and it must not be delivered yet: a power failure would undo it. Sequences
/// have the order of the commits, so one number is enough. Thread-safe.
class Durable {
 public:
  explicit Durable(Writer& writer) : writer_(writer) {}

  /// Everything up to `last` has been synced.
  void reached(const TableName& table, Sequence last);
  /// Waits until everything up to `last` is on the disk.
  Status require(const TableName& table, Sequence last);

 private:
  Writer& writer_;
  std::mutex mutex_;
  std::map<std::string, Sequence, std::less<>> last_;
};

}  // namespace sagabox::sqlite
