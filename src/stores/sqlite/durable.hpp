#pragma once

#include "stores/sqlite/writer.hpp"

#include <sagabox/message.hpp>

#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace sagabox::sqlite {

/// Up to which sequence an outbox is known to be on the disk. A commit is seen by readers a moment
/// before it is there, and must not be delivered in that moment: a power cut would take it back.
/// Sequences are in the order of the commits, so one number says it. Thread-safe.
class Durable {
 public:
  explicit Durable(Writer& writer) : writer_(writer) {}

  /// What was written up to here has been synced.
  void reached(const TableName& table, Sequence last);
  /// Returns when everything up to here is on the disk.
  Status require(const TableName& table, Sequence last);

 private:
  Writer& writer_;
  std::mutex mutex_;
  std::map<std::string, Sequence, std::less<>> last_;
};

}  // namespace sagabox::sqlite
