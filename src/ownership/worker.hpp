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
#include <mutex>
#include <optional>
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
  struct Withdraw {};
  struct Leave {};

  WorkerId worker;
  BootTime asked{};  ///< before the call was made: a lease counts from here
  std::variant<Join, Renew, Census, Take, Release, Withdraw, Leave> call;
};

using Reply = std::variant<Result<spi::LeaseReply>, Result<spi::Census>,
                           Result<std::vector<spi::OwnedShard>>, Status>;

/// A process's part in the scopes it shares with others: joins, renews one lease for all of them,
/// takes its share of the shards and hands over what is above it, one shard at a time.
///
/// A step has three parts that can be called apart. `plan`, `perform`, `apply`, `next_due` and
/// `step` belong to one thread, which is also the only one to call the holders; everything else
/// is safe from any thread. No error of the store ends a worker.
class Worker {
 public:
  /// Scopes have different names, at least one shard and a holder. Throws std::invalid_argument
  /// otherwise, or when the options do not pass their check.
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

  /// Drain everything, release each shard as it becomes idle, so that others take over, then
  /// leave until `resume`.
  void pause() noexcept { pausing_.store(true, std::memory_order_release); }
  /// Take part again, whatever of the pause is done; what drains already is still given away.
  void resume() noexcept { pausing_.store(false, std::memory_order_release); }
  /// `pause` has been called and nothing is held any more.
  [[nodiscard]] bool paused() const noexcept {
    return pausing_.load(std::memory_order_acquire) && away_.load(std::memory_order_acquire);
  }

  /// The same, then end for good. Also ends a pause.
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
  struct ScopeState {
    HeldShards shards;
    std::optional<spi::Census> census{};
    bool take_tried = false;
    BootTime count_at = BootTime::min();
    Backoff backoff{};
  };
  /// `join` names one shard count at a time.
  struct JoinGroup {
    std::uint16_t shards;
    std::vector<spi::Scope> scopes;
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
  Request release(const Release& action);
  Request leave();

  void apply_join(const Request& request, const Result<spi::LeaseReply>& reply);
  void apply_renew(const Request& request, const Result<spi::LeaseReply>& reply);
  void apply_census(ScopeState& scope, Result<spi::Census> reply);
  void apply_take(ScopeState& scope, const Result<std::vector<spi::OwnedShard>>& reply);
  void apply_release(ScopeState& scope, const Request::Release& release, const Status& reply);
  void apply_leave(const Status& reply);

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
  const WorkerOptions options_;
  std::vector<ScopeState> scopes_;
  std::vector<JoinGroup> join_groups_;
  ErrorFigures errors_;
  Counter& expired_total_;

  State state_ = State::joining;
  BootTime now_{};
  bool awaiting_reply_ = false;
  std::size_t groups_joined_ = 0;
  bool join_sent_ = false;
  bool withdrawn_ = false;
  BootTime lease_ends_ = BootTime::max();
  BootTime renew_at_ = BootTime::min();
  Backoff lease_backoff_;
  std::uint32_t leaves_failed_ = 0;
  std::optional<Timeline> timeline_;
  std::size_t scope_first_ = 0;

  std::atomic<BootTime::rep> live_until_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> pausing_{false};
  std::atomic<bool> away_{false};
  std::atomic<bool> abandoning_{false};
  std::atomic<bool> stopped_{false};

  mutable std::mutex mutex_;  // of the two below
  WorkerId id_;               // written by the worker's thread only
  std::vector<Note> notes_;
};

}  // namespace sagabox::ownership
