#pragma once

#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sagabox::simulation {

enum class What : std::uint8_t {
  process_started,
  process_crashed,
  process_killed,
  process_retired,
  paused,
  clock_jumped,
  outage,
  checkpoint,
  failed_over,
  class_closed,
  class_opened,
  corrupted,
  quiet,
  begun,
  written,
  committed,
  in_doubt,
  rolled_back,
  read,
  read_due,
  read_keys,
  read_applied,
  read_failed,
  settle,
  settle_applied,
  settle_failed,
  ownership_call,
  acquired,
  lost,
  drain,
  handler_began,
  handler_ended,
  operator_moved,
  operator_paused,
  operator_purged,
  operator_job,
  job_advanced,
};

/// One thing that happened.
struct Moment {
  BootTime at{};
  What what{};
  std::uint64_t process = 0;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
};

/// The last moments of a run, and a hash of all of them.
class Trace {
 public:
  void add(const Moment& moment);
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  [[nodiscard]] std::string tail() const;

 private:
  std::vector<Moment> moments_;
  std::size_t next_ = 0;
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

}  // namespace sagabox::simulation
