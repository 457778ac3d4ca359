#pragma once

#include "cli/session.hpp"
#include "cli/values.hpp"

#include <sagabox/records.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// The arguments and functions of the operator's verbs. Each returns its exit code, and throws
/// WrongUse and Failure.
namespace sagabox::cli {

/// Selects messages: of a table and, if given, with these properties.
struct MessagesArguments {
  std::string table{};
  std::optional<std::string> tenant{};
  std::optional<std::string> topic{};
  std::optional<std::string> aggregate_type{};
  std::optional<std::string> key{};
  std::optional<Code> code{};
  std::optional<When> since{};
  std::optional<When> until{};
  bool retrying = false;

  /// Whether anything but the table was given.
  [[nodiscard]] bool narrowed() const noexcept;
  [[nodiscard]] MessageFilter filter(WallTime now) const;
};

/// The kind of dead letters that a verb of `dead` acts on.
enum class DeadKind : std::uint8_t { message, saga, delivery };

/// Options of verbs that change data.
struct ActArguments {
  bool yes = false;
  bool dry_run = false;
};

struct StatusArguments : OperatorArguments {
  std::string table{};
  Duration over = std::chrono::seconds(1);  ///< how long to measure the rates
};
int run_status(const StatusArguments& arguments);

struct TailArguments : OperatorArguments {
  std::string table{};
  Duration every = std::chrono::milliseconds(500);
  std::optional<Duration> run_for{};
};
int run_tail(const TailArguments& arguments);

struct ListArguments : OperatorArguments {
  MessagesArguments messages{};
  MessageState state = MessageState::pending;
  DeadKind kind = DeadKind::message;
  std::uint32_t rows_max = 20;
  std::string cursor{};
};
int run_list(const ListArguments& arguments);
void list_messages(Session& session, const ListArguments& arguments);
int run_dead_list(const ListArguments& arguments);
/// The message that has been pending longest, and the reason.
int run_oldest(const ListArguments& arguments);

struct MessageArguments : OperatorArguments {
  std::string table{};
  MessageId id{};
  std::optional<std::string> tenant{};
  bool payload = false;
  std::optional<MessageState> state{};  ///< selects one of several rows with the same id
  DeadKind kind = DeadKind::message;
};
int run_show(const MessageArguments& arguments);
int run_dead_show(const MessageArguments& arguments);
int run_explain(const MessageArguments& arguments);

struct EnqueueArguments : OperatorArguments {
  std::string table{};
  NewMessage message{};
  std::string payload{};               ///< "-": standard input
  std::string payload_file{};          ///< sent byte by byte
  std::vector<std::string> headers{};  ///< NAME:VALUE
};
int run_enqueue(const EnqueueArguments& arguments);

struct OwnersArguments : OperatorArguments {
  std::string table{};
};
int run_owners(const OwnersArguments& arguments);

/// Prints the name of every table.
int run_table_names(const OperatorArguments& arguments);

struct PauseArguments : OperatorArguments {
  std::string table{};
  std::string topic{};
  std::string note{};
  bool paused = true;
  ActArguments act{};
};
int run_pause(const PauseArguments& arguments);

/// Messages that are named, or all that match.
struct MoveArguments : OperatorArguments {
  ActArguments act{};
  MessagesArguments messages{};
  std::vector<MessageId> ids{};
  bool all = false;  ///< of `state`, explicitly: neither named nor filtered
  std::string note{};
  std::uint32_t rate_max = 0;
  MessageState state = MessageState::dead;
  std::optional<ReplayBound> from{};
  std::optional<ReplayBound> to{};
  bool detach = false;
  bool as_new = false;
  DeadKind kind = DeadKind::message;
  bool into_compensation = false;  ///< for a saga's replay
};
/// Exactly one of: ids, a filter, --all. Throws WrongUse.
void check_choice(const MoveArguments& arguments);
int run_replay(const MoveArguments& arguments);
int run_dead_replay(const MoveArguments& arguments);
int run_quarantine(const MoveArguments& arguments);
int run_release(const MoveArguments& arguments);

struct JobArguments : OperatorArguments {
  std::string table{};
  std::uint64_t job = 0;
};
int run_job_list(const JobArguments& arguments);
int run_job_show(const JobArguments& arguments);
int run_job_change(const JobArguments& arguments, ReplayJob::State to);

struct PurgeArguments : OperatorArguments {
  ActArguments act{};
  std::string table{};
  MessageState state = MessageState::done;
  std::optional<Duration> older_than{};
  bool force_pending = false;
};
int run_purge(const PurgeArguments& arguments);

/// One idempotency key, or a filter for several.
struct IdempotencyArguments : OperatorArguments {
  ActArguments act{};
  IdempotencyQuery query{.rows_max = 20};
  std::string consumer{};
  std::string key{};
  std::string note{};
  bool expired = false;
};
int run_idempotency_list(const IdempotencyArguments& arguments);
int run_idempotency_show(const IdempotencyArguments& arguments);
int run_idempotency_purge(const IdempotencyArguments& arguments);

struct MigrateArguments : StoreArguments {
  ActArguments act{};
  std::string engine{};  ///< empty: every one for `up` and `all`, otherwise the outbox
  std::string table{};
  std::uint16_t shards = 16;
  std::optional<int> to{};  ///< the last step to keep
  bool all = false;         ///< removes everything
  bool force = false;
};
int run_migrate_up(const MigrateArguments& arguments);
int run_migrate_down(const MigrateArguments& arguments);
int run_migrate_status(const MigrateArguments& arguments);
int run_reshard(const MigrateArguments& arguments);

struct AuditArguments : OperatorArguments {
  std::optional<AuditHead> anchor{};
  std::uint64_t after = 0;
};
int run_audit_verify(const AuditArguments& arguments);
int run_audit_export(const AuditArguments& arguments);

struct DoctorArguments : OperatorArguments {
  std::string config{};  ///< a file whose stores and routes are checked instead of one store
  std::vector<std::string> transports{};
};
int run_doctor(const DoctorArguments& arguments);

}  // namespace sagabox::cli
