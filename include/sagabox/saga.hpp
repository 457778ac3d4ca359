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

/// Sagas: processes of several steps that complete, or are compensated, or visibly wait for a
/// person.
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
/// docs/sagas.md describes how to write definitions and participants.
namespace sagabox {

/// The answer of a function to a call.
struct SagaAnswer {
  enum class Kind : std::uint8_t {
    ok,     ///< done; `output` is stored
    retry,  ///< it had no effect, and may be called again
    fail,   ///< it had no effect, and must not be called again: the saga is compensated
    wait,   ///< accepted; a later `reply` command gives the result
    later,  ///< `SagaCall::completion` gives the result later, in this process
  };
  Kind kind = Kind::ok;
  std::string output{};  ///< JSON, 64 KiB at most; empty: null
  std::string error{};   ///< shown to operators; no payload, no secret
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

/// One call of a function. Valid during the call only.
class SagaCall {
 public:
  struct Facts;
  explicit SagaCall(const Facts& facts) : facts_(facts) {}

  [[nodiscard]] const SagaId& saga() const noexcept;
  [[nodiscard]] const std::string& definition() const noexcept;
  [[nodiscard]] const std::string& tenant() const noexcept;
  [[nodiscard]] const std::string& step() const noexcept;
  /// Whether the call is the step's action or its compensation.
  [[nodiscard]] BarrierDirection direction() const noexcept;
  [[nodiscard]] const std::string& input() const noexcept;  ///< JSON
  /// The first attempt is 1.
  [[nodiscard]] std::uint32_t attempt() const noexcept;
  /// The same for every repetition of this call: pass it on to the service that does the work.
  [[nodiscard]] const std::string& idempotency_key() const noexcept;
  /// Increases whenever the saga's shard gets another owner: a participant that remembers the
  /// highest epoch can refuse calls that a stale owner still sends.
  [[nodiscard]] Epoch epoch() const noexcept;
  [[nodiscard]] BootTime deadline() const noexcept;
  /// Stop is requested at the deadline, and when the result is no longer needed. A function that
  /// continues keeps its thread.
  [[nodiscard]] const std::stop_token& stop_token() const noexcept;
  /// The trace context of this call's span, if it has one, else the one that the saga was started
  /// with.
  [[nodiscard]] const std::string& traceparent() const noexcept;
  /// The argument for `Inbox::barrier`, so that a participant's own transaction takes effect once.
  [[nodiscard]] BarrierCall barrier() const;
  /// Completes this call after `saga_later()`.
  [[nodiscard]] SagaCompletion completion() const;
  /// Allows its bearer to reply to this call after it answered `saga_wait()`. Empty unless
  /// `SagaOptions::reply_secret` is set.
  [[nodiscard]] std::string reply_token() const;

 private:
  const Facts& facts_;
};

/// Executes or compensates a step. An exception means that the call is in doubt. Called from
/// several threads.
using SagaFunction = std::function<SagaAnswer(const SagaCall&)>;

/// How fast participants are called over transports, in this process. A call that is over a limit
/// waits: it spends no attempt, and other sagas continue. Functions and messages are not limited.
struct SagaLimits {
  using Named = std::map<std::string, Limits, std::less<>>;

  Named transports{};    ///< for all calls over one transport: "http"
  Limits participant{};  ///< for each single participant
  Named participants{};  ///< overrides for some: "https://flights.example.com"
  Limits definition{};   ///< for the sagas of each single definition
  Named definitions{};   ///< overrides for some, by name
  Limits tenant{};       ///< for each single tenant
  Named tenants{};       ///< overrides for some, by name

  /// Names the limit that is wrong and what would be right.
  [[nodiscard]] Status check() const;
};

struct SagaOptions {
  static constexpr std::size_t reply_secret_length_min = 16;

  std::uint32_t workers = 4;  ///< functions that run at the same time, not counting spares
  /// Threads that may replace those of functions past their deadline.
  std::uint32_t spare_workers_max = 4;
  /// The most sagas of each definition in memory. Sagas that only wait are not kept in memory.
  std::uint32_t instances_max = 20'000;
  /// Calls that run at most before sagas that start or are due have to wait, of each definition.
  std::uint32_t calls_max = 4096;
  std::uint32_t batch_sagas_max = 2000;  ///< written in one transaction
  /// How long completed and cancelled sagas are kept; dead ones are kept for ever.
  Duration retention = std::chrono::hours(24 * 7);
  /// How long participants must remember calls after the deadline of the saga, or of the call if
  /// the saga has none. A compensation that comes later finds no note of its action.
  Duration remember = std::chrono::hours(24 * 30);
  Duration poll_interval = std::chrono::milliseconds(100);
  Duration lease = std::chrono::seconds(15);
  /// How long to wait for calls that may be repeated before a shard is released, and on `stop`.
  Duration drain_timeout = std::chrono::seconds(5);
  std::string reply_secret{};  ///< the same in all processes; empty: no reply tokens
  /// The previous secret: tokens made with it are still accepted. Set both in all processes before
  /// the secret changes, and keep this one for `reply_token_ttl` afterwards.
  std::string reply_secret_before{};
  /// Must be longer than any step waits for its reply.
  Duration reply_token_ttl = std::chrono::hours(24 * 30);

  /// For HTTP participants: "http" serves http:// and https://.
  std::map<std::string, std::shared_ptr<spi::Transport>, std::less<>> transports{};
  /// Settings for the addresses of all participants, as in routes: `secret`, `header.NAME` …
  spi::AddressSettings participant_settings{};
  /// Settings for the participants of one definition, by its name; they override those above.
  std::map<std::string, spi::AddressSettings, std::less<>> settings_of_definition{};
  BreakerOptions breaker{};  ///< of each participant
  SagaLimits limits{};

  SpanSink* spans = nullptr;      ///< outlives the sagas; null: calls have no spans
  double trace_sample_ratio = 1;  ///< for sagas that were started without a trace

  /// These outlive the sagas.
  Metrics* metrics = &no_metrics();
  Logger* log = &no_log();
  const Clock* clock = &system_clock();
  Random* random = &system_random();

  /// Names the setting that is wrong and what would be right.
  [[nodiscard]] Status check() const;
};

/// A request to start a saga.
struct SagaStart {
  std::string definition;
  std::string input{};  ///< JSON; empty: null
  /// The same key of a tenant and definition starts only one saga. The same key with another input
  /// is refused.
  std::string key{};
  std::string tenant{tenant_default};
  /// Only one active saga at a time may have this value; empty: as in the definition.
  std::string isolate{};
  std::vector<SagaLabel> labels{};
  std::optional<Duration> timeout{};       ///< instead of the definition's
  std::optional<std::uint32_t> version{};  ///< of the definition; nullopt: the newest
  std::string traceparent{};
};

/// A command for an existing saga; every kind except `start`.
struct SagaRequest {
  SagaId saga{};
  SagaCommandKind kind = SagaCommandKind::signal;
  std::string tenant{tenant_default};
  std::string definition{};  ///< of the saga; empty: found by its id
  CommandId id{};            ///< the same id is applied once; empty: a new one

  std::string name{};     ///< signal: its name
  std::string payload{};  ///< signal: JSON
  /// reply, set_step: which step. approve: which step; empty: the one that waits.
  std::string step{};
  BarrierDirection direction = BarrierDirection::action;  ///< reply
  std::optional<std::uint32_t> round{};                   ///< reply; nullopt: the present one
  SagaAnswer answer{};                                    ///< reply: ok, retry or fail
  bool approved = true;                                   ///< approve
  std::optional<SagaStepState> state{};  ///< set_step: pending, succeeded, failed, undone, skipped
  bool into_compensation = false;        ///< replay
  std::string actor{};                   ///< the requesting user or service
  std::string note{};
};

/// The result of a request.
struct SagaRequestReply {
  enum class State : std::uint8_t {
    applied,
    refused,
    pending,  ///< it is stored, but not applied yet
  };
  CommandId id{};
  State state = State::pending;
  std::string reason{};  ///< why it was refused
};

/// Figures of the sagas in this process.
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

/// A saga that is stuck, and the reason.
struct SagaFinding {
  std::string definition{};
  SagaId saga{};
  Code code = Code::unknown_internal;
  std::string text{};
  WallTime since{};
};

/// Starts sagas in your transactions, and runs those whose definitions this process has. Any number
/// of processes may run at the same time. Thread-safe; call `function` and `define` before `start`.
class Sagas {
 public:
  /// Creates the tables, or updates them. CONFIG.INVALID if the store does not support sagas.
  static Result<Sagas> create(Store& store, SagaOptions options = {});
  Sagas(Sagas&&) noexcept;
  Sagas& operator=(Sagas&&) noexcept;
  /// Calls `stop`, and waits for functions that still run.
  ~Sagas();

  /// Registers the function that "fn:NAME" calls.
  Status function(std::string name, SagaFunction function);
  /// CONFIG.INVALID: it has mistakes, or names an unknown function or transport. TX.INVALID_STATE:
  /// the store has this name and version with other content. Several versions of a name can exist;
  /// a saga always continues with the version it was started with.
  Status define(SagaDefinition definition);

  /// From now on this process runs sagas of the definitions it has. Without definitions it only
  /// starts sagas and sends requests to them.
  Status start();
  /// Starts no new work and releases its shards to other processes. Waits up to `drain_timeout` for
  /// calls that may be repeated, then leaves them to the next owner. TX.TIMEOUT if functions still
  /// run.
  Status stop();

  /// The saga starts when the transaction commits; it does not start after a rollback.
  Result<SagaId> start_saga(Transaction& tx, const SagaStart& start);
  /// In a transaction of its own.
  Result<SagaId> start_saga(const SagaStart& start);
  /// Stores the request in your transaction; it is applied some time after the commit.
  Result<CommandId> request(Transaction& tx, const SagaRequest& request);
  /// In a transaction of its own; waits up to `limit` for the result.
  Result<SagaRequestReply> request(const SagaRequest& request,
                                   Duration limit = std::chrono::seconds(5));
  /// Passes on the answer of a participant that has a reply token. AUTH.DENIED: the token is not
  /// valid.
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
