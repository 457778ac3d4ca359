#pragma once

#include "delivery/orchestrator/orchestrator.hpp"
#include "runtime/stage_watch.hpp"
#include "runtime/wakeup.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace sagabox::delivery {

/// The two threads of an orchestrator: one starts attempts, the other ends them.
class OrchestratorThreads {
 public:
  OrchestratorThreads(spi::DeliveryStore& store, const Clock& clock, Orchestrator& orchestrator)
      : store_(store), clock_(clock), orchestrator_(orchestrator) {}
  ~OrchestratorThreads() { stop(); }
  OrchestratorThreads(const OrchestratorThreads&) = delete;
  OrchestratorThreads& operator=(const OrchestratorThreads&) = delete;

  /// The stages that a store may hang.
  [[nodiscard]] std::vector<const runtime::StageWatch*> stages() const {
    return {&starts_, &ends_};
  }
  void start();
  void stop();
  void wake_starter() { starter_.wake(); }
  void wake_ender() { ender_.wake(); }

 private:
  /// Sleeps until it is woken; once woken it does not sleep the next time.
  class Sleeper {
   public:
    void wake() {
      woken_.store(true);
      wakeup_.notify_one();
    }
    void sleep(Duration timeout) {
      wakeup_.wait_for(timeout, [this] { return woken_.load(); });
      woken_.store(false);
    }

   private:
    std::atomic<bool> woken_{false};
    runtime::Wakeup wakeup_;
  };

  void run_starts();
  void run_ends();
  /// Another process may write; hints of this one do not come through the store.
  void listen();

  spi::DeliveryStore& store_;
  const Clock& clock_;
  Orchestrator& orchestrator_;
  runtime::StageWatch starts_;
  runtime::StageWatch ends_;
  Sleeper starter_;
  Sleeper ender_;
  std::atomic<bool> ending_{false};
  std::vector<std::thread> threads_;
};

}  // namespace sagabox::delivery
