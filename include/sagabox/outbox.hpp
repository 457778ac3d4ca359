#pragma once

#include <sagabox/audit.hpp>
#include <sagabox/delivery.hpp>
#include <sagabox/json_schema.hpp>
#include <sagabox/log.hpp>
#include <sagabox/message.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/once.hpp>
#include <sagabox/owner_view.hpp>
#include <sagabox/refused_result.hpp>
#include <sagabox/retry.hpp>
#include <sagabox/spi/sink.hpp>
#include <sagabox/store.hpp>
#include <sagabox/unrouted_topic.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox {

/// How a failing message affects later messages of its key.
enum class HeadPolicy : std::uint8_t {
  block,  ///< they wait until it succeeds, becomes dead or is quarantined
  skip,   ///< they are delivered; it is retried at the same time
  park,   ///< it is quarantined at its first failure with its sequence; they are delivered
};

/// Says what happens to a message whose topic has no listener and no route in the process that
/// reads it.
enum class Unroutable : std::uint8_t {
  wait,  ///< for `unroutable_grace`, no attempt is spent: a process of another version may know it
  dead,  ///< it is dead at once
};

/// Called around every write. `before_write` may change the batch or empty it, which suppresses
/// the write; what the others throw is logged, never passed on.
class WriterHook {
 public:
  virtual ~WriterHook() = default;
  virtual void before_write(std::vector<NewMessage>&) {}
  virtual void after_write(const std::vector<Written>&) {}
  virtual void after_commit(const std::vector<Written>&) {}
  virtual void after_rollback(const std::vector<Written>&) {}
};

/// Settings of one outbox. The defaults suit most uses.
struct OutboxOptions {
  std::string table = "default";
  /// Used by `several_processes`; must be the same in all of them. docs/operating.md says which
  /// mode to choose.
  ClaimMode claim = ClaimMode::sharded;

  /// Writes return the sequence and shard of each message. If this process delivers, or has hooks,
  /// they always do. Some stores write faster without this.
  bool sequences = false;
  MessageRules rules{};
  /// Schemas by topic: JSON payloads that do not fit are not written.
  std::map<std::string, JsonSchema, std::less<>> schemas{};
  RetryPolicy retry{};
  HeadPolicy head_policy = HeadPolicy::block;
  Unroutable unroutable = Unroutable::wait;
  /// How long such a message waits before it is dead, TX.UNROUTABLE: from when it was written or
  /// became due, or from when this process first missed its topic, if that was later. Restarts
  /// prolong it to 24 times this at most.
  Duration unroutable_grace = std::chrono::hours(1);
  /// Done messages are kept so long, to be replayed; 0 deletes them at once.
  Duration retention = std::chrono::hours(24 * 7);
  /// How long dead messages are kept; nullopt: for ever.
  std::optional<Duration> dead_retention{};
  Duration purge_interval = std::chrono::hours(1);
  /// How often the pauses and the replay jobs are read.
  Duration control_interval = std::chrono::seconds(1);

  std::uint32_t workers = 4;  ///< handlers that run at the same time, not counting spares
  std::uint32_t hot_capacity = 1000;
  std::uint32_t cold_capacity = 1000;
  /// Rows read before the cold queue has room for them: large pages cost less per row. 0: none.
  std::uint32_t read_ahead = 3000;
  /// The limit for the hot and cold queues together.
  std::size_t queue_bytes_max = 64UL * 1024 * 1024;
  /// The limit for messages that are dispatched but not yet settled.
  std::uint32_t unsettled_max = 8192;
  std::uint32_t settle_rows_max = 4000;
  Duration settle_delay_max = std::chrono::milliseconds(2);

  Duration poll_interval = std::chrono::milliseconds(100);
  Duration skip_recent{};
  Duration lease = std::chrono::seconds(15);
  Duration dispatch_timeout = std::chrono::seconds(30);
  /// Threads that may replace those of handlers past their deadline.
  std::uint32_t spare_workers_max = 4;
  Duration drain_timeout = std::chrono::seconds(5);
  std::size_t error_bytes_max = 2048;
  /// The number of blocked keys of a shard that are tracked exactly. Above it keys are tracked
  /// approximately, and messages of a key may wait longer than necessary.
  std::uint32_t blocked_keys_max = 100'000;

  /// Takes what no listener takes; see router.hpp. May serve several outboxes.
  std::shared_ptr<spi::Sink> sink{};
  std::vector<std::shared_ptr<Interceptor>> interceptors{};
  std::vector<std::shared_ptr<WriterHook>> hooks{};

  /// These outlive the outbox.
  Metrics* metrics = &no_metrics();
  Audit* audit = &no_audit();
  Logger* log = &no_log();
  const Clock* clock = &system_clock();
  Random* random = &system_random();

  /// "patient": retries wait up to five minutes. "single_active": one relay delivers, and asks
  /// once a second. "polling": asks every five seconds and reads nothing ahead.
  static Result<OutboxOptions> preset(std::string_view name);
  /// Names the setting that is wrong and what would be right.
  [[nodiscard]] Status check() const;

  /// Rows in the cold queue or read ahead for it.
  [[nodiscard]] std::uint32_t cold_rows_max() const { return cold_capacity + read_ahead; }
};

/// The present state of an outbox.
struct OutboxSnapshot {
  std::uint32_t shards_owned = 0;
  std::uint64_t hot_depth = 0;
  /// Includes rows read ahead and messages that wait behind the head of their key.
  std::uint64_t cold_depth = 0;
  std::uint64_t queued_bytes = 0;
  std::uint64_t running = 0;
  std::uint64_t unsettled = 0;
  std::uint64_t blocked_keys = 0;
  /// Messages whose result the store refuses and that could not be quarantined.
  std::uint64_t refused = 0;
  /// Why no result can be stored, and since when; empty while results are stored.
  std::optional<Code> settle_failure{};
  BootTime settle_failing_since{};
  /// Topics without listener and route, of which messages wait.
  std::uint64_t unrouted_topics = 0;
  std::uint64_t spare_workers = 0;
  std::uint64_t hot_dropped = 0;
  std::uint64_t delivered = 0;  ///< settled as done since the start
  std::uint64_t retried = 0;
  std::uint64_t dead = 0;
  bool paused = false;        ///< by `pause`, and no shard is held any more
  bool table_paused = false;  ///< by an operator
};

/// Writes messages in your transaction and delivers them to your listeners. Thread-safe; call
/// `listen` before `start`.
class Outbox {
 public:
  /// Only this process delivers; it takes all shards.
  static Result<Outbox> single_process(Store& store, OutboxOptions options = {});
  /// Any number of processes deliver; `options.claim` decides how they divide the work.
  static Result<Outbox> several_processes(Store& store, OutboxOptions options = {});
  /// Writes only; other processes deliver.
  static Result<Outbox> writer_only(Store& store, OutboxOptions options = {});
  /// Writes, and once started deletes messages older than `retention` in any state: an external
  /// reader (change data capture) takes them from the table.
  static Result<Outbox> for_external_reader(Store& store, OutboxOptions options = {});

  Outbox(Outbox&&) noexcept;
  Outbox& operator=(Outbox&&) noexcept;
  /// Calls `stop`, and waits for handlers that still run.
  ~Outbox();

  /// One listener for each (aggregate type, topic); a second is an error.
  Status listen(Topic topic, Listener listener);
  Status listen(AggregateType type, Topic topic, Listener listener);
  /// Adds a listener that works on a store, which may differ from the outbox's: its effect there
  /// happens once for each message. The default consumer is `table:topic`, or `table:type:topic`.
  /// The default metrics are the outbox's.
  Status listen(Topic topic, StoreListener listener);
  Status listen(AggregateType type, Topic topic, StoreListener listener);

  /// nullopt if a hook suppressed the write.
  Result<std::optional<Written>> write(Transaction& tx, NewMessage message);
  /// Writes all messages in one round trip.
  Result<std::vector<Written>> write_all(Transaction& tx, std::vector<NewMessage> messages);

  /// TX.INVALID_STATE if it has been started or stopped before, or writes only.
  Status start();
  /// Starts no new work, waits up to `drain_timeout` for running handlers, then releases the
  /// shards. TX.TIMEOUT if handlers still run: the next owner delivers their messages again.
  Status stop();

  /// This process delivers nothing until `resume`: running handlers finish, and its shards go to
  /// other processes. `snapshot().paused` becomes true when no shard is held any more. `Admin`
  /// pauses a table or a topic for all processes.
  Status pause();
  Status resume();

  [[nodiscard]] OutboxSnapshot snapshot() const;
  /// The first of the messages that `snapshot().refused` counts.
  [[nodiscard]] std::vector<RefusedResult> refused(std::size_t rows_max = 100) const;
  /// nullopt if this process does not hold back this message.
  [[nodiscard]] std::optional<RefusedResult> refused(Sequence sequence) const;
  /// Topics without listener and route, of which messages wait here; the longest wait first.
  [[nodiscard]] std::vector<UnroutedTopic> unrouted(std::size_t topics_max = 100) const;
  /// nullopt if this process does not deliver the shard of this pending message.
  [[nodiscard]] std::optional<OwnerView> owner_view(const MessageRecord& record) const;

 private:
  struct Parts;
  explicit Outbox(std::shared_ptr<Parts> parts);
  enum class Delivers : std::uint8_t;
  static Result<Outbox> open(Store& store, OutboxOptions options, Delivers delivers);
  std::shared_ptr<Parts> parts_;
};

}  // namespace sagabox
