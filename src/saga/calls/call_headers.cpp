#include "saga/calls/call_headers.hpp"

#include "core/timestamp.hpp"

#include <sagabox/payload.hpp>

namespace sagabox::saga {

std::string call_id(std::string_view idempotency_key) {
  constexpr std::size_t digits = 32;
  return "c" + hex(sha256(idempotency_key)).substr(0, digits);
}

Headers call_headers(const CallOrder& order) {
  const auto& call = order.call;
  Headers headers;
  const auto add = [&](std::string_view name, std::string value) {
    headers.emplace_back(std::string(name), std::move(value));
  };
  add(header::saga_id, order.saga.str());
  add(header::definition, order.definition + "/" + std::to_string(order.definition_version));
  add(header::tenant, order.tenant);
  add(header::step, order.step);
  add(header::direction, std::string(barrier_direction_name(call.key.direction)));
  add(header::attempt, std::to_string(call.attempt));
  add(header::round, std::to_string(call.barrier_round));
  add(header::epoch, std::to_string(order.epoch.value));
  add(header::deadline, timestamp_text(call.deadline));
  add(header::remember_until, timestamp_text(order.remember_until));
  add(header::idempotency_key, call.idempotency_key);
  return headers;
}

}  // namespace sagabox::saga
