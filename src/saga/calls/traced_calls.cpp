#include "saga/calls/traced_calls.hpp"

#include "observe/trace_parent.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace sagabox::saga {
namespace {

std::string_view call_result_name(CallResult::Kind kind) {
  switch (kind) {
    case CallResult::Kind::ok:
      return "ok";
    case CallResult::Kind::retry:
      return "retry";
    case CallResult::Kind::fail:
      return "fail";
    case CallResult::Kind::wait:
      return "wait";
    case CallResult::Kind::in_doubt:
      return "in_doubt";
    case CallResult::Kind::unreachable:
      return "unreachable";
  }
  return "in_doubt";
}

void describe_call(const CallOrder& order, TraceSpan& span) {
  span.name = "call " + order.definition + "." + order.step;
  span.attributes = {
      {"sagabox.saga", order.saga.str()},
      {"sagabox.definition", order.definition + "/" + std::to_string(order.definition_version)},
      {"sagabox.step", order.step},
      {"sagabox.direction", std::string(barrier_direction_name(order.call.key.direction))},
      {"sagabox.attempt", std::int64_t{order.call.attempt}},
  };
}

}  // namespace

std::optional<TraceSpan> TracedCalls::span_of(const CallOrder& order) const {
  TraceSpan span;
  if (const auto parent = parse_traceparent(order.traceparent)) {
    if (!parent->sampled) return std::nullopt;
    span.trace = parent->trace;
    span.parent = parent->span;
  } else {
    if (tracing_.sample_ratio <= 0) return std::nullopt;
    // The same in every process, so that all calls of a saga are in one trace, or none is.
    span.trace = trace_of_message(order.definition, order.saga.view());
    if (!is_sampled(span.trace, tracing_.sample_ratio)) return std::nullopt;
  }
  span.id = new_span_id(*tracing_.random);
  span.started = tracing_.clock->wall_now();
  describe_call(order, span);
  return span;
}

void TracedCalls::call(std::vector<CallOrder> orders, CallResults& results) {
  if (tracing_.spans == nullptr) return caller_.call(std::move(orders), results);
  std::vector<CallOrder> traced;
  std::vector<CallOrder> plain;
  const auto now = tracing_.clock->boot_now();
  for (auto& order : orders) {
    auto span = span_of(order);
    if (!span) {
      plain.push_back(std::move(order));
      continue;
    }
    order.traceparent = traceparent_of(*span);
    {
      const std::scoped_lock lock(mutex_);
      open_.emplace(order.ticket, Open{&results, now, *std::move(span)});
    }
    traced.push_back(std::move(order));
  }
  if (!traced.empty()) caller_.call(std::move(traced), *this);
  if (!plain.empty()) caller_.call(std::move(plain), results);
}

bool TracedCalls::withdraw(CallTicket ticket) {
  if (!caller_.withdraw(ticket)) return false;
  // What was not called has no span.
  const std::scoped_lock lock(mutex_);
  open_.erase(ticket);
  return true;
}

void TracedCalls::ended(CallTicket ticket, CallResult result) noexcept {
  Open open;
  {
    const std::scoped_lock lock(mutex_);
    const auto at = open_.find(ticket);
    if (at == open_.end()) return;
    open = std::move(at->second);
    open_.erase(at);
  }
  // What was not called has no span: no attempt was made.
  if (result.kind != CallResult::Kind::unreachable) close(open, result);
  open.results->ended(ticket, std::move(result));
}

void TracedCalls::close(Open& open, const CallResult& result) const {
  auto& span = open.span;
  span.lasted = std::max(tracing_.clock->boot_now() - open.began, Duration::zero());
  span.attributes.push_back({"sagabox.result", std::string(call_result_name(result.kind))});
  using Kind = CallResult::Kind;
  if (result.kind != Kind::ok && result.kind != Kind::wait) {
    span.failed = true;
    span.error = result.error;
    span.attributes.push_back({"error.type", std::string(code_name(result.code))});
  }
  tracing_.spans->take(std::move(span));
}

}  // namespace sagabox::saga
