#pragma once

#include <sagabox/records.hpp>

#include <cstdint>
#include <vector>

namespace sagabox::memory {

/// Pauses and replay jobs of one table.
struct TableControls {
  std::vector<Pause> pauses;  // ordered by topic; the pause of the whole table is first
  std::uint64_t taken = 0;
  std::vector<ReplayJob> jobs;  // ordered by number, from job 1

  [[nodiscard]] ReplayJob* find(ReplayJobId job) noexcept {
    return job.value == 0 || job.value > jobs.size() ? nullptr : &jobs[job.value - 1];
  }
};

}  // namespace sagabox::memory
