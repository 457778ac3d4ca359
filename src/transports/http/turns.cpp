#include "transports/http/turns.hpp"

#include <iterator>

namespace sagabox::http {

void Turns::ready(Endpoint& endpoint) {
  if (endpoint.is_ready || endpoint.waiting.empty()) return;
  endpoint.is_ready = true;
  round_.push_back(&endpoint);
}

void Turns::add(Turn& turn) {
  auto& waiting = turn.endpoint->waiting;
  if (spare_.empty()) spare_.push_back(nullptr);
  spare_.front() = &turn;
  waiting.splice(waiting.end(), spare_, spare_.begin());
  turn.place = std::prev(waiting.end());
  turn.is_waiting = true;
  ready(*turn.endpoint);
}

Turn* Turns::next() {
  while (may_go()) {
    auto& endpoint = *round_.front();
    round_.pop_front();
    endpoint.is_ready = false;
    auto& turn = *endpoint.waiting.front();
    // It returns to the round when one of its requests in flight has ended.
    if (endpoint.active >= turn.concurrency) continue;
    spare_.splice(spare_.begin(), endpoint.waiting, turn.place);
    turn.is_waiting = false;
    ++endpoint.active;
    ++active_;
    ready(endpoint);
    return &turn;
  }
  return nullptr;
}

void Turns::ended(Turn& turn) {
  --active_;
  --turn.endpoint->active;
  ready(*turn.endpoint);
}

void Turns::withdraw(Turn& turn) {
  auto& endpoint = *turn.endpoint;
  spare_.splice(spare_.begin(), endpoint.waiting, turn.place);
  turn.is_waiting = false;
  if (endpoint.waiting.empty() && endpoint.is_ready) {
    endpoint.is_ready = false;
    std::erase(round_, &endpoint);
  } else {
    ready(endpoint);  // the new first one may have a higher bound
  }
}

}  // namespace sagabox::http
