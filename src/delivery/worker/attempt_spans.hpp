#pragma once

#include <sagabox/hub_record.hpp>
#include <sagabox/random.hpp>
#include <sagabox/spi/job_store.hpp>
#include <sagabox/time.hpp>
#include <sagabox/tracing.hpp>

#include <memory>

namespace sagabox::delivery {

struct AttemptTracing {
  SpanSink* spans = nullptr;  ///< null: attempts have no spans
  /// Of the events that were published without a trace.
  double sample_ratio = 1;
  Random* random = &system_random();
};

/// Makes a span of each attempt that is sent, a child of the trace that its event was published
/// with. The receiver gets that span as `traceparent`. Safe from any thread.
class AttemptSpans {
 public:
  /// Both outlive it.
  AttemptSpans(const AttemptTracing& tracing, const Clock& clock)
      : tracing_(tracing), clock_(clock) {}

  /// Null: its trace is not sampled.
  [[nodiscard]] std::unique_ptr<TraceSpan> begin(const spi::LeasedJob& leased) const;
  void end(TraceSpan span, const JobResult& result) const;

 private:
  const AttemptTracing tracing_;
  const Clock& clock_;
};

}  // namespace sagabox::delivery
