#pragma once

#include <sagabox/admin.hpp>
#include <sagabox/saga_definition.hpp>
#include <sagabox/saga_record.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox {

/// One step as operators see it. If the step was replayed, the times are those of its last round.
struct SagaStepView {
  std::string name{};  ///< "step 3" if the definition is not stored
  SagaStepState state = SagaStepState::pending;
  SagaWait wait = SagaWait::none;
  std::string waits_for{};  ///< the name of a signal, while the step waits for it
  std::string tag{};
  bool pivot = false;
  bool has_action = true;
  std::uint32_t attempts = 0;      ///< in the present direction
  std::uint32_t attempts_max = 0;  ///< 0: no limit, or not known
  std::optional<WallTime> started_at{};
  std::optional<WallTime> ended_at{};
  std::optional<WallTime> undo_started_at{};
  std::optional<WallTime> undone_at{};
  std::optional<WallTime> due{};       ///< of a retry or timer
  std::optional<WallTime> deadline{};  ///< of the step as a whole
  std::optional<Code> code{};          ///< of the last failure
  std::string error{};
  std::string output{};  ///< JSON; empty: none, or not requested
};

/// A saga as operators see it.
struct SagaView {
  SagaId id;
  std::string tenant{};
  std::string definition{};
  std::uint32_t definition_version = 0;
  SagaState state = SagaState::running;
  bool quarantined = false;
  std::uint64_t version = 0;  ///< increases with each write
  std::string key{};
  std::string isolate{};
  std::vector<SagaLabel> labels{};
  WallTime started_at{};
  WallTime changed_at{};
  std::optional<WallTime> ended_at{};
  std::optional<WallTime> deadline{};
  std::optional<WallTime> due{};
  std::optional<WallTime> paused_at{};
  std::string undo{};   ///< why it is compensated: "failure", "timeout", …; empty: it is not
  std::string input{};  ///< JSON; empty: not requested
  std::vector<SagaStepView> steps{};  ///< empty in a list
  std::string unreadable{};  ///< set if the steps cannot be read: a newer version wrote them
  bool definition_stored = true;
  WallTime seen_at{};  ///< when it was read
};

struct SagaQuery {
  std::optional<std::string> tenant{};
  std::optional<std::string> definition{};
  std::optional<SagaState> state{};
  std::optional<bool> quarantined{};
  std::optional<SagaLabel> label{};
  std::optional<std::string> key{};
  std::optional<WallTime> started_from{};
  std::optional<WallTime> started_to{};  ///< exclusive
  std::uint32_t rows_max = 100;          ///< 1 to 1000
  std::string cursor{};                  ///< `next` of the previous page; empty: from the start
};

struct SagaPage {
  std::vector<SagaView> rows;  ///< by id, without steps and payloads
  std::string next;
};

struct SagaHistory {
  std::vector<SagaHistoryEntry> entries;
  bool more = false;
  /// What is wrong with the whole stored history, empty if nothing is; nullopt: not checked.
  std::optional<std::string> problem{};
};

/// The number of sagas of a definition in one state.
struct SagaCounted {
  std::string definition{};
  SagaState state = SagaState::running;
  std::uint64_t sagas = 0;
  std::optional<WallTime> oldest{};  ///< when the oldest of them was started
};

/// The reason why a saga does not progress.
enum class SagaWhy : std::uint8_t {
  ended,
  dead,
  quarantined,
  paused,
  unreadable,       ///< a newer version wrote it
  definition_gone,  ///< its definition is not stored
  no_owner,         ///< no live process runs this definition, or its shard has no owner
  held,             ///< a step needs a person's decision
  waits_approval,
  waits_signal,
  waits_reply,
  waits_timer,
  over_limit,  ///< a call waits because of a limit; it has spent no attempt
  retry_due,
  running,        ///< a call is being made
  command_waits,  ///< its owner has not processed a command yet
  with_owner,     ///< nothing delays it
};
inline constexpr std::size_t saga_why_count = 17;
/// The name used in JSON: "waits_approval".
std::string_view saga_why_name(SagaWhy why) noexcept;
std::optional<SagaWhy> saga_why_from_name(std::string_view name) noexcept;

struct SagaReason {
  SagaWhy why = SagaWhy::with_owner;
  std::string step{};  ///< empty: the saga as a whole
  std::string text{};
};

struct SagaExplanation {
  std::string state{};                ///< "travel v3 is running, started 3m ago"
  std::vector<SagaReason> reasons{};  ///< never empty; the reason to resolve first comes first
  std::string owner{};                ///< "relay-b, lease 11s left, epoch 42", or "nobody"
  std::string next{};                 ///< what an operator can do; empty if no action is needed

  /// Text for a terminal, one item per line, without a newline at the end. Never contains a
  /// payload.
  [[nodiscard]] std::string text() const;
};

struct SagaStartOrder {
  std::string definition{};
  std::optional<std::string>
      tenant{};         ///< nullopt: the tenant that the caller is bound to, or "default"
  std::string key{};    ///< the same key is the same saga; empty: `command` identifies it
  std::string input{};  ///< JSON; empty: null
  std::string isolate{};
  std::vector<SagaLabel> labels{};
  std::optional<Duration> timeout{};
  std::optional<std::uint32_t> version{};  ///< of the definition; nullopt: the newest
  std::string traceparent{};
  /// A repeated command id is applied once; nullopt: a new one. Without a key it also identifies
  /// the saga.
  std::optional<CommandId> command{};
};

/// The answer to a call that waits for one.
struct SagaReplyOrder {
  std::string step{};
  bool compensation = false;
  std::optional<std::uint32_t> round{};
  enum class Kind : std::uint8_t { ok, retry, fail };
  Kind kind = Kind::ok;
  std::string output{};  ///< JSON
  std::string error{};
  std::optional<Duration> retry_after{};  ///< of retry
};

/// A command for a saga. Fields that its kind does not use are ignored.
struct SagaOrder {
  SagaId saga;
  SagaCommandKind kind = SagaCommandKind::pause;  ///< all but `start`
  std::string note{};                             ///< why, for history and audit log
  std::string step{};                    ///< of approve (empty: the one that waits), set_step
  bool approved = true;                  ///< of approve
  std::optional<SagaStepState> state{};  ///< of set_step
  std::string output{};                  ///< of set_step to succeeded: JSON
  bool into_compensation = false;        ///< of replay
  std::string signal{};                  ///< its name
  std::string payload{};                 ///< of a signal: JSON
  SagaReplyOrder reply{};
  std::optional<CommandId> command{};  ///< a repeated id is applied once; nullopt: a new one
};

/// The result of a command. A refused command is an error instead: TX.INVALID_STATE says why.
struct SagaReceipt {
  CommandId command;
  SagaId saga;
  bool applied = false;  ///< false: its owner has not processed it yet; it stays in the inbox
};

/// Queries and acts on sagas for operators, shared by the command line, REST and the console. Every
/// act is a command in the saga's inbox, written in a transaction of its own. The saga's owner
/// applies it and writes history and audit log. Calls block; safe from any thread. The store
/// outlives it.
class SagaAdmin {
 public:
  static constexpr std::uint32_t rows_max = Admin::page_rows_max;
  /// How long an act waits for its owner.
  static constexpr Duration answer_wait = std::chrono::seconds(5);

  /// CONFIG.INVALID names the option that is wrong; TX.INVALID_STATE if the store does not support
  /// sagas.
  static Result<SagaAdmin> open(Store& store, AdminOptions options);

  Result<SagaPage> list(const SagaQuery& query) const;
  /// nullopt if it does not exist or belongs to another tenant; the same holds for all queries
  /// below.
  Result<std::optional<SagaView>> show(const SagaId& id,
                                       Admin::PayloadToo payload = Admin::PayloadToo::no) const;
  /// Returns entries with a number above `after`. `verify` checks the whole history, which reads
  /// all of it.
  Result<std::optional<SagaHistory>> history(const SagaId& id, std::uint32_t after,
                                             std::uint32_t entries_max, bool verify) const;
  Result<std::optional<SagaExplanation>> explain(const SagaId& id) const;
  /// Commands that its owner has not processed yet; their bodies are left out. Works also for a
  /// saga that does not exist yet.
  Result<std::vector<SagaCommand>> pending(const SagaId& id, std::uint32_t commands_max) const;
  Result<std::vector<SagaCounted>> count() const;

  /// Ordered by name and version; an empty name returns all.
  Result<std::vector<SagaDefinitionRecord>> definitions(std::string_view name) const;
  /// Stores it. TX.INVALID_STATE: this name and version exists with other content.
  Result<SagaDefinitionRecord> define(const SagaDefinition& definition);

  /// Waits up to `wait` for the result.
  Result<SagaReceipt> start(const SagaStartOrder& order, Duration wait = answer_wait);
  /// REQUEST.NOT_FOUND if the saga does not exist.
  Result<SagaReceipt> act(const SagaOrder& order, Duration wait = answer_wait);

  /// Removes sagas of a definition that completed or were cancelled longer ago. Returns their
  /// number; dead ones are kept.
  Result<std::uint64_t> purge(std::string_view definition, Duration older_than);

 private:
  SagaAdmin(Store& store, AdminOptions options) : store_(&store), options_(std::move(options)) {}

  Result<std::optional<SagaRecord>> record(const SagaId& id) const;
  Result<SagaReceipt> send(SagaCommand command, Duration wait);

  Store* store_;
  AdminOptions options_;
};

}  // namespace sagabox
