#include "observe/trace_parent.hpp"

#include <algorithm>
#include <utility>

namespace sagabox {
namespace {

std::string_view result_name(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::done:
      return "done";
    case Outcome::Kind::retry:
      return "retry";
    case Outcome::Kind::reject:
      return "reject";
  }
  return "retry";
}

class DeliveryTracer final : public Interceptor {
 public:
  explicit DeliveryTracer(const TracingOptions& options) : options_(options) {}

  void after(const Delivery& delivery, const Outcome& outcome) override {
    if (outcome.kind == Outcome::Kind::retry && !outcome.spends_attempt) return;
    TraceSpan span;
    if (!place(delivery, span)) return;
    time(delivery, span);
    describe(delivery, outcome, span);
    options_.spans->take(std::move(span));
  }

 private:
  /// Sets the trace and parent of the span. Returns false if the trace is not sampled.
  bool place(const Delivery& delivery, TraceSpan& span) const {
    const auto& trace = delivery.trace();
    if (const auto parent = parse_traceparent(trace.traceparent)) {
      if (!parent->sampled) return false;
      span.trace = parent->trace;
      span.parent = parent->span;
      span.tracestate = trace.tracestate;
    } else {
      if (options_.sample_ratio <= 0) return false;
      span.trace = trace_of_message(delivery.table().str(), delivery.id().view());
      if (!is_sampled(span.trace, options_.sample_ratio)) return false;
    }
    span.id = new_span_id(*options_.random);
    return true;
  }

  void time(const Delivery& delivery, TraceSpan& span) const {
    // The deadline was set to the start plus the timeout.
    const auto began = delivery.deadline() - options_.dispatch_timeout;
    span.lasted = std::max(options_.clock->boot_now() - began, Duration::zero());
    span.started = std::chrono::floor<WallTime::duration>(options_.clock->wall_now() - span.lasted);
  }

  static void describe(const Delivery& delivery, const Outcome& outcome, TraceSpan& span) {
    span.name = "deliver " + delivery.topic();
    span.attributes = {
        {"messaging.system", "sagabox"},
        {"messaging.operation.name", "deliver"},
        {"messaging.operation.type", "send"},
        {"messaging.destination.name", delivery.topic()},
        {"messaging.message.id", delivery.id().str()},
        {"sagabox.table", delivery.table().str()},
        {"sagabox.sequence", static_cast<std::int64_t>(delivery.sequence().value)},
        {"sagabox.attempt", std::int64_t{delivery.attempt()}},
        {"sagabox.result", std::string(result_name(outcome.kind))},
    };
    if (outcome.kind == Outcome::Kind::done) return;
    span.failed = true;
    span.error = outcome.error;
    span.attributes.push_back({"error.type", std::string(code_name(outcome.code))});
  }

  TracingOptions options_;
};

}  // namespace

std::shared_ptr<Interceptor> trace_deliveries(const TracingOptions& options) {
  return std::make_shared<DeliveryTracer>(options);
}

}  // namespace sagabox
