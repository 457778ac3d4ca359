#pragma once

#include "saga/calls/caller.hpp"

#include <sagabox/random.hpp>
#include <sagabox/time.hpp>
#include <sagabox/tracing.hpp>

#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace sagabox::saga {

struct CallTracing {
  SpanSink* spans = nullptr;  ///< null: calls are made as they are
  /// Of the sagas that were started without a trace.
  double sample_ratio = 1;
  const Clock* clock = &system_clock();
  Random* random = &system_random();
};

/// Makes a span of each call, a child of the trace that its saga was started with. Who is called
/// gets that span as `traceparent`. Goes around another caller and outlives its calls.
class TracedCalls final : public Caller, private CallResults {
 public:
  TracedCalls(Caller& caller, const CallTracing& tracing) : caller_(caller), tracing_(tracing) {}
  TracedCalls(const TracedCalls&) = delete;
  TracedCalls& operator=(const TracedCalls&) = delete;

  void call(std::vector<CallOrder> orders, CallResults& results) override;
  void abandon(CallTicket ticket) override { caller_.abandon(ticket); }
  bool withdraw(CallTicket ticket) override;

 private:
  struct Open {
    CallResults* results = nullptr;
    BootTime began{};
    TraceSpan span{};
  };

  void ended(CallTicket ticket, CallResult result) noexcept override;
  /// Nothing: its trace is not sampled.
  [[nodiscard]] std::optional<TraceSpan> span_of(const CallOrder& order) const;
  void close(Open& open, const CallResult& result) const;

  Caller& caller_;
  const CallTracing tracing_;
  std::mutex mutex_;
  std::unordered_map<CallTicket, Open> open_;
};

}  // namespace sagabox::saga
