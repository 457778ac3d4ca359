#pragma once

#include <sagabox/records.hpp>

#include <cstdint>
#include <vector>

namespace sagabox::memory {

/// What operators asked of one table.
struct TableControls {
  std::vector<Pause> pauses;  // by topic, the table's own first
  std::uint64_t taken = 0;
  std::vector<ReplayJob> jobs;  // job 1 first

  [[nodiscard]] ReplayJob* find(ReplayJobId job) noexcept {
    return job.value == 0 || job.value > jobs.size() ? nullptr : &jobs[job.value - 1];
  }
};

}  // namespace sagabox::memory
