#pragma once

#include <sagabox/saga_record.hpp>
#include <sagabox/time.hpp>

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

namespace sagabox::saga {

/// Callers in this process who wait for what becomes of their command.
class Waiters {
 public:
  void expect(const CommandId& id) {
    const std::scoped_lock lock(mutex_);
    results_.try_emplace(id);
  }
  void told(const SagaCommandResult& result) {
    const std::scoped_lock lock(mutex_);
    const auto at = results_.find(result.id);
    if (at == results_.end()) return;
    at->second = result;
    changed_.notify_all();
  }
  /// nullopt: nothing came within `timeout`.
  std::optional<SagaCommandResult> wait(const CommandId& id, Duration timeout) {
    std::unique_lock lock(mutex_);
    auto& result = results_[id];
    changed_.wait_for(lock, timeout, [&] { return result.has_value(); });
    return result;
  }
  void forget(const CommandId& id) {
    const std::scoped_lock lock(mutex_);
    results_.erase(id);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<CommandId, std::optional<SagaCommandResult>> results_;
};

}  // namespace sagabox::saga
