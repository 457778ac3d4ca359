#pragma once

#include "runtime/runtime.hpp"

#include <sagabox/time.hpp>

#include <functional>
#include <memory>

namespace sagabox::runtime {

/// The registration of an engine in a runtime, from its start to its end.
class Registration {
 public:
  Registration(std::shared_ptr<Runtime> runtime, Runtime::EngineId id)
      : runtime_(std::move(runtime)), id_(id) {}
  ~Registration() { end(); }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  void pause() { runtime_->pause(id_); }
  void resume() { runtime_->resume(id_); }
  /// Whether it is paused and no shard is held any more.
  [[nodiscard]] bool paused() const { return runtime_->paused(id_); }

  /// Hands the scopes over: waits up to the limit for busy shards, then calls `at_limit` and
  /// releases the rest as unclean. When it returns, the worker has left the scopes, unless the
  /// store does not answer.
  void hand_over(BootTime limit, const std::function<void()>& at_limit = {});
  /// Removes the engine. Afterwards neither its holders nor its work are called any more.
  void end();

 private:
  bool handed_over_by(BootTime limit);

  const std::shared_ptr<Runtime> runtime_;
  const Runtime::EngineId id_;
  bool ended_ = false;
};

}  // namespace sagabox::runtime
