#pragma once

#include <cstdint>
#include <deque>
#include <list>

namespace sagabox::http {

struct Turn;

/// A host and port: what shares connections, and a bound of its own.
struct Endpoint {
  std::list<Turn*> waiting;
  std::uint32_t active = 0;
  bool is_ready = false;  ///< stands in the round
};

/// Somebody who wants to go to an endpoint.
struct Turn {
  Endpoint* endpoint = nullptr;
  std::uint32_t concurrency = 1;  ///< goes when fewer than this are on their way there
  bool is_waiting = false;
  std::list<Turn*>::iterator place{};
};

/// Who goes next: endpoints take turns, so that a busy one does not keep others waiting; within
/// one, first come, first served. Not thread-safe; keeps nothing alive.
class Turns {
 public:
  explicit Turns(std::uint32_t active_max) : active_max_(active_max) {}

  void add(Turn& turn);
  /// Null: nobody may go now. Whoever goes must be said to have `ended`.
  Turn* next();
  /// Whether asking for the next may be worth it.
  [[nodiscard]] bool may_go() const noexcept { return active_ < active_max_ && !round_.empty(); }
  void ended(Turn& turn);
  /// Waits no longer.
  void withdraw(Turn& turn);

 private:
  void ready(Endpoint& endpoint);

  std::uint32_t active_max_;
  std::uint32_t active_ = 0;
  std::deque<Endpoint*> round_;
  std::list<Turn*> spare_;  // nodes to be used again
};

}  // namespace sagabox::http
