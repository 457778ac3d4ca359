#include "outbox/dispatch/registry.hpp"

#include "core/error_text.hpp"
#include "observe/metric_names.hpp"

#include <sagabox/log.hpp>

#include <exception>
#include <utility>

namespace sagabox::outbox {
namespace {

constexpr std::size_t sink_topics_max = 10'000;
const std::string others = "(others)";

}  // namespace

TopicMetrics::TopicMetrics(Metrics& metrics, std::string_view table, std::string_view topic)
    : done(metrics.counter(metric::outbox_dispatched_total,
                           {{"table", table}, {"topic", topic}, {"result", "done"}})),
      done_after_retry(metrics.counter(metric::outbox_done_after_retry_total,
                                       {{"table", table}, {"topic", topic}})),
      retry(metrics.counter(metric::outbox_dispatched_total,
                            {{"table", table}, {"topic", topic}, {"result", "retry"}})),
      dead(metrics.counter(metric::outbox_dispatched_total,
                           {{"table", table}, {"topic", topic}, {"result", "dead"}})),
      parked(metrics.counter(metric::outbox_dispatched_total,
                             {{"table", table}, {"topic", topic}, {"result", "parked"}})),
      retries(metrics.counter(metric::outbox_retries_total, {{"table", table}, {"topic", topic}})),
      timeouts(
          metrics.counter(metric::outbox_timeouts_total, {{"table", table}, {"topic", topic}})),
      seconds_done(metrics.histogram(metric::outbox_dispatch_seconds,
                                     {{"table", table}, {"topic", topic}, {"result", "done"}})),
      seconds_failed(
          metrics.histogram(metric::outbox_dispatch_seconds,
                            {{"table", table}, {"topic", topic}, {"result", "failed"}})) {}

Status Registry::add(const AggregateType& type, const Topic& topic, Listener listener) {
  if (!listener) {
    return Error{Code::tx_invalid_handler,
                 "listener for topic \"" + topic.str() + "\" is empty; give a function"};
  }
  auto& topics = routes_[type.str()];
  if (topics.contains(topic.str())) {
    return Error{Code::tx_invalid_state, "topic \"" + topic.str() + "\" of aggregate type \"" +
                                             type.str() +
                                             "\" has a listener already; one topic, one listener"};
  }
  topics.emplace(topic.str(), made(type.str(), topic.str(), std::move(listener)));
  return {};
}

Route Registry::made(const std::string& type, const std::string& topic, Listener listener) const {
  return {.type = type,
          .topic = topic,
          .listener = std::move(listener),
          .figures = std::make_unique<TopicMetrics>(metrics_, table_, topic)};
}

const Route* Registry::find(std::string_view type, std::string_view topic) const {
  const auto topics = routes_.find(type);
  if (topics == routes_.end()) return nullptr;
  const auto route = topics->second.find(topic);
  return route == topics->second.end() ? nullptr : &route->second;
}

const Route* Registry::to_sink(const Message& message) const {
  const auto& type = message.aggregate_type();
  const auto& topic = message.topic();
  {
    const std::shared_lock lock(mutex_);
    const auto topics = to_sink_.find(type);
    if (topics != to_sink_.end()) {
      const auto route = topics->second.find(topic);
      if (route != topics->second.end()) return &route->second;
    }
  }
  if (!sink_->takes(message)) return nullptr;
  const std::unique_lock lock(mutex_);
  // Topics above the limit are counted under one name, so that endlessly new topics use bounded
  // memory.
  const bool known = to_sink_count_ < sink_topics_max;
  auto& topics = to_sink_[known ? type : others];
  const auto& name = known ? topic : others;
  const auto found = topics.find(name);
  if (found != topics.end()) return &found->second;
  ++to_sink_count_;
  return &topics.emplace(name, made(known ? type : others, name, {})).first->second;
}

std::string Registry::unroutable(const Message& message) const {
  // The topic's routes are those of the configuration, or of the program that has the sink.
  if (sink_ != nullptr) {
    return "no route for topic \"" + message.topic() +
           "\"; add one under `routes` of sagabox.yaml, then replay";
  }
  return "no listener for topic \"" + message.topic() + "\" of aggregate type \"" +
         message.aggregate_type() + "\"; register one, then replay";
}

Outcome Invoker::invoke(const Delivery& delivery, const Route* found) const noexcept {
  std::size_t entered = 0;
  Outcome outcome;
  try {
    outcome = call(delivery, found, entered);
  } catch (const std::exception& thrown) {
    outcome = retry(thrown.what());
  } catch (...) {
    outcome = retry("the handler threw something that is not a std::exception");
  }
  clean(delivery, outcome);
  leave(delivery, outcome, entered);
  return outcome;
}

void Invoker::clean(const Delivery& delivery, Outcome& outcome) const {
  if (outcome.error.empty()) return;
  outcome.error = clean_error(outcome.error, error_bytes_max_, delivery.payload().view());
}

std::optional<Outcome> Invoker::enter(const Delivery& delivery) const noexcept {
  if (interceptors_.empty()) return std::nullopt;
  std::size_t entered = 0;
  Outcome outcome;
  try {
    for (; entered < interceptors_.size(); ++entered) interceptors_[entered]->before(delivery);
    return std::nullopt;
  } catch (const std::exception& thrown) {
    outcome = retry(thrown.what());
  } catch (...) {
    outcome = retry("an interceptor threw something that is not a std::exception");
  }
  clean(delivery, outcome);
  leave(delivery, outcome, entered);
  return outcome;
}

void Invoker::leave(const Delivery& delivery, Outcome& outcome) const noexcept {
  clean(delivery, outcome);
  leave(delivery, outcome, interceptors_.size());
}

Outcome Invoker::call(const Delivery& delivery, const Route* found, std::size_t& entered) const {
  for (const auto& interceptor : interceptors_) {
    interceptor->before(delivery);
    ++entered;
  }
  if (found != nullptr) return found->listener(delivery);
  auto outcome = reject(registry_.unroutable(delivery.message()));
  outcome.code = Code::tx_unroutable;
  return outcome;
}

void Invoker::leave(const Delivery& delivery, const Outcome& outcome,
                    std::size_t entered) const noexcept {
  while (entered > 0) {
    try {
      interceptors_[--entered]->after(delivery, outcome);
    } catch (const std::exception& thrown) {
      const auto error = clean_error(thrown.what(), error_bytes_max_, delivery.payload().view());
      log_.log(LogLevel::warning, "interceptor failed after dispatch",
               {{"message", delivery.id().view()}, {"error", std::string_view(error)}});
    } catch (...) {
      log_.log(LogLevel::warning, "interceptor failed after dispatch",
               {{"message", delivery.id().view()}});
    }
  }
}

}  // namespace sagabox::outbox
