#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::simulation {

/// Everything that goes wrong in a run, and every rule that is checked. Each must have been
/// exercised at least once over a run of many seeds.
enum class Event : std::uint8_t {
  // faults
  crash,
  crash_during_handler,
  crash_during_settle,
  crash_between_commit_and_word,
  killed_by_message,
  killed_by_message_cautious,
  pause,
  pause_past_lease,
  graceful_stop,
  drain_limit_reached,
  wall_clock_jump,
  database_clock_jump,
  database_outage,
  fail_over,
  fail_over_lost_message,
  fail_over_restored_row,
  refused,
  lost_before,
  lost_after,
  settled_in_part,
  result_refused,
  quarantined_instead,
  result_held_back,
  commit_in_doubt,
  same_id_again,
  late_commit,
  rollback,
  stale_read,
  corrupted_row,
  handler_threw,
  handler_asked_retry,
  handler_asked_later,
  handler_rejected,
  handler_slow,
  handler_past_deadline,
  unroutable,
  hot_queue_full,
  cold_queue_full,
  places_exhausted,
  class_closed,
  class_stays_closed,
  lease_lost,
  hot_delivery,
  attempt_taken_back,
  // operators
  replayed,
  quarantined,
  released,
  topic_paused,
  table_paused,
  purged,
  job_started,
  job_stopped,
  job_resumed,
  replayed_by_job,
  pulled_and_run,
  // rules
  delivered_or_dead,
  rolled_back_never_delivered,
  start_is_committed,
  start_is_pending,
  order_of_key,
  order_of_first_deliveries,
  starter_holds_shard,
  one_of_message_in_process,
  one_of_key_in_process,
  one_of_key_across_processes,
  stale_fence_changed_nothing,
  repeat_has_cause,
  attempts_bounded,
  hand_over_spends_nothing,
  killer_died,
  killer_bounded,
  innocent_survived,
  innocent_beside_killer_once,
  closed_class_kept_back,
  closed_class_delays_no_other,
  deferred_class_resumed,
  queue_bounds,
  unsettled_bound,
  tracker_bound,
  key_memory_bound,
  everything_settled,
  nothing_left_in_memory,
  business_rows_match,
  model_matches_store,
  move_as_expected,
  pause_as_expected,
  paused_kept_back,
  purge_took_what_was_asked,
  job_counts,
  job_replays_all,
  audit_holds,
  death_is_audited,
  counts_add_up,
  no_strays,
};
inline constexpr std::size_t event_count = static_cast<std::size_t>(Event::no_strays) + 1;
inline constexpr Event first_rule = Event::delivered_or_dead;

std::string_view name_of(Event event);

/// How often each fault happened and each rule was compared.
class Statistics {
 public:
  void count(Event event, std::uint64_t times = 1) {
    counts_[static_cast<std::size_t>(event)] += times;
  }
  [[nodiscard]] std::uint64_t of(Event event) const {
    return counts_[static_cast<std::size_t>(event)];
  }
  void add(const Statistics& other);
  [[nodiscard]] std::vector<Event> never() const;
  [[nodiscard]] std::string table() const;

 private:
  std::array<std::uint64_t, event_count> counts_{};
};

}  // namespace sagabox::simulation
