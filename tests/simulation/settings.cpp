#include "simulation/settings.hpp"

#include <algorithm>
#include <initializer_list>

namespace sagabox::simulation {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

class Draw {
 public:
  explicit Draw(Random& random) : random_(random) {}

  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random_.below(high - low + 1));
  }
  bool chance(std::uint32_t percent) { return random_.below(100) < percent; }
  milliseconds millis(std::uint32_t low, std::uint32_t high) {
    return milliseconds(between(low, high));
  }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[random_.below(values.size())];
  }

 private:
  Random& random_;
};

OutboxOptions draw_options(Draw& draw) {
  OutboxOptions options;
  options.table = "orders";
  options.workers = draw.between(1, 4);
  options.spare_workers_max = draw.between(0, 2);
  options.hot_capacity = draw.between(2, draw.chance(50) ? 6 : 50);
  options.cold_capacity = draw.between(2, draw.chance(50) ? 8 : 50);
  options.read_ahead = options.cold_capacity % 3;
  options.queue_bytes_max = draw.chance(30) ? draw.between(2'000, 20'000) : 1'000'000;
  options.unsettled_max = draw.between(2, draw.chance(50) ? 8 : 60);
  options.settle_rows_max = draw.between(1, 20);
  options.settle_delay_max = draw.millis(0, 10);
  options.poll_interval = draw.millis(10, 150);
  options.skip_recent = draw.chance(20) ? draw.millis(1, 50) : milliseconds(0);
  options.lease = draw.millis(400, 2'000);
  options.dispatch_timeout = draw.millis(50, 500);
  options.drain_timeout = draw.millis(100, 1'000);
  options.blocked_keys_max = draw.chance(30) ? draw.between(1, 4) : 100'000;
  options.head_policy =
      draw.chance(60) ? HeadPolicy::block : draw.one_of({HeadPolicy::skip, HeadPolicy::park});
  options.control_interval = draw.millis(20, 200);
  options.retention = draw.chance(50) ? Duration{} : Duration{hours(1)};
  options.retry.attempts_max = draw.between(2, 6);
  options.retry.backoff_min = draw.millis(5, 100);
  options.retry.backoff_max = milliseconds(500);
  return options;
}

}  // namespace

Settings draw_settings(std::uint64_t seed, Variant variant) {
  const auto random = seeded_random(seed * 2 + 1);
  Draw draw(*random);
  Settings settings;
  settings.seed = seed;
  settings.variant = variant;
  settings.processes = draw.between(1, 4);
  settings.producers = draw.between(2, 8);
  settings.messages_max = draw.between(40, 250);
  settings.keys = draw.between(1, 12);
  settings.fault_phase = draw.millis(3'000, 10'000);
  settings.late_commits = draw.chance(60)   ? spi::LateCommits::visible
                          : draw.chance(50) ? spi::LateCommits::window
                                            : spi::LateCommits::none;
  settings.late_window = draw.millis(100, 1'000);
  settings.shards = static_cast<std::uint16_t>(draw.one_of({1, 2, 4, 5, 16}));
  settings.options = draw_options(draw);
  settings.apart_max = 10 + settings.options.cold_capacity;
  // As little as there can be: with a few dozen keys all of it is a filter.
  if (settings.options.cold_capacity % 2 == 0) {
    settings.key_memory = {.passed_bytes_max = 1, .overflow_bytes_max = 1};
  }
  if (variant == Variant::keys_overtake_gates) settings.key_memory.passed_bytes_max = 0;
  // A transaction may outlast the window: then only the safety pass finds its rows. Where late
  // commits are visible or cannot be, nothing depends on the safety pass.
  settings.safety_interval_min =
      settings.late_commits == spi::LateCommits::window || draw.chance(30)
          ? Duration{draw.millis(200, 5'000)}
          : Duration{hours(1)};
  // A pass that was slow among the faults puts off the next one by twenty times its length.
  if (settings.late_commits == spi::LateCommits::window) {
    settings.quiet_phase += 25 * settings.fault_phase;
  }
  settings.call_faults = draw.one_of({0U, 30U, 100U, 300U, 800U});
  settings.killers = draw.chance(35) ? draw.between(50, 300) : 0;
  settings.corruptions = draw.chance(20) ? 100 : 0;
  const auto every = [&](std::uint32_t percent, std::uint32_t low, std::uint32_t high) {
    return draw.chance(percent) ? Duration{draw.millis(low, high)} : Duration{};
  };
  settings.crash_every = every(60, 800, 5'000);
  settings.pause_every = every(60, 300, 3'000);
  settings.stop_every = every(40, 1'000, 5'000);
  settings.jump_every = every(40, 300, 3'000);
  settings.outage_every = every(25, 1'500, 5'000);
  settings.fail_over_every = every(25, 1'500, 5'000);
  settings.gate_every = every(50, 300, 2'000);
  settings.operator_every = every(70, 50, 500);
  if (draw.chance(30)) settings.purge_done = draw.millis(500, 5'000);
  settings.database_jumps = draw.chance(15);
  if (settings.database_jumps && settings.jump_every == Duration{}) {
    settings.jump_every = draw.millis(300, 3'000);
  }
  // The grace time goes by the wall clocks of processes.
  const bool waits = settings.jump_every == Duration{};
  settings.options.unroutable = waits ? Unroutable::wait : Unroutable::dead;
  settings.options.unroutable_grace = 4 * settings.options.control_interval;
  settings.call_time_max = draw.chance(30) ? draw.millis(10, 80) : milliseconds(3);
  settings.refusals = draw.chance(25) ? draw.between(100, 2'000) : 0;
  if (draw.chance(50)) settings.stays_closed = draw.one_of({0U, 2U});
  // Not to be found by luck.
  if (variant == Variant::reading_without_late_commits || variant == Variant::replay_in_place) {
    settings.safety_interval_min = hours(1);
  }
  return settings;
}

}  // namespace sagabox::simulation
