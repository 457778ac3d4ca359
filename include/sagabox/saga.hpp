#pragma once

#include <sagabox/error.hpp>
#include <sagabox/limits.hpp>
#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/random.hpp>
#include <sagabox/result.hpp>
#include <sagabox/saga_definition.hpp>
#include <sagabox/saga_record.hpp>
#include <sagabox/spi/inbox.hpp>
#include <sagabox/spi/transport.hpp>
#include <sagabox/store.hpp>
#include <sagabox/time.hpp>
#include <sagabox/tracing.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Sagas: processes of several steps that end well, or are undone, or visibly wait for a person.
///
///     auto sagas = Sagas::create(store).value();
///     sagas.function("book_flight", [](const SagaCall& call) {
///       return saga_ok(book(call.input(), call.idempotency_key()));
///     }).value();
///     …
///     sagas.define({.name = "travel", .steps = {
///         {.name = "flight", .action = "fn:book_flight", .compensation = "fn:cancel_flight"},
///         {.name = "hotel", .action = "fn:book_hotel", .compensation =
///         "fn:cancel_hotel"}}}).value();
///     sagas.start().value();
///     store.transaction([&](Transaction& tx) {
///       return sagas.start_saga(tx, {.definition = "travel", .input = R"({"who": "Ada"})"});
///     });
///
/// docs/sagas.md says how to write definitions and participants.
namespace sagabox {

/// What a function answers to a call.
struct SagaAnswer {
  enum class Kind : std::uint8_t {
    ok,     ///< done; `output` is kept
    retry,  ///< it had no effect, and may be called again
    fail,   ///< it had no effect, and must not be called again: the saga is compensated
    wait,   ///< accepted: a `reply` command says later how it ended
    later,  ///< `SagaCall::completion` says in this process how it ended
  };
  Kind kind = Kind::ok;
  std::string output{};  ///< JSON, 64 KiB at most; empty: null
  std::string error{};   ///< what an operator reads; no payload, no secret
  std::optional<Duration> retry_after{};
};

inline SagaAnswer saga_ok(std::string output = {}) { return {.output = std::move(output)}; }
inline SagaAnswer saga_retry(std::string why) {
  return {.kind = SagaAnswer::Kind::retry, .error = std::move(why)};
}
inline SagaAnswer saga_fail(std::string why) {
  return {.kind = SagaAnswer::Kind::fail, .error = std::move(why)};
}
inline SagaAnswer saga_wait() { return {.kind = SagaAnswer::Kind::wait}; }
inline SagaAnswer saga_later() { return {.kind = SagaAnswer::Kind::later}; }

/// Ends a call after its function has returned `saga_later()`, from any thread. Copies end the same
/// call; the first one counts. When the last copy goes without a word, the call's deadline passes
/// or this process ends, the call is in doubt. May outlive the `Sagas`: it does nothing then.
class SagaCompletion {
 public:
  struct State;
  explicit SagaCompletion(std::shared_ptr<State> state) : state_(std::move(state)) {}
  void complete(SagaAnswer answer) const;

 private:
  std::shared_ptr<State> state_;
};

/// One call of a function, as it sees it. Valid during the call only.
class SagaCall {
 public:
  struct Facts;
  explicit SagaCall(const Facts& facts) : facts_(facts) {}

  [[nodiscard]] const SagaId& saga() const noexcept;
  [[nodiscard]] const std::string& definition() const noexcept;
  [[nodiscard]] const std::string& tenant() const noexcept;
  [[nodiscard]] const std::string& step() const noexcept;
  /// Whether the step is done or undone.
  [[nodiscard]] BarrierDirection direction() const noexcept;
  [[nodiscard]] const std::string& input() const noexcept;  ///< JSON
  /// 1 is the first.
  [[nodiscard]] std::uint32_t attempt() const noexcept;
  /// The same whenever the same thing is asked again: pass it on to whoever does the work.
  [[nodiscard]] const std::string& idempotency_key() const noexcept;
  /// Rises whenever the saga's shard changes hands: a participant that remembers the highest one
  /// can refuse what a stale owner still sends.
  [[nodiscard]] Epoch epoch() const noexcept;
  [[nodiscard]] BootTime deadline() const noexcept;
  /// Set at the deadline, and when the result no longer matters. A call that goes on keeps its
  /// thread.
  [[nodiscard]] const std::stop_token& stop_token() const noexcept;
  /// Of this call's span, if it has one, else as the saga was started with.
  [[nodiscard]] const std::string& traceparent() const noexcept;
  /// For `Inbox::barrier`, so that a participant's own transaction takes effect once.
  [[nodiscard]] BarrierCall barrier() const;
  /// For `saga_later()`.
  [[nodiscard]] SagaCompletion completion() const;
  /// Passed on, it lets whoever has it reply to a call that answered `saga_wait()`. Empty unless
  /// `SagaOptions::reply_secret` is set.
  [[nodiscard]] std::string reply_token() const;

 private:
  const Facts& facts_;
};

/// Does a step, or undoes it. An exception means that the call is in doubt. Called from several
/// threads.
using SagaFunction = std::function<SagaAnswer(const SagaCall&)>;

/// How fast participants are called over transports, in this process. A call that is over a limit
/// waits: it spends no attempt, and other sagas go on. Functions and messages are not held.
struct SagaLimits {
  using Named = std::map<std::string, Limits, std::less<>>;

  Named transports{};    ///< of all calls over one: "http"
  Limits participant{};  ///< of each participant alone
  Named participants{};  ///< other ones for some: "https://flights.example.com"
  Limits definition{};   ///< of the sagas of each definition alone
  Named definitions{};   ///< other ones for some, by name
  Limits tenant{};       ///< of each tenant alone
  Named tenants{};       ///< other ones for some, by name

  /// Names the limit that is wrong and what would be right.
  [[nodiscard]] Status check() const;
};

struct SagaOptions {
  static constexpr std::size_t reply_secret_length_min = 16;

  std::uint32_t workers = 4;  ///< functions that run at the same time, spares aside
  /// Threads that may stand in for functions past their deadline.
  std::uint32_t spare_workers_max = 4;
  /// Sagas in memory at most, of each definition. What only waits is not kept.
  std::uint32_t instances_max = 20'000;
  /// Calls that run at most before sagas that start or are due have to wait, of each definition.
  std::uint32_t calls_max = 4096;
  std::uint32_t batch_sagas_max = 2000;  ///< written in one transaction
  /// Sagas that ended well or were compensated are kept so long; dead ones for ever.
  Duration retention = std::chrono::hours(24 * 7);
  /// Participants are told to remember calls so long after the deadline of the saga, or of the call
  /// where it has none. A compensation that comes later finds no note of its action.
  Duration remember = std::chrono::hours(24 * 30);
  Duration poll_interval = std::chrono::milliseconds(100);
  Duration lease = std::chrono::seconds(15);
  /// Whoever hands a shard over, or stops, waits so long for calls that may be repeated.
  Duration drain_timeout = std::chrono::seconds(5);
  std::string reply_secret{};  ///< the same in all processes; empty: no reply tokens
  /// The one before it: tokens that were made with it are still taken. Set both in all processes
  /// before it changes, and this one for `reply_token_ttl` afterwards.
  std::string reply_secret_before{};
  /// Longer than any step waits for its reply.
  Duration reply_token_ttl = std::chrono::hours(24 * 30);

  /// For HTTP participants: "http" serves http:// and https://.
  std::map<std::string, std::shared_ptr<spi::Transport>, std::less<>> transports{};
  /// Of the addresses of all participants, as those of routes: `secret`, `header.NAME` …
  spi::AddressSettings participant_settings{};
  /// Of one definition's participants, by its name: those here go before those above.
  std::map<std::string, spi::AddressSettings, std::less<>> settings_of_definition{};
  BreakerOptions breaker{};  ///< of each participant
  SagaLimits limits{};

  SpanSink* spans = nullptr;      ///< outlives the sagas; null: calls have no spans
  double trace_sample_ratio = 1;  ///< of the sagas that were started without a trace

  /// These outlive the sagas.
  Metrics* metrics = &no_metrics();
  Logger* log = &no_log();
  const Clock* clock = &system_clock();
  Random* random = &system_random();

  /// Names the setting that is wrong and what would be right.
  [[nodiscard]] Status check() const;
};

/// What starts a saga.
struct SagaStart {
  std::string definition;
  std::string input{};  ///< JSON; empty: null
  /// The same key of a tenant and definition starts one saga, once. Another input for it is
  /// refused.
  std::string key{};
  std::string tenant{tenant_default};
  /// One saga at a time with this; empty: as the definition has it.
  std::string isolate{};
  std::vector<SagaLabel> labels{};
  std::optional<Duration> timeout{};       ///< instead of the definition's
  std::optional<std::uint32_t> version{};  ///< of the definition; null: the newest
  std::string traceparent{};
};

/// What somebody asks of a saga; `start` is not among it.
struct SagaRequest {
  SagaId saga{};
  SagaCommandKind kind = SagaCommandKind::signal;
  std::string tenant{tenant_default};
  std::string definition{};  ///< of the saga; empty: looked up
  CommandId id{};            ///< the same id is applied once; empty: a new one

  std::string name{};     ///< signal: which
  std::string payload{};  ///< signal: JSON
  /// reply, set_step: which step. approve: empty is the one that waits.
  std::string step{};
  BarrierDirection direction = BarrierDirection::action;  ///< reply
  std::optional<std::uint32_t> round{};                   ///< reply; null: the present one
  SagaAnswer answer{};                                    ///< reply: ok, retry or fail
  bool approved = true;                                   ///< approve
  std::optional<SagaStepState> state{};  ///< set_step: pending, succeeded, failed, undone, skipped
  bool into_compensation = false;        ///< replay
  std::string actor{};                   ///< who asks
  std::string note{};
};

/// What became of a request.
struct SagaRequestReply {
  enum class State : std::uint8_t {
    applied,
    refused,
    pending,  ///< it is stored, and not yet applied
  };
  CommandId id{};
  State state = State::pending;
  std::string reason{};  ///< why it was refused
};

/// What the sagas of this process are doing.
struct SagasSnapshot {
  std::uint32_t shards_owned = 0;
  std::uint64_t in_memory = 0;
  std::uint64_t calls = 0;    ///< running
  std::uint64_t started = 0;  ///< since the start of this process, as all below
  std::uint64_t completed = 0;
  std::uint64_t compensated = 0;
  std::uint64_t failed = 0;
  std::uint64_t batches = 0;
  std::uint64_t findings = 0;
};

/// A saga that does not go on, and why.
struct SagaFinding {
  std::string definition{};
  SagaId saga{};
  Code code = Code::unknown_internal;
  std::string text{};
  WallTime since{};
};

/// Starts sagas in your transactions, and runs those whose definitions this process has. Any number
/// of processes may. Thread-safe; `function` and `define` before `start`.
class Sagas {
 public:
  /// Makes the tables, or brings them up to date. CONFIG.INVALID: the store has no sagas.
  static Result<Sagas> create(Store& store, SagaOptions options = {});
  Sagas(Sagas&&) noexcept;
  Sagas& operator=(Sagas&&) noexcept;
  /// Stops, and waits for functions that still run.
  ~Sagas();

  /// For "fn:NAME".
  Status function(std::string name, SagaFunction function);
  /// CONFIG.INVALID: it has mistakes, or names a function or transport that is not there.
  /// TX.INVALID_STATE: the store has this name and version with other content. Versions of a name
  /// stand beside each other; a saga goes on with the one it was started with.
  Status define(SagaDefinition definition);

  /// From now on this process runs sagas of what it has defined. Without definitions it only starts
  /// sagas and asks things of them.
  Status start();
  /// Begins nothing new and gives its shards to others. Calls that may be repeated are waited for
  /// until `drain_timeout`, then left to the next owner. TX.TIMEOUT when functions still run.
  Status stop();

  /// The saga begins when the transaction commits. No commit, no saga.
  Result<SagaId> start_saga(Transaction& tx, const SagaStart& start);
  /// In a transaction of its own.
  Result<SagaId> start_saga(const SagaStart& start);
  /// In your transaction; it is applied some time after the commit.
  Result<CommandId> request(Transaction& tx, const SagaRequest& request);
  /// In a transaction of its own; waits up to `limit` for what becomes of it.
  Result<SagaRequestReply> request(const SagaRequest& request,
                                   Duration limit = std::chrono::seconds(5));
  /// The answer of a participant that has a reply token. AUTH.DENIED: it is not one of ours.
  Result<SagaRequestReply> reply(std::string_view token, SagaAnswer answer,
                                 Duration limit = std::chrono::seconds(5));

  [[nodiscard]] SagasSnapshot snapshot() const;
  [[nodiscard]] std::vector<SagaFinding> findings(std::size_t rows_max = 100) const;

 private:
  struct Parts;
  explicit Sagas(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace sagabox
