#pragma once

#include "server/http/request_watch.hpp"

#include <sagabox/time.hpp>

#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace sagabox::server {

class Session;

/// The open connections. Thread-safe.
class SessionList {
 public:
  explicit SessionList(RequestWatch& watch) : watch_(watch) {}

  void add(const std::shared_ptr<Session>& session) {
    const std::scoped_lock lock(mutex_);
    sessions_.emplace(session.get(), session);
    watch_.connections(sessions_.size());
  }
  void remove(Session* session) {
    const std::scoped_lock lock(mutex_);
    sessions_.erase(session);
    watch_.connections(sessions_.size());
    changed_.notify_all();
  }
  [[nodiscard]] std::size_t count() const {
    const std::scoped_lock lock(mutex_);
    return sessions_.size();
  }
  [[nodiscard]] std::vector<std::shared_ptr<Session>> all() const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::shared_ptr<Session>> found;
    for (const auto& [key, session] : sessions_) {
      if (auto alive = session.lock()) found.push_back(std::move(alive));
    }
    return found;
  }
  /// Null if none has been idle since then.
  [[nodiscard]] std::shared_ptr<Session> longest_idle(BootTime since) const;
  /// Returns false if some were open all the time.
  bool wait_until_empty(Duration limit) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return sessions_.empty(); });
  }
  void wait_until_empty() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return sessions_.empty(); });
  }

 private:
  RequestWatch& watch_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Session*, std::weak_ptr<Session>> sessions_;
};

}  // namespace sagabox::server
