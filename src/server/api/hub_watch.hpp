#pragma once

#include "server/api/serving.hpp"
#include "wire/readiness.hpp"

#include <mutex>
#include <optional>

namespace sagabox::server {

/// Whether events of the hub get routed: not while its store does not answer, nor while the oldest
/// event that is not routed is old and stays the same. Endpoints that fail are no reason. Safe from
/// any thread.
class HubWatch {
 public:
  HubWatch(ReadyLimits limits, const Clock& clock) : limits_(limits), clock_(clock) {}

  /// What was found at most `look_interval` ago.
  wire::HubReadiness look(const ServedHub& hub);

 private:
  wire::HubReadiness look_now(const ServedHub& hub);

  const ReadyLimits limits_;
  const Clock& clock_;
  std::mutex mutex_;  // of all below; held while the store is asked
  std::optional<BootTime> looked_at_{};
  wire::HubReadiness found_{};
  std::optional<WallTime> oldest_{};  ///< that was not routed at the last look
  BootTime moved_at_{};               ///< when another one was the oldest
};

}  // namespace sagabox::server
