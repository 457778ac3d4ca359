#pragma once

#include "core/commit_bell.hpp"

#include <sagabox/message.hpp>
#include <sagabox/time.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace sagabox::postgres {

/// Wakes readers of this process; commits of other processes are found by polling. Thread-safe.
class Wake {
 public:
  void wait(const TableName& table, Duration timeout) { bell(table).wait(timeout); }
  void ring(const TableName& table) { bell(table).ring(); }

 private:
  CommitBell& bell(const TableName& table);

  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<CommitBell>, std::less<>> bells_;
};

}  // namespace sagabox::postgres
