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

/// What a worker does next, decided without clock, store or lock.
namespace sagabox::ownership {

inline constexpr Duration retry_delay_min = std::chrono::milliseconds(100);
inline constexpr Duration retry_delay_max = std::chrono::seconds(1);
/// Even a lease about to end is not asked for more often than this.
inline constexpr Duration retry_delay_floor = std::chrono::milliseconds(10);
/// A worker that cannot say good-bye lets its lease run out.
inline constexpr std::uint32_t leave_attempts_max = 3;

/// How many of `shards` the worker should hold: ranks by id, the remainder goes to the lowest.
/// 0 for a worker that is not among `live`.
std::uint16_t quota(Share share, std::uint16_t shards, std::span<const WorkerId> live,
                    const WorkerId& worker);

/// How many shards nobody holds, or an owner without a running lease.
std::uint16_t takeable(const spi::Census& census);

/// The pause after the given number of failures in a row. Grows from `retry_delay_min` to
/// `retry_delay_max`, but leaves room for several attempts before the lease ends.
Duration retry_delay(std::uint32_t failures, Duration lease_left);

enum class State : std::uint8_t {
  joining,  ///< no lease, or not yet for all scopes
  active,
  leaving,  ///< holds nothing, says good-bye
  away,     ///< has said it: paused, or about to stop or to come back
  stopped,
};

struct HeldView {
  Shard shard{};
  bool draining = false;
  bool idle = false;  ///< known of draining shards only
};

/// What is wanted of a worker in one scope.
enum class Wish : std::uint8_t {
  take_part,
  stay_away,  ///< hold nothing and be no member, until told otherwise
  leave,      ///< the same for good
};

/// Whether the store counts a worker in a scope.
enum class Membership : std::uint8_t {
  out,
  unknown,  ///< a join or a withdrawal is not yet answered
  in,
};

struct ScopeView {
  std::uint16_t shards = 0;
  Share share = Share::even;
  std::vector<HeldView> held;           ///< ascending
  bool release_unanswered = false;      ///< something given away is not yet known to be released
  const spi::Census* census = nullptr;  ///< the last under this id; null: none
  bool take_tried = false;              ///< since that census
  BootTime count_at = BootTime::min();  ///< when the next census is wanted
  BootTime retry_at = BootTime::min();  ///< nothing is asked of this scope before
  bool failing = false;                 ///< the last call for this scope failed
  Wish wish = Wish::take_part;
  Membership membership = Membership::in;
  /// Does not take part, and does not wait for what is busy.
  bool abandoning = false;
};

struct View {
  State state = State::joining;
  WorkerId worker;
  BootTime now{};
  BootTime lease_ends = BootTime::max();  ///< by the worker's own count; max: no lease yet
  BootTime renew_at = BootTime::min();
  BootTime lease_retry_at = BootTime::min();  ///< no join, renew or leave before
  bool join_sent = false;                     ///< under this id
  std::uint32_t leaves_failed = 0;
  bool stopping = false;
  bool pausing = false;     ///< no scope wants it to take part
  bool withdrawn = false;   ///< from all scopes: said so to the store, whatever it answered
  bool abandoning = false;  ///< stop without waiting for what is busy
  Duration drain_poll_interval{};
  std::size_t scope_first = 0;  ///< scopes take turns
  std::vector<ScopeView> scopes;
};

/// Nothing before `until`, unless something happens.
struct Wait {
  BootTime until;
};
struct Expire {};
/// This scope, and all others that can be joined with it.
struct Join {
  std::size_t scope;
};
struct Renew {};
/// From this scope; nullopt: from all.
struct Withdraw {
  std::optional<std::size_t> scope;
};
struct Leave {};
/// Nothing is held and nothing more is to be said.
struct GoAway {};
/// A pause is over: take part again, as a new worker.
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
/// Gives away what is held of a scope, busy or not.
struct Abandon {
  std::size_t scope;
};
/// These, and whatever was given away before and is not answered yet.
struct Release {
  std::size_t scope;
  std::vector<Shard> shards;
};
using Action = std::variant<Wait, Expire, Join, Renew, Withdraw, Leave, GoAway, ComeBack, Finish,
                            Count, Take, StartDrain, Abandon, Release>;

Action decide(const View& view);

}  // namespace sagabox::ownership
