#pragma once

#include "runtime/stage_watch.hpp"
#include "runtime/wakeup.hpp"
#include "saga/orchestrator/orchestrator.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace sagabox::saga {

/// The two threads of a definition: one reads, the other decides and writes.
class Threads {
 public:
  Threads(spi::SagaStore& store, std::string definition, const Clock& clock,
          Orchestrator& orchestrator)
      : store_(store),
        definition_(std::move(definition)),
        clock_(clock),
        orchestrator_(orchestrator) {}
  ~Threads() { stop(); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// The stages that a store may hang.
  [[nodiscard]] std::vector<const runtime::StageWatch*> stages() const {
    return {&reads_, &writes_};
  }
  void start();
  void stop();
  void wake_writer() { wakeup_.notify_one(); }

 private:
  void read();
  void write();

  spi::SagaStore& store_;
  const std::string definition_;
  const Clock& clock_;
  Orchestrator& orchestrator_;
  runtime::StageWatch reads_;
  runtime::StageWatch writes_;
  runtime::Wakeup wakeup_;
  std::atomic<bool> ending_{false};
  std::vector<std::thread> threads_;
};

}  // namespace sagabox::saga
