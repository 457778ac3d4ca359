#include "delivery/worker/attempt_spans.hpp"

#include "observe/trace_parent.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace sagabox::delivery {

std::unique_ptr<TraceSpan> AttemptSpans::begin(const spi::LeasedJob& leased) const {
  if (tracing_.spans == nullptr) return nullptr;
  const auto& message = *leased.event.message;
  auto span = std::make_unique<TraceSpan>();
  if (const auto parent = parse_traceparent(message.trace().traceparent)) {
    if (!parent->sampled) return nullptr;
    span->trace = parent->trace;
    span->parent = parent->span;
    span->tracestate = message.trace().tracestate;
  } else {
    if (tracing_.sample_ratio <= 0) return nullptr;
    // The same in every process, so that all attempts of an event are in one trace, or none is.
    span->trace = trace_of_message("hub", leased.event.id.view());
    if (!is_sampled(span->trace, tracing_.sample_ratio)) return nullptr;
  }
  span->id = new_span_id(*tracing_.random);
  span->started = clock_.wall_now();
  span->name = "deliver " + message.topic();
  span->attributes = {
      {"messaging.system", "sagabox"},
      {"messaging.operation.name", "deliver"},
      {"messaging.operation.type", "send"},
      {"messaging.destination.name", message.topic()},
      {"messaging.message.id", leased.event.id.str()},
      {"sagabox.subscription", leased.job.subscription.str()},
      {"sagabox.delivery", leased.job.delivery.str()},
      {"sagabox.attempt", std::int64_t{leased.job.attempt}},
  };
  return span;
}

void AttemptSpans::end(TraceSpan span, const JobResult& result) const {
  span.lasted = result.took;
  span.attributes.push_back({"sagabox.result", result.completed ? "completed" : "failed"});
  if (result.status != 0) {
    span.attributes.push_back({"http.response.status_code", std::int64_t{result.status}});
  }
  if (!result.completed) {
    span.failed = true;
    span.error = result.error;
    if (result.code)
      span.attributes.push_back({"error.type", std::string(code_name(*result.code))});
  }
  tracing_.spans->take(std::move(span));
}

}  // namespace sagabox::delivery
