#pragma once

#include "core/commit_signal.hpp"
#include "stores/sqlite/writer.hpp"

#include <sagabox/message.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace sagabox::sqlite {

/// Wakes readers: at once after this store's commits, and by polling after commits of others.
/// Thread-safe.
class Wake {
 public:
  Wake(Writer& writer, Duration interval) : writer_(writer), interval_(interval) {}

  /// `name` is that of an outbox or of another feed.
  void wait(std::string_view name, Duration timeout);
  void wait(const TableName& table, Duration timeout) { wait(table.str(), timeout); }
  void notify(std::string_view name) { signal(name).notify(); }
  void notify(const TableName& table) { notify(table.str()); }

 private:
  CommitSignal& signal(std::string_view name);
  /// Rings for every reader if others have written since the last look.
  void look();

  Writer& writer_;
  const Duration interval_;
  std::mutex mutex_;
  std::int64_t version_ = -1;
  std::map<std::string, std::unique_ptr<CommitSignal>, std::less<>> signals_;
};

}  // namespace sagabox::sqlite
