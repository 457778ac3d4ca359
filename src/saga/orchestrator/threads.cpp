#include "saga/orchestrator/threads.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::saga {
namespace {

constexpr Duration wait_min = std::chrono::milliseconds(1);
constexpr Duration wait_max = std::chrono::milliseconds(100);

}  // namespace

void Threads::start() {
  threads_.emplace_back([this] { read(); });
  threads_.emplace_back([this] { write(); });
}

void Threads::stop() {
  ending_.store(true);
  store_.wake(definition_);
  wakeup_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

void Threads::read() {
  while (!ending_.load()) {
    const auto now = clock_.boot_now();
    if (auto step = orchestrator_.plan_read(now)) {
      reads_.begin(now);
      auto answer = orchestrator_.perform(*step);
      orchestrator_.apply(*step, std::move(answer), clock_.boot_now());
      reads_.end();
      continue;
    }
    store_.wait(definition_, std::clamp(orchestrator_.next_read(now) - now, wait_min, wait_max));
    orchestrator_.committed_somewhere();
  }
}

void Threads::write() {
  while (!ending_.load()) {
    const auto now = clock_.boot_now();
    auto step = orchestrator_.plan_write(now);
    orchestrator_.make_calls(now);
    if (step) {
      writes_.begin(now);
      auto reply = orchestrator_.perform(*step);
      orchestrator_.apply(*std::move(step), std::move(reply), clock_.boot_now());
      writes_.end();
      orchestrator_.make_calls(clock_.boot_now());
      continue;
    }
    const auto wait = std::min(orchestrator_.next_write(now), now + wait_max) - now;
    if (wait <= Duration{}) continue;
    wakeup_.wait_for(wait, [&] { return ending_.load() || orchestrator_.next_write(now) <= now; });
  }
}

}  // namespace sagabox::saga
