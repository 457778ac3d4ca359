#pragma once

#include <cstdint>
#include <deque>
#include <list>

namespace sagabox::http {

struct Turn;

/// A host and port: the unit that shares connections, and has a bound of its own.
struct Endpoint {
  std::list<Turn*> waiting;
  std::uint32_t active = 0;
  bool is_ready = false;  ///< is in the round
};

/// A request that waits to be sent to an endpoint.
struct Turn {
  Endpoint* endpoint = nullptr;
  std::uint32_t concurrency = 1;  ///< may start when fewer than this are in flight there
  bool is_waiting = false;
  std::list<Turn*>::iterator place{};
};

/// Decides which request is next: endpoints take turns, so that a busy one does not delay others;
/// within one, first come, first served. Not thread-safe; keeps nothing alive.
class Turns {
 public:
  explicit Turns(std::uint32_t active_max) : active_max_(active_max) {}

  void add(Turn& turn);
  /// Null if none may start now. Call `ended` for each one that was returned.
  Turn* next();
  /// Whether calling `next` may return one.
  [[nodiscard]] bool may_go() const noexcept { return active_ < active_max_ && !round_.empty(); }
  void ended(Turn& turn);
  /// Removes one that waits.
  void withdraw(Turn& turn);

 private:
  void ready(Endpoint& endpoint);

  std::uint32_t active_max_;
  std::uint32_t active_ = 0;
  std::deque<Endpoint*> round_;
  std::list<Turn*> spare_;  // nodes for reuse
};

}  // namespace sagabox::http
