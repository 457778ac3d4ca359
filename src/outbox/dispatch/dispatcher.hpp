#pragma once

#include "observe/error_metrics.hpp"
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

/// The state of a running handler: one for each worker thread and each spare thread. Used by its
/// thread only.
class Runner {
 public:
  [[nodiscard]] const Entry& entry() const noexcept { return entry_; }
  [[nodiscard]] Delivery delivery() const { return Delivery(facts_); }
  [[nodiscard]] bool timed_out() const;

 private:
  friend class Dispatcher;
  /// Who may access the other members: the runner's own thread while idle or ending, all threads
  /// (reading only) while running, and the watching thread while watched.
  enum class State : std::uint8_t {
    idle,
    running,
    watched,  ///< another thread inspects it; `end` waits for that
    told,     ///< running past its deadline, and stop was requested
    ending,
  };
  /// Returns false unless the handler runs and no stop was requested yet; waits while another
  /// thread watches. If true, `release` must follow.
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

/// A reservation on the hot path for a row of a transaction that has not committed yet.
struct Reservation {
  Shard shard;
  std::uint32_t tenure = 0;
  Sequence sequence{};
  std::shared_ptr<const Message> message;
};

/// Passes messages from the queues to their handlers, or to the sink, and settles the results.
/// Thread-safe; each Runner belongs to one thread.
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
    /// Called when closed classes may be open again.
    std::function<void()> reopen;
  };
  explicit Dispatcher(Parts parts);

  /// Accepts the messages that intake has taken: ready ones are queued, cautious ones wait.
  void accept(ShardState::Taken& taken);

  [[nodiscard]] Runner& runner(std::size_t number) { return *runners_[number]; }
  [[nodiscard]] std::size_t runners() const noexcept { return runners_.size(); }

  enum class Took : std::uint8_t {
    nothing,  ///< no message, or none may start now
    handler,  ///< a message is in the runner; call `invoke`
    sink,     ///< messages were passed to the sink
  };
  /// Takes the next message for a handler into this runner; messages before it are passed to the
  /// sink.
  [[nodiscard]] Took take(Runner& runner, BootTime now);
  [[nodiscard]] Outcome invoke(const Runner& runner) const noexcept;
  void complete(Runner& runner, Outcome outcome, BootTime now);
  /// The result from the sink.
  void dispatched(spi::Ticket ticket, spi::Dispatched result) noexcept override;
  void opened() noexcept override;

  /// Requests stop of handlers past their deadline and records the attempt. Returns the number of
  /// new requests.
  std::size_t check_deadlines(BootTime now);
  /// Requests stop of every running handler; this spends no attempt.
  void tell_all_to_stop();
  /// Handlers that still run after stop was requested at their deadline.
  [[nodiscard]] std::size_t overdue() const { return overdue_.load(); }

  /// The attempt of a cautious message was stored: the message may be dispatched.
  void attempt_written(Shard shard, Sequence sequence, std::uint32_t tenure);
  /// The store refuses to store the attempt of a cautious message: the message is not dispatched,
  /// and `park` is settled instead. No-op if no message waits for the attempt.
  void attempt_refused(const spi::Settlement& park, std::uint32_t tenure);
  /// This process no longer owns the shard.
  void dropped(Shard shard);

  /// nullopt: the message takes the cold path.
  [[nodiscard]] std::optional<Reservation> reserve(const Written& written,
                                                   std::shared_ptr<const Message> message);
  void committed(Reservation reservation) noexcept;
  void cancelled(const Reservation& reservation) noexcept;

  /// Running handlers plus messages held by the sink.
  [[nodiscard]] std::size_t running() const;
  [[nodiscard]] std::uint64_t hot_dropped() const { return dropped_.load(); }
  /// Messages of open transactions with a reservation on the hot path.
  [[nodiscard]] std::uint32_t reserved() const { return reserved_.load(); }
  /// Where a message is that has left the queues and has not ended.
  [[nodiscard]] std::optional<OwnerView::InHand> under_way(Shard shard, Sequence sequence);
  /// Messages that left the queues since the beginning.
  [[nodiscard]] std::uint64_t taken() const { return queues_.taken(); }
  /// Whether there is a message that may start.
  [[nodiscard]] bool work_waits() const {
    return !queues_.seems_empty() && !parts_.pauses.whole_table();
  }
  /// Notified when a message has been queued.
  runtime::Wakeup& work_wakeup() noexcept { return work_wakeup_; }

 private:
  void queue(Entry entry);
  /// `likely`: the route of the previous message.
  [[nodiscard]] const Route* route(const Message& message, const Route* likely) const {
    return likely != nullptr && likely->serves(message) ? likely : invoker_.route(message);
  }
  void find_routes(std::vector<Entry>& entries) const;
  void let_cautious_go();
  void cautious_finished();
  void begin(Runner& runner, Entry entry, Epoch epoch, BootTime now);
  [[nodiscard]] Delivery::Facts facts(const Entry& entry, Epoch epoch, BootTime now) const;
  /// nullopt: there is no message that may start.
  [[nodiscard]] std::optional<Epoch> pop(Runner& runner, Entry& entry);
  /// `send` adds a message to `out` unless an interceptor rejects it; `hand_over` passes `out` to
  /// the sink.
  void hand_over(std::vector<spi::Dispatch>& out);
  void send(Entry entry, Epoch epoch, BootTime now, std::vector<spi::Dispatch>& out);

  /// An attempt that has ended, in a handler or in the sink.
  struct Ended {
    const Entry& entry;
    const Route* route = nullptr;
    BootTime started{};
    spi::Settlement settlement;
    const std::string& error;
    bool counted = false;  ///< its timeout was counted at the deadline
  };
  /// Counts, reports and settles it, and starts the next message of its key. `idle` is called with
  /// the shard locked, so that no thread sees the message settled while its handler still counts as
  /// running.
  template <class Idle>
  void conclude(Ended ended, BootTime now, Idle&& idle);
  void requeue(const Entry& entry, BootTime now);
  /// Its route is gone since its turn came, and it may wait for another.
  [[nodiscard]] bool waits_for_route(const Entry& entry) const;
  /// Mode competing: it may have been claimed from a process that has a route for it. It goes back
  /// to the shard that it was written to, as one that waits.
  [[nodiscard]] bool releases_claim(const Entry& entry) const;
  void lost_its_route(const Entry& entry, BootTime now);
  void follow(const Entry& entry, ShardState::Completed completed, BootTime now);
  void report(const Ended& ended, BootTime now);
  void report_buried(const ShardState::Buried& buried);
  /// `message`: null if it could not be decoded.
  void audit(AuditKind kind, const Message* message, const spi::Settlement& settlement);

  struct Instruments {
    Instruments(Metrics& metrics, std::string_view table);
    Counter& hot;
    Counter& hot_dropped;
    Histogram& latency;
    ErrorMetrics errors;
    bool read;  ///< whether metrics are recorded: only then is the wall clock read for the latency
  };

  Parts parts_;
  Judgement judgement_;
  Invoker invoker_;
  Instruments instruments_;
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
