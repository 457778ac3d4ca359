#pragma once

#include "observe/error_figures.hpp"
#include "outbox/dispatch/fair_queues.hpp"
#include "outbox/dispatch/flights.hpp"
#include "outbox/dispatch/registry.hpp"
#include "outbox/dispatch/unrouted.hpp"
#include "outbox/read/cautious_gate.hpp"
#include "outbox/read/shards.hpp"
#include "outbox/settle/verdict.hpp"
#include "outbox/upkeep/pauses.hpp"
#include "runtime/wakeup.hpp"

#include <sagabox/audit.hpp>
#include <sagabox/log.hpp>
#include <sagabox/outbox.hpp>
#include <sagabox/spi/sink.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

namespace sagabox::outbox {

/// A place where a handler runs: one a worker thread, and one a spare. Belongs to its thread.
class Runner {
 public:
  [[nodiscard]] const Entry& entry() const noexcept { return entry_; }
  [[nodiscard]] Delivery delivery() const { return Delivery(facts_); }
  [[nodiscard]] bool timed_out() const;

 private:
  friend class Dispatcher;
  /// Whose the rest is: the runner's own thread's while idle or ending, for all to read while it
  /// runs, and the watching thread's while watched.
  enum class State : std::uint8_t {
    idle,
    running,
    watched,  ///< somebody looks at it; its end waits for that
    told,     ///< running, and told at its deadline to stop
    ending,
  };
  /// False unless it runs and was not told yet; waits while somebody else looks. `release` must
  /// follow.
  [[nodiscard]] bool watch();
  void release(State state);
  /// As `watch`, also of one that was told. The state to release it to; nullopt: it is idle.
  [[nodiscard]] std::optional<State> look();
  /// The handler has returned. False: it had been told to stop.
  [[nodiscard]] bool end();

  std::atomic<State> state_{State::idle};
  Entry entry_;
  Delivery::Facts facts_;
  BootTime started_{};
  std::stop_source stop_;
  const Route* route_ = nullptr;
  std::uint32_t turn_ = 0;
  std::vector<spi::Dispatch> outgoing_;
};

/// A row of a transaction that has not committed yet, for which the hot path keeps a place.
struct Reservation {
  Shard shard;
  std::uint32_t tenure = 0;
  Sequence sequence{};
  std::shared_ptr<const Message> message;
};

/// Takes messages from the queues to their handlers, or to the sink, and judges what becomes of
/// them. Thread-safe; each Runner belongs to one thread.
class Dispatcher final : public spi::DispatchResults {
 public:
  struct Parts {
    const TableName& table;
    const OutboxOptions& options;
    Shards& shards;
    Room& room;
    const Registry& registry;
    const Pauses& pauses;
    const Unrouted& unrouted;
    std::function<void()> wake_reader;
    /// Classes that were closed may go again.
    std::function<void()> reopen;
  };
  explicit Dispatcher(Parts parts);

  /// What intake has taken: ready ones are queued, the others wait for their turn.
  void accept(ShardState::Taken& taken);

  [[nodiscard]] Runner& runner(std::size_t number) { return *runners_[number]; }
  [[nodiscard]] std::size_t runners() const noexcept { return runners_.size(); }

  enum class Took : std::uint8_t {
    nothing,  ///< there is no message, or none may start now
    handler,  ///< one is in the runner, and its handler is to be run
    sink,     ///< some went to the sink
  };
  /// The next message into this runner, after all before it that go to the sink.
  [[nodiscard]] Took take(Runner& runner, BootTime now);
  [[nodiscard]] Outcome invoke(const Runner& runner) const noexcept;
  void complete(Runner& runner, Outcome outcome, BootTime now);
  /// What the sink answers.
  void dispatched(spi::Ticket ticket, spi::Dispatched result) noexcept override;
  void opened() noexcept override;

  /// Tells handlers past their deadline to stop and records the attempt. Returns how many were
  /// told for the first time.
  std::size_t check_deadlines(BootTime now);
  /// Sets the token of every running handler; no attempt is spent by that.
  void tell_all_to_stop();
  /// Handlers that were told at their deadline and still run.
  [[nodiscard]] std::size_t overdue() const { return overdue_.load(); }

  /// The attempt of a cautious message is in the store: it may be dispatched.
  void attempt_written(Shard shard, Sequence sequence, std::uint32_t tenure);
  /// The store refuses to write the attempt of a cautious message: it is not dispatched, and `park`
  /// goes to the store instead. No-op where nobody waits for the attempt.
  void attempt_refused(const spi::Settlement& park, std::uint32_t tenure);
  /// The shard is no longer ours.
  void dropped(Shard shard);

  /// Nothing: the message goes by the cold path.
  [[nodiscard]] std::optional<Reservation> reserve(const Written& written,
                                                   std::shared_ptr<const Message> message);
  void committed(Reservation reservation) noexcept;
  void cancelled(const Reservation& reservation) noexcept;

  /// Handlers, and what the sink has in hand.
  [[nodiscard]] std::size_t running() const;
  [[nodiscard]] std::uint64_t hot_dropped() const { return dropped_.load(); }
  /// Messages of open transactions that want to go by the hot path.
  [[nodiscard]] std::uint32_t reserved() const { return reserved_.load(); }
  /// Where a message is that has left the queues and has not ended.
  [[nodiscard]] std::optional<OwnerView::InHand> under_way(Shard shard, Sequence sequence);
  /// Messages that left the queues since the beginning.
  [[nodiscard]] std::uint64_t taken() const { return queues_.taken(); }
  /// There is a message that may start.
  [[nodiscard]] bool work_waits() const {
    return !queues_.seems_empty() && !parts_.pauses.whole_table();
  }
  /// Rung when a message has been queued.
  runtime::Wakeup& work_wakeup() noexcept { return work_wakeup_; }

 private:
  void queue(Entry entry);
  /// `likely`: where the message before it went.
  [[nodiscard]] const Route* route(const Message& message, const Route* likely) const {
    return likely != nullptr && likely->serves(message) ? likely : invoker_.route(message);
  }
  void find_routes(std::vector<Entry>& entries) const;
  void let_cautious_go();
  void cautious_finished();
  void begin(Runner& runner, Entry entry, Epoch epoch, BootTime now);
  [[nodiscard]] Delivery::Facts facts(const Entry& entry, Epoch epoch, BootTime now) const;
  /// Nothing: no message is left that may start.
  [[nodiscard]] std::optional<Epoch> pop(Runner& runner, Entry& entry);
  /// For the sink's hands, unless an interceptor will not have it.
  void hand_over(std::vector<spi::Dispatch>& out);
  void send(Entry entry, Epoch epoch, BootTime now, std::vector<spi::Dispatch>& out);

  /// An attempt that has ended, wherever it was made.
  struct Ended {
    const Entry& entry;
    const Route* route = nullptr;
    BootTime started{};
    spi::Settlement settlement;
    const std::string& error;
    bool counted = false;  ///< a timeout was, at its deadline
  };
  /// Counts and reports it, settles it, and lets the next of its key go. `idle` is called with the
  /// shard locked: nobody may see the message settled and its handler still running.
  template <class Idle>
  void conclude(Ended ended, BootTime now, Idle&& idle);
  void set_back(const Entry& entry, BootTime now);
  /// Its route is gone since its turn came, and it may wait for another.
  [[nodiscard]] bool waits_for_route(const Entry& entry) const;
  void lost_its_route(const Entry& entry, BootTime now);
  void follow(const Entry& entry, ShardState::Completed completed, BootTime now);
  void report(const Ended& ended, BootTime now);
  void report_buried(const ShardState::Buried& buried);
  /// `message`: null when it could not be decoded.
  void audit(AuditKind kind, const Message* message, const spi::Settlement& settlement);

  struct Figures {
    Figures(Metrics& metrics, std::string_view table);
    Counter& hot;
    Counter& hot_dropped;
    Histogram& latency;
    ErrorFigures errors;
    bool read;  ///< by somebody: the wall clock is asked for the latency only then
  };

  Parts parts_;
  Judgement judgement_;
  Invoker invoker_;
  Figures figures_;
  FairQueues queues_;
  std::vector<std::unique_ptr<Runner>> runners_;
  Flights flights_;
  std::atomic<std::uint32_t> overdue_{0};
  std::atomic<std::uint32_t> reserved_{0};
  std::atomic<std::uint64_t> dropped_{0};

  std::mutex cautious_mutex_;
  CautiousGate cautious_;
  runtime::Wakeup work_wakeup_;
};

}  // namespace sagabox::outbox
