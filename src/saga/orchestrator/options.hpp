#pragma once

#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>

namespace sagabox::saga {

struct OrchestratorOptions {
  /// In memory at most, beside up to a quarter more that commands have come for. What has no call
  /// and is not due soon is not kept.
  std::uint32_t instances_max = 20'000;
  /// While so many calls run, no saga is started, and none that is due is read.
  std::uint32_t calls_max = 4096;
  std::uint32_t read_rows_max = 1000;
  std::size_t read_bytes_max = std::size_t{8} * 1024 * 1024;
  std::uint32_t batch_sagas_max = 2000;
  std::size_t batch_bytes_max = std::size_t{4} * 1024 * 1024;
  /// What is due within this time stays in memory.
  Duration keep = std::chrono::seconds(5);
  /// Commands of sagas that are not stored wait so long for their start.
  Duration absent_wait = std::chrono::hours(1);
  /// Commands that wait for their start at most; more are refused.
  std::uint32_t absent_max = 10'000;
  /// A shard that goes to another process waits so long for calls that may be repeated there.
  Duration drain = std::chrono::seconds(2);
  Duration poll_interval = std::chrono::milliseconds(100);
  /// How often each shard is asked for sagas that have become due.
  Duration due_interval = std::chrono::seconds(1);
  /// How often all that is due is read again, as a safety net.
  Duration full_pass_interval = std::chrono::seconds(30);
  /// Participants are told to remember a call so long after the saga's deadline, or the call's.
  Duration remember = std::chrono::hours(24 * 30);
  /// What the store refuses is tried again so often.
  Duration parked_interval = std::chrono::minutes(1);
};

}  // namespace sagabox::saga
