#pragma once

#include "server/api/serving.hpp"
#include "wire/readiness.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace sagabox::server {

/// Remembers when a table was last seen to get something delivered. Safe from any thread.
class Readiness {
 public:
  Readiness(ReadyLimits limits, const Clock& clock)
      : limits_(limits), clock_(clock), started_(clock.boot_now()) {}

  wire::TableReadiness look(const ServedTable& table);
  /// What `look` finds in these figures.
  wire::TableReadiness judge(const std::string& table, const spi::TableStats& stats,
                             const OutboxSnapshot& snapshot);

 private:
  struct Progress {
    std::uint64_t delivered = 0;  ///< by this process
    std::uint64_t done = 0;       ///< in the table, by anybody
    std::optional<BootTime> last_success{};
  };

  ReadyLimits limits_;
  const Clock& clock_;
  BootTime started_;
  std::mutex mutex_;
  std::map<std::string, Progress> tables_;
};

}  // namespace sagabox::server
