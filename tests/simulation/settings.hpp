#pragma once

#include "outbox/read/shard_state.hpp"

#include <sagabox/outbox.hpp>
#include <sagabox/random.hpp>
#include <sagabox/spi/outbox_store.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <optional>

namespace sagabox::simulation {

inline constexpr std::uint32_t topic_count = 4;

/// Which part of the engine a test has put something broken in place of.
enum class Variant : std::uint8_t {
  none,
  tracker_without_stale_read_rule,
  store_without_fence,
  reading_without_late_commits,
  no_cautious_mode,
  replay_in_place,
  purge_takes_pending,
  job_cursor_apart,
  keys_overtake_gates,
  refused_rows_stop_others,
  closed_gate_stops_reading,
};

/// Everything about a run that is drawn before it begins.
struct Settings {
  std::uint64_t seed = 0;
  Variant variant = Variant::none;

  std::uint32_t processes = 2;
  std::uint32_t producers = 4;
  std::uint32_t messages_max = 200;
  std::uint32_t keys = 8;
  Duration fault_phase = std::chrono::seconds(8);
  /// From the end of the faults until everything must have settled. Where a class stays closed, the
  /// others have so long before it opens.
  Duration quiet_phase = std::chrono::seconds(120);

  spi::LateCommits late_commits = spi::LateCommits::visible;
  Duration late_window = std::chrono::seconds(1);
  std::uint16_t shards = 4;
  OutboxOptions options{};
  Duration safety_interval_min = std::chrono::seconds(30);
  std::uint64_t apart_max = 0;  ///< see `outbox::Shares`
  outbox::KeyMemory key_memory{};

  /// Chances, in 10,000.
  std::uint32_t call_faults = 0;
  std::uint32_t killers = 0;
  std::uint32_t corruptions = 0;
  std::uint32_t refusals = 0;  ///< of messages whose result the store refuses for good
  /// Mean time between, a process or the whole; 0: never.
  Duration crash_every{};
  Duration pause_every{};
  Duration stop_every{};
  Duration jump_every{};
  Duration outage_every{};
  Duration fail_over_every{};
  Duration gate_every{};
  Duration operator_every{};
  std::optional<Duration> purge_done{};
  /// The topic whose class stays closed after the faults until all other messages have settled.
  std::optional<std::uint32_t> stays_closed{};
  /// Written while it does.
  std::uint32_t messages_beside = 20;
  bool database_jumps = false;
  /// Of a call to the store, now and then much longer.
  Duration call_time_max = std::chrono::milliseconds(3);
};

Settings draw_settings(std::uint64_t seed, Variant variant);

}  // namespace sagabox::simulation
