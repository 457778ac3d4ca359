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

  /// What was found at most `look_interval` ago.
  wire::TableReadiness look(const ServedTable& table);
  /// How a write to the table went: nothing, or why it failed. A store that can be read and takes
  /// no writes (its disk is full) is not seen otherwise.
  void write_ended(const std::string& table, std::optional<Code> failure);
  /// What `look` finds in these figures.
  wire::TableReadiness judge(const std::string& table, const spi::TableStats& stats,
                             const OutboxSnapshot& snapshot);

 private:
  struct Progress {
    std::uint64_t delivered = 0;  ///< by this process
    std::uint64_t done = 0;       ///< in the table, by anybody
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
  /// Of the last write, if it was not long ago: without writes nothing tells that they work again.
  [[nodiscard]] std::optional<Code> failed_write(const std::string& table);

  ReadyLimits limits_;
  const Clock& clock_;
  BootTime started_;
  std::mutex mutex_;
  std::map<std::string, Progress> tables_;
  std::map<std::string, FailedWrite> failed_writes_;
  std::mutex look_mutex_;  // held while a store is asked: others wait for its answer
  std::map<std::string, Looked> looked_;
};

}  // namespace sagabox::server
