#pragma once

#include "ownership/holder.hpp"

#include <sagabox/spi/ownership_store.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

/// Decides the next action of a worker. Pure: no clock, store or lock.
namespace sagabox::ownership {

inline constexpr Duration retry_delay_min = std::chrono::milliseconds(100);
inline constexpr Duration retry_delay_max = std::chrono::seconds(1);
/// The minimum delay between attempts, even if the lease is about to end.
inline constexpr Duration retry_delay_floor = std::chrono::milliseconds(10);
/// After this many failed attempts to leave, the worker lets its lease expire.
inline constexpr std::uint32_t leave_attempts_max = 3;

/// How many of `shards` the worker should hold. Workers are ranked by id, and the lowest ones get
/// the remainder. 0 for a worker that is not in `live`.
std::uint16_t quota(Share share, std::uint16_t shards, std::span<const WorkerId> live,
                    const WorkerId& worker);

/// The number of shards without an owner, or whose owner has no valid lease.
std::uint16_t takeable(const spi::Census& census);

/// The delay after the given number of failures in a row. Grows from `retry_delay_min` to
/// `retry_delay_max`, but leaves room for several attempts before the lease ends.
Duration retry_delay(std::uint32_t failures, Duration lease_left);

enum class State : std::uint8_t {
  joining,  ///< no lease, or not joined in all scopes yet
  active,
  leaving,  ///< holds no shard, and ends its lease
  away,     ///< has left: paused, or about to stop or to return
  stopped,
};

struct HeldView {
  Shard shard{};
  bool draining = false;
  bool idle = false;  ///< set for draining shards only
};

/// The requested participation of a worker in one scope.
enum class Wish : std::uint8_t {
  take_part,
  stay_away,  ///< hold no shard and be no member until further notice
  leave,      ///< the same, permanently
};

/// Whether the store counts the worker in a scope.
enum class Membership : std::uint8_t {
  out,
  unknown,  ///< a join or a withdrawal is not answered yet
  in,
};

struct ScopeView {
  std::uint16_t shards = 0;
  Share share = Share::even;
  std::vector<HeldView> held;           ///< ascending
  bool release_unanswered = false;      ///< the release of a shard is not confirmed yet
  const spi::Census* census = nullptr;  ///< the last one under this id; null: none
  bool take_tried = false;              ///< a take was tried since that census
  BootTime count_at = BootTime::min();  ///< when the next census is due
  BootTime retry_at = BootTime::min();  ///< no call for this scope before
  bool failing = false;                 ///< the last call for this scope failed
  Wish wish = Wish::take_part;
  Membership membership = Membership::in;
  /// Leaves the scope without waiting for busy shards.
  bool abandoning = false;
};

struct View {
  State state = State::joining;
  WorkerId worker;
  BootTime now{};
  BootTime lease_ends = BootTime::max();  ///< by the worker's own clock; max: no lease yet
  BootTime renew_at = BootTime::min();
  BootTime lease_retry_at = BootTime::min();  ///< no join, renew or leave before
  bool join_sent = false;                     ///< a join was sent under this id
  std::uint32_t leaves_failed = 0;
  bool stopping = false;
  bool pausing = false;  ///< the worker must not take part in any scope
  bool withdrawn =
      false;  ///< a withdrawal from all scopes was sent to the store, whatever the answer
  bool abandoning = false;  ///< stop without waiting for busy shards
  Duration drain_poll_interval{};
  std::size_t scope_first = 0;  ///< scopes take turns
  std::vector<ScopeView> scopes;
};

/// No action before `until`, unless an event happens.
struct Wait {
  BootTime until;
};
struct Expire {};
/// Joins this scope, and all others that can be joined with it.
struct Join {
  std::size_t scope;
};
struct Renew {};
/// Withdraws from this scope; nullopt: from all scopes.
struct Withdraw {
  std::optional<std::size_t> scope;
};
struct Leave {};
/// No shard is held, and no further call is needed.
struct GoAway {};
/// A pause has ended: take part again, as a new worker.
struct ComeBack {};
struct Finish {};
struct Count {
  std::size_t scope;
};
struct Take {
  std::size_t scope;
  std::uint16_t shards_max;
};
struct StartDrain {
  std::size_t scope;
  Shard shard;
};
/// Releases all held shards of a scope, even busy ones.
struct Abandon {
  std::size_t scope;
};
/// Releases these shards, and those released before without an answer.
struct Release {
  std::size_t scope;
  std::vector<Shard> shards;
};
using Action = std::variant<Wait, Expire, Join, Renew, Withdraw, Leave, GoAway, ComeBack, Finish,
                            Count, Take, StartDrain, Abandon, Release>;

Action decide(const View& view);

}  // namespace sagabox::ownership
