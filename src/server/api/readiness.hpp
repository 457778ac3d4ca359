#pragma once

#include "server/api/serving.hpp"
#include "wire/readiness.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace sagabox::server {

/// Records when a message of a table was last delivered. Thread-safe.
class Readiness {
 public:
  Readiness(ReadyLimits limits, const Clock& clock)
      : limits_(limits), clock_(clock), started_(clock.boot_now()) {}

  /// The result, which is at most `look_interval` old.
  wire::TableReadiness look(const ServedTable& table);
  /// Records the result of a write to the table: nullopt, or the failure. There is no other sign of
  /// a store that can be read but not written (its disk is full).
  void write_ended(const std::string& table, std::optional<Code> failure);
  /// Judges the table by these numbers.
  wire::TableReadiness judge(const std::string& table, const spi::TableStats& stats,
                             const OutboxSnapshot& snapshot);

 private:
  struct Progress {
    std::uint64_t delivered = 0;  ///< by this process
    std::uint64_t done = 0;       ///< in the table, by any process
    std::optional<BootTime> last_success{};
  };
  struct Looked {
    BootTime at{};
    wire::TableReadiness found{};
  };

  struct FailedWrite {
    BootTime at{};
    Code code{};
  };

  wire::TableReadiness look_now(const ServedTable& table);
  /// The failure of the last write, if it is recent: without writes there is no sign that they work
  /// again.
  [[nodiscard]] std::optional<Code> failed_write(const std::string& table);

  ReadyLimits limits_;
  const Clock& clock_;
  BootTime started_;
  std::mutex mutex_;
  std::map<std::string, Progress> tables_;
  std::map<std::string, FailedWrite> failed_writes_;
  std::mutex look_mutex_;  // held during a query of a store: other callers wait for its answer
  std::map<std::string, Looked> looked_;
};

}  // namespace sagabox::server
