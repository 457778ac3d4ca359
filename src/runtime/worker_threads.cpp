#include "runtime/worker_threads.hpp"

#include <algorithm>

namespace sagabox::runtime {
namespace {

using std::chrono::milliseconds;

constexpr Duration wait_min = milliseconds(1);
constexpr Duration wait_max = milliseconds(100);
constexpr Duration leave_timeout = milliseconds(2000);

}  // namespace

void WorkerThreads::start() {
  lease_ = std::thread([this] { keep_lease(); });
  work_thread_ = std::thread([this] { do_work(); });
}

bool WorkerThreads::worker_stopped_by(BootTime limit) {
  while (!worker_.stopped() && clock_.boot_now() < limit) {
    wakeup_.wait_for(wait_min, [this] { return worker_.stopped(); });
  }
  return worker_.stopped();
}

void WorkerThreads::stop(Duration drain_timeout) {
  worker_.begin_stop();
  wake();
  const auto limit = clock_.boot_now() + drain_timeout;
  if (!worker_stopped_by(limit)) {
    worker_.abandon_remaining();
    wake();
    (void)worker_stopped_by(limit + leave_timeout);
  }
  end();
}

void WorkerThreads::end() {
  ending_.store(true);
  wakeup_.notify_all();
  if (lease_.joinable()) lease_.join();
  if (work_thread_.joinable()) work_thread_.join();
}

bool WorkerThreads::stage_hangs(BootTime now) const noexcept {
  return std::ranges::any_of(since_, [&](const std::atomic<BootTime>& since) {
    const auto begun = since.load(std::memory_order_relaxed);
    return begun < now && now - begun > step_max_;
  });
}

void WorkerThreads::keep_lease() {
  while (!ending()) {
    // One that stops gives its shards back, whatever hangs.
    if (!worker_.stopping() && stage_hangs(clock_.boot_now())) {
      wakeup_.wait_for(wait_max, [this] { return ending(); });
      continue;
    }
    if (worker_.step()) continue;
    const auto wait = worker_.next_due() - clock_.boot_now();
    wakeup_.wait_for(std::clamp(wait, wait_min, wait_max), [this] { return ending(); });
  }
}

void WorkerThreads::do_work() {
  while (!ending()) {
    if (work_.step()) continue;
    const auto now = clock_.boot_now();
    const auto wait = std::clamp(work_.next(now) - now, wait_min, wait_max);
    wakeup_.wait_for(wait, [this] { return ending(); });
  }
}

}  // namespace sagabox::runtime
