#pragma once

#include "observe/error_metrics.hpp"
#include "ownership/decide.hpp"
#include "ownership/held_shards.hpp"
#include "ownership/holder.hpp"

#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/spi/ownership_store.hpp>
#include <sagabox/time.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sagabox::ownership {

struct WorkerOptions {
  Duration lease = std::chrono::seconds(15);
  /// The worker stops this long before its lease ends by its own clock.
  Duration lease_margin = std::chrono::seconds(3);
  Duration renew_interval = std::chrono::seconds(5);
  Duration census_interval = std::chrono::seconds(1);
  /// How often `idle` of the holder is called for a draining shard.
  Duration drain_poll_interval = std::chrono::milliseconds(10);

  /// Sets margin and intervals in proportion to the lease, as in the defaults.
  static WorkerOptions for_lease(Duration lease);
  /// Names the setting that is wrong and what would be right.
  [[nodiscard]] Status check() const;
};

/// The dependencies of a worker; they outlive it.
struct WorkerParts {
  spi::OwnershipStore& store;
  UlidSource& ids;
  const Clock& clock;
  Metrics& metrics = no_metrics();
  Logger& log = no_log();
  std::string name{};  ///< what its ids begin with; empty: they are ULIDs
};

/// One call of the store.
struct Request {
  struct Join {
    std::vector<spi::Scope> scopes;
    std::uint16_t shards = 0;
  };
  struct Renew {};
  struct Census {
    std::size_t scope = 0;
  };
  struct Take {
    std::size_t scope = 0;
    std::uint16_t shards_max = 0;
  };
  struct Release {
    std::size_t scope = 0;
    std::vector<spi::OwnedShard> shards;
  };
  struct Withdraw {
    std::vector<spi::Scope> scopes;
  };
  struct Leave {};

  WorkerId worker;
  BootTime asked{};  ///< the time before the call: a lease starts here
  std::variant<Join, Renew, Census, Take, Release, Withdraw, Leave> call;
};

using Reply = std::variant<Result<spi::LeaseReply>, Result<spi::Census>,
                           Result<std::vector<spi::OwnedShard>>, Status>;

/// Represents a process in the scopes it shares with others: joins them, renews one lease for all
/// of them, takes its share of the shards and hands over those above it, one shard at a time.
/// Scopes can be added and removed while it runs. While it does not take part in any scope it has
/// no lease; it returns under a new id.
///
/// A step has three parts that can be called separately. `plan`, `perform`, `apply`, `next_due` and
/// `step` must be called by one thread, which is also the only one that calls the holders; all
/// other functions are safe from any thread. Errors of the store do not end a worker.
class Worker {
 public:
  /// Takes part in `scopes` from its first step on. Throws std::invalid_argument if `add` would, or
  /// if the options are invalid.
  Worker(WorkerParts parts, std::vector<ScopeOptions> scopes, WorkerOptions options = {});

  /// The call of the store to make now; nullopt if there is none. Also handles expired leases and
  /// starts drains. After every request, call `apply` before the next `plan`.
  [[nodiscard]] std::optional<Request> plan(BootTime now);
  /// Makes exactly one call of the store, with no lock held.
  [[nodiscard]] Reply perform(const Request& request) const;
  /// Processes the reply. It is ignored if the worker has started over in the meantime.
  void apply(const Request& request, Reply reply, BootTime now);
  /// The time of the next action, unless a holder becomes idle or one of the functions below is
  /// called.
  [[nodiscard]] BootTime next_due() const;
  /// Runs all three at the clock's time. Returns false if there was nothing to do.
  bool step();

  /// Whether shards may be worked on. If false, the shards are not lost yet: keep all state until
  /// the holder gets `lost`, but start nothing.
  [[nodiscard]] bool live(BootTime now) const noexcept {
    return now.time_since_epoch().count() < live_until_.load(std::memory_order_acquire);
  }
  /// Changes each time the worker starts over.
  [[nodiscard]] WorkerId id() const;

  /// A read or settle saw another timeline of the database. Ignored if this worker has already
  /// joined `seen`.
  void timeline_changed(std::optional<Timeline> seen = std::nullopt);
  /// A settle found its fence broken. Ignored if the shard is held at another epoch now.
  void shard_lost(const spi::Scope& scope, Shard shard, std::optional<Epoch> epoch = std::nullopt);

  /// Takes part in this scope, too. Throws std::invalid_argument if the worker has a scope with
  /// this name, or if the scope has no shards or no holder.
  void add(ScopeOptions scope);
  /// Drains the scope, releases each shard as it becomes idle, so that others take over, and then
  /// removes it. The holder must exist until `quiet`.
  void remove(const spi::Scope& scope);
  /// The time limit of the drain is reached: releases busy shards as unclean. Call it after
  /// `remove`.
  void abandon(const spi::Scope& scope);
  /// Whether the scope was added and not removed yet.
  [[nodiscard]] bool has(const spi::Scope& scope) const;
  /// Whether the scope is removed and its holder will not be called any more.
  [[nodiscard]] bool quiet(const spi::Scope& scope) const;

  /// Drains the scope, releases each shard as it becomes idle, so that others take over, and takes
  /// no part in it until `resume`.
  void pause(const spi::Scope& scope);
  /// Takes part again, even if the pause is not complete; draining shards are still released.
  void resume(const spi::Scope& scope);
  /// Whether `pause` was called and no shard is held any more.
  [[nodiscard]] bool paused(const spi::Scope& scope) const;

  /// If `hangs`, the work on this scope hangs: its shards are released at once as unclean, and the
  /// worker takes no part in it until this is called with false. Other scopes continue.
  void set_hanging(const spi::Scope& scope, bool hangs);

  /// Sets another lease from the next step on, with intervals in proportion. Must be positive.
  void set_lease(Duration lease) noexcept { lease_wanted_.store(lease.count()); }
  /// Whether it has no lease because it takes part in no scope.
  [[nodiscard]] bool away() const noexcept { return away_.load(std::memory_order_acquire); }

  /// Drains and releases all scopes, then stops permanently. Also ends pauses.
  void begin_stop() noexcept { stopping_.store(true, std::memory_order_release); }
  /// The time limit of the drain is reached: tries once to release idle shards, then leaves. The
  /// other shards count as unclean.
  void abandon_remaining() noexcept {
    abandoning_.store(true, std::memory_order_release);
    begin_stop();
  }
  [[nodiscard]] bool stopping() const noexcept { return stopping_.load(std::memory_order_acquire); }
  [[nodiscard]] bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }

 private:
  struct Backoff {
    std::uint32_t failures = 0;
    BootTime retry_at = BootTime::min();
  };
  /// The requests for a scope and their progress. Set by any thread, except `away` and `quiet`,
  /// which the worker's own thread sets.
  struct Wishes {
    std::atomic<bool> pausing{false};
    std::atomic<bool> hanging{false};
    std::atomic<bool> leaving{false};
    std::atomic<bool> abandoning{false};
    std::atomic<bool> away{false};   ///< not a member, holds no shard
    std::atomic<bool> quiet{false};  ///< leaving, and holds no shard

    [[nodiscard]] Wish wish() const noexcept {
      if (leaving.load(std::memory_order_acquire)) return Wish::leave;
      const bool stays_away =
          pausing.load(std::memory_order_acquire) || hanging.load(std::memory_order_acquire);
      return stays_away ? Wish::stay_away : Wish::take_part;
    }
  };
  struct ScopeState {
    HeldShards shards;
    std::shared_ptr<Wishes> wishes;
    Membership membership = Membership::out;
    /// The store refused a join of several scopes that included this one.
    bool join_alone = false;
    std::optional<spi::Census> census{};
    bool take_tried = false;
    BootTime count_at = BootTime::min();
    Backoff backoff{};
  };
  struct LostNote {
    spi::Scope scope;
    Shard shard;
    std::optional<Epoch> epoch;
    friend bool operator==(const LostNote&, const LostNote&) = default;
  };
  struct TimelineNote {
    std::optional<Timeline> seen;
    friend bool operator==(const TimelineNote&, const TimelineNote&) = default;
  };
  using Note = std::variant<LostNote, TimelineNote>;

  [[nodiscard]] View view(BootTime now) const;
  /// nullopt for an action without a call of the store, which is complete on return.
  std::optional<Request> act(const Action& action);
  [[nodiscard]] Request ask(decltype(Request::call) call) const;
  Request join(std::size_t first);
  Request withdraw(std::optional<std::size_t> scope);
  Request release(const Release& action);
  Request leave();

  /// Adds new scopes since the last step, and applies a new lease.
  void apply_changes();
  /// Updates `away` and `quiet`, and removes scopes that have left.
  void take_stock();
  [[nodiscard]] ScopeState* find(const spi::Scope& scope);
  [[nodiscard]] std::shared_ptr<Wishes> wishes_of(const spi::Scope& scope) const;

  void apply_join(const Request& request, const Result<spi::LeaseReply>& reply);
  void apply_renew(const Request& request, const Result<spi::LeaseReply>& reply);
  void apply_census(ScopeState& scope, Result<spi::Census> reply);
  void apply_take(ScopeState& scope, const Result<std::vector<spi::OwnedShard>>& reply);
  void apply_release(ScopeState& scope, const Request::Release& release, const Status& reply);
  void apply_withdraw(const Request::Withdraw& withdraw, const Status& reply);
  void apply_leave(const Status& reply);
  void join_refused(const Request::Join& join, const Error& error);
  /// Becomes active when all scopes that can be joined are joined.
  void end_joining();

  void note(Note note);
  void handle_notes();
  void lease_expired(std::string_view why);
  /// Continues as a new worker, because this one lost its membership.
  void start_over(std::string_view why);
  /// Resets the state, with a new id and no shards.
  void begin_anew(std::string_view why);
  void go_away();
  void come_back();
  /// If `timeline` is not the one this worker joined, starts over and returns false.
  bool same_timeline(Timeline timeline);
  void lease_from(BootTime asked);
  void publish_lease(BootTime until) noexcept;
  void finish();

  void failed(Backoff& backoff, std::string_view call, const Error& error);
  static void succeeded(Backoff& backoff) { backoff = {}; }

  WorkerParts parts_;
  WorkerOptions options_;
  std::vector<std::unique_ptr<ScopeState>> scopes_;
  ErrorMetrics errors_;
  Counter& expired_total_;

  State state_ = State::joining;
  BootTime now_{};
  bool awaiting_reply_ = false;
  bool join_sent_ = false;
  bool withdrawn_ = false;
  BootTime lease_ends_ = BootTime::max();
  BootTime renew_at_ = BootTime::min();
  Backoff lease_backoff_;
  std::uint32_t leaves_failed_ = 0;
  std::optional<Timeline> timeline_;
  std::size_t scope_first_ = 0;

  std::atomic<BootTime::rep> live_until_;
  std::atomic<Duration::rep> lease_wanted_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> away_{false};
  std::atomic<bool> abandoning_{false};
  std::atomic<bool> stopped_{false};

  mutable std::mutex mutex_;  // protects the members below
  WorkerId id_;               // written by the worker's thread only
  std::vector<Note> notes_;
  std::vector<ScopeOptions> added_;
  std::map<spi::Scope, std::shared_ptr<Wishes>> wishes_;
};

}  // namespace sagabox::ownership
