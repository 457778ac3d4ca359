#pragma once

#include "core/commit_bell.hpp"
#include "stores/sqlite/writer.hpp"

#include <sagabox/message.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace sagabox::sqlite {

/// Wakes readers: at once after our own commits, and by looking every now and then whether others
/// have written. Thread-safe.
class Wake {
 public:
  Wake(Writer& writer, Duration interval) : writer_(writer), interval_(interval) {}

  void wait(const TableName& table, Duration timeout);
  void ring(const TableName& table) { bell(table).ring(); }

 private:
  CommitBell& bell(const TableName& table);
  /// Rings for every outbox when others have written since the last look.
  void look();

  Writer& writer_;
  const Duration interval_;
  std::mutex mutex_;
  std::int64_t version_ = -1;
  std::map<std::string, std::unique_ptr<CommitBell>, std::less<>> bells_;
};

}  // namespace sagabox::sqlite
