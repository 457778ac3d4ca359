#include "outbox/upkeep/keeper.hpp"

#include <algorithm>

namespace sagabox::outbox {
namespace {

using std::chrono::milliseconds;

constexpr Duration keeper_wait_min = milliseconds(1);
constexpr Duration keeper_wait_max = milliseconds(100);
constexpr Duration keeper_leave_timeout = milliseconds(2000);

}  // namespace

void Keeper::start() {
  lease_ = std::thread([this] { keep_lease(); });
  upkeep_thread_ = std::thread([this] { keep_up(); });
}

bool Keeper::worker_stopped_by(BootTime limit) {
  while (!worker_.stopped() && clock_.boot_now() < limit) {
    bell_.wait_for(keeper_wait_min, [this] { return worker_.stopped(); });
  }
  return worker_.stopped();
}

void Keeper::stop(Duration drain_timeout) {
  worker_.begin_stop();
  ring();
  const auto limit = clock_.boot_now() + drain_timeout;
  if (!worker_stopped_by(limit)) {
    worker_.abandon_remaining();
    ring();
    (void)worker_stopped_by(limit + keeper_leave_timeout);
  }
  end();
}

void Keeper::end() {
  ending_.store(true);
  bell_.ring_all();
  if (lease_.joinable()) lease_.join();
  if (upkeep_thread_.joinable()) upkeep_thread_.join();
}

bool Keeper::relay_hangs(BootTime now) const noexcept {
  return std::ranges::any_of(since_, [&](const std::atomic<BootTime>& since) {
    const auto begun = since.load(std::memory_order_relaxed);
    return begun < now && now - begun > step_max_;
  });
}

void Keeper::keep_lease() {
  while (!ending()) {
    // One that stops gives its shards back, whatever hangs.
    if (!worker_.stopping() && relay_hangs(clock_.boot_now())) {
      bell_.wait_for(keeper_wait_max, [this] { return ending(); });
      continue;
    }
    if (worker_.step()) continue;
    const auto wait = worker_.next_due() - clock_.boot_now();
    bell_.wait_for(std::clamp(wait, keeper_wait_min, keeper_wait_max), [this] { return ending(); });
  }
}

void Keeper::keep_up() {
  while (!ending()) {
    if (upkeep_.step()) continue;
    const auto now = clock_.boot_now();
    const auto wait = std::clamp(upkeep_.next(now) - now, keeper_wait_min, keeper_wait_max);
    bell_.wait_for(wait, [this] { return ending(); });
  }
}

}  // namespace sagabox::outbox
