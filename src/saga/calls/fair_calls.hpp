#pragma once

#include "saga/calls/caller.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace sagabox::saga {

/// Calls that wait for a thread. Definitions take turns, so that many calls of one do not hold up
/// the others; the calls of each are taken in the order in which they were made. Not thread-safe.
template <class Task>
class FairCalls {
 public:
  void add(const std::string& definition, CallTicket ticket, Task task) {
    if (lanes_[definition].emplace(ticket, std::move(task)).second) ++size_;
  }

  /// The next one; nullopt if none waits.
  std::optional<Task> take() {
    if (lanes_.empty()) return std::nullopt;
    auto lane = lanes_.upper_bound(last_);
    if (lane == lanes_.end()) lane = lanes_.begin();
    last_ = lane->first;
    return take_from(lane, lane->second.begin());
  }

  /// Takes this one out; nullopt if it does not wait.
  std::optional<Task> take(CallTicket ticket) {
    for (auto lane = lanes_.begin(); lane != lanes_.end(); ++lane) {
      const auto at = lane->second.find(ticket);
      if (at != lane->second.end()) return take_from(lane, at);
    }
    return std::nullopt;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  /// Tickets are drawn in the order of calls.
  using Lane = std::map<CallTicket, Task>;
  using Lanes = std::map<std::string, Lane, std::less<>>;

  Task take_from(typename Lanes::iterator lane, typename Lane::iterator at) {
    auto task = std::move(at->second);
    lane->second.erase(at);
    if (lane->second.empty()) lanes_.erase(lane);
    --size_;
    return task;
  }

  Lanes lanes_;
  std::string last_;  ///< definition that was served last
  std::size_t size_ = 0;
};

}  // namespace sagabox::saga
