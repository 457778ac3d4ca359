#include "delivery/orchestrator/orchestrator_threads.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::delivery {
namespace {

constexpr Duration thread_wait_min = std::chrono::microseconds(100);
constexpr Duration thread_wait_max = std::chrono::milliseconds(100);

Duration wait_until(BootTime next, BootTime now) {
  return std::clamp(next - now, thread_wait_min, thread_wait_max);
}

}  // namespace

void OrchestratorThreads::start() {
  threads_.emplace_back([this] { run_starts(); });
  threads_.emplace_back([this] { run_ends(); });
  threads_.emplace_back([this] { listen(); });
}

void OrchestratorThreads::stop() {
  ending_.store(true);
  store_.wake();
  starter_.wake();
  ender_.wake();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

void OrchestratorThreads::run_starts() {
  while (!ending_.load()) {
    const auto now = clock_.boot_now();
    if (auto step = orchestrator_.plan_start(now)) {
      starts_.begin(now);
      auto answer = orchestrator_.perform(*step);
      orchestrator_.apply(*step, std::move(answer), clock_.boot_now());
      starts_.end();
      continue;
    }
    starter_.sleep(wait_until(std::min(orchestrator_.next_start(now), now + thread_wait_max), now));
  }
}

void OrchestratorThreads::run_ends() {
  while (!ending_.load()) {
    const auto now = clock_.boot_now();
    if (auto step = orchestrator_.plan_end(now)) {
      ends_.begin(now);
      auto answer = orchestrator_.perform(*step);
      orchestrator_.apply(*step, std::move(answer), clock_.boot_now());
      ends_.end();
      continue;
    }
    ender_.sleep(wait_until(std::min(orchestrator_.next_end(now), now + thread_wait_max), now));
  }
}

void OrchestratorThreads::listen() {
  while (!ending_.load()) {
    const auto began = clock_.boot_now();
    store_.wait(thread_wait_max);
    // Otherwise nobody said anything.
    if (!ending_.load() && clock_.boot_now() - began < thread_wait_max) orchestrator_.notified();
  }
}

}  // namespace sagabox::delivery
