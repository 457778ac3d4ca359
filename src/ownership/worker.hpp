#pragma once

#include "observe/error_figures.hpp"
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
  /// The worker stops this long before its lease ends by its own count.
  Duration lease_margin = std::chrono::seconds(3);
  Duration renew_interval = std::chrono::seconds(5);
  Duration census_interval = std::chrono::seconds(1);
  /// How often a draining shard's holder is asked whether it is idle.
  Duration drain_poll_interval = std::chrono::milliseconds(10);

  /// Margin and intervals in proportion to the lease, as the defaults are.
  static WorkerOptions for_lease(Duration lease);
  /// Names the setting that is wrong and what would be right.
  [[nodiscard]] Status check() const;
};

/// What a worker works with; all of it outlives the worker.
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
  BootTime asked{};  ///< before the call was made: a lease counts from here
  std::variant<Join, Renew, Census, Take, Release, Withdraw, Leave> call;
};

using Reply = std::variant<Result<spi::LeaseReply>, Result<spi::Census>,
                           Result<std::vector<spi::OwnedShard>>, Status>;

/// A process's part in the scopes it shares with others: joins, renews one lease for all of them,
/// takes its share of the shards and hands over what is above it, one shard at a time. Scopes come
/// and go while it runs; with none that wants it to take part it has no lease, and comes back under
/// a new id when there is one.
///
/// A step has three parts that can be called apart. `plan`, `perform`, `apply`, `next_due` and
/// `step` belong to one thread, which is also the only one to call the holders; everything else
/// is safe from any thread. No error of the store ends a worker.
class Worker {
 public:
  /// Takes part in `scopes` from its first step on. Throws std::invalid_argument when `add` would,
  /// or when the options do not pass their check.
  Worker(WorkerParts parts, std::vector<ScopeOptions> scopes, WorkerOptions options = {});

  /// What to ask the store now, if anything. Gives up expired leases and starts drains on the
  /// way. Every request wants its `apply` before the next `plan`.
  [[nodiscard]] std::optional<Request> plan(BootTime now);
  /// Exactly one call of the store, with no lock held.
  [[nodiscard]] Reply perform(const Request& request) const;
  /// A reply to a worker that has started over in the meantime is ignored.
  void apply(const Request& request, Reply reply, BootTime now);
  /// `plan` has nothing to do before this time unless a holder becomes idle or one of the calls
  /// below is made.
  [[nodiscard]] BootTime next_due() const;
  /// All three at the clock's time. False: there was nothing to do.
  bool step();

  /// Whether shards may be worked on. False is not yet a loss: keep everything until the holder
  /// is told, but begin nothing.
  [[nodiscard]] bool live(BootTime now) const noexcept {
    return now.time_since_epoch().count() < live_until_.load(std::memory_order_acquire);
  }
  /// Another one after every start over.
  [[nodiscard]] WorkerId id() const;

  /// A read or settle saw another history of the database. Ignored when `seen` is the one this
  /// worker has joined already.
  void timeline_changed(std::optional<Timeline> seen = std::nullopt);
  /// A settle found its fence broken. Ignored when the shard is held at another epoch by now.
  void shard_lost(const spi::Scope& scope, Shard shard, std::optional<Epoch> epoch = std::nullopt);

  /// Take part in this scope, too. Throws std::invalid_argument when the worker has a scope of this
  /// name, or it has no shard or no holder.
  void add(ScopeOptions scope);
  /// Drain the scope, release each shard as it becomes idle, so that others take over, and then
  /// forget it. The holder must live until `quiet`.
  void remove(const spi::Scope& scope);
  /// The limit of the drain is reached: what is busy is given away, unclean. After `remove`.
  void abandon(const spi::Scope& scope);
  /// Whether it has been added and not yet been forgotten.
  [[nodiscard]] bool has(const spi::Scope& scope) const;
  /// Removed, and its holder will not be called any more.
  [[nodiscard]] bool quiet(const spi::Scope& scope) const;

  /// Drain the scope, release each shard as it becomes idle, so that others take over, and stay
  /// away from it until `resume`.
  void pause(const spi::Scope& scope);
  /// Take part again, whatever of the pause is done; what drains already is still given away.
  void resume(const spi::Scope& scope);
  /// `pause` has been called and nothing is held any more.
  [[nodiscard]] bool paused(const spi::Scope& scope) const;

  /// Whoever works on this scope hangs: its shards are given away at once, unclean, and it stays
  /// away from it until told that it does not hang any more. Other scopes go on.
  void set_hanging(const spi::Scope& scope, bool hangs);

  /// Another lease from the next step on, with intervals in proportion. Positive.
  void set_lease(Duration lease) noexcept { lease_wanted_.store(lease.count()); }
  /// Has no lease, because no scope wants it to take part.
  [[nodiscard]] bool away() const noexcept { return away_.load(std::memory_order_acquire); }

  /// Drains and releases all scopes, then ends for good. Also ends pauses.
  void begin_stop() noexcept { stopping_.store(true, std::memory_order_release); }
  /// The limit of the drain is reached: release what is idle, try once, and leave. The rest counts
  /// as unclean.
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
  /// What is wanted in a scope, and how far it has come. Set by any thread, `away` and `quiet` by
  /// the worker's own.
  struct Wishes {
    std::atomic<bool> pausing{false};
    std::atomic<bool> hanging{false};
    std::atomic<bool> leaving{false};
    std::atomic<bool> abandoning{false};
    std::atomic<bool> away{false};   ///< no member, holds nothing
    std::atomic<bool> quiet{false};  ///< leaves, and holds nothing

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
    /// The store refused to join several scopes together, of which this is one.
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
  /// Nothing for an action that needs no store: it is done on return.
  std::optional<Request> act(const Action& action);
  [[nodiscard]] Request ask(decltype(Request::call) call) const;
  Request join(std::size_t first);
  Request withdraw(std::optional<std::size_t> scope);
  Request release(const Release& action);
  Request leave();

  /// Those added since the last step, and a new lease.
  void take_in();
  /// Notes what is away and quiet, and forgets scopes that have left.
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
  /// Begins to work once every scope that can be joined is.
  void end_joining();

  void note(Note note);
  void handle_notes();
  void lease_expired(std::string_view why);
  /// As a new worker does, because this one lost its part in the scopes.
  void start_over(std::string_view why);
  /// Under a new id, holding nothing.
  void begin_anew(std::string_view why);
  void go_away();
  void come_back();
  /// False, and everything is forgotten, when `timeline` is not the one this worker joined.
  bool same_timeline(Timeline timeline);
  void lease_from(BootTime asked);
  void publish_lease(BootTime until) noexcept;
  void finish();

  void failed(Backoff& backoff, std::string_view call, const Error& error);
  static void succeeded(Backoff& backoff) { backoff = {}; }

  WorkerParts parts_;
  WorkerOptions options_;
  std::vector<std::unique_ptr<ScopeState>> scopes_;
  ErrorFigures errors_;
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

  mutable std::mutex mutex_;  // of what is below
  WorkerId id_;               // written by the worker's thread only
  std::vector<Note> notes_;
  std::vector<ScopeOptions> added_;
  std::map<spi::Scope, std::shared_ptr<Wishes>> wishes_;
};

}  // namespace sagabox::ownership
