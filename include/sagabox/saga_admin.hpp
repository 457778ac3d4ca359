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

/// One step as operators see it. Times of a step that was replayed are those of its last round.
struct SagaStepView {
  std::string name{};  ///< "step 3" where the definition is not stored
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
  std::string output{};  ///< JSON; empty: none, or it was not asked for
};

/// A saga as operators see it.
struct SagaView {
  SagaId id;
  std::string tenant{};
  std::string definition{};
  std::uint32_t definition_version = 0;
  SagaState state = SagaState::running;
  bool quarantined = false;
  std::uint64_t version = 0;  ///< rises with each write
  std::string key{};
  std::string isolate{};
  std::vector<SagaLabel> labels{};
  WallTime started_at{};
  WallTime changed_at{};
  std::optional<WallTime> ended_at{};
  std::optional<WallTime> deadline{};
  std::optional<WallTime> due{};
  std::optional<WallTime> paused_at{};
  std::string undo{};   ///< why it goes back: "failure", "timeout", …; empty: it does not
  std::string input{};  ///< JSON; empty: it was not asked for
  std::vector<SagaStepView> steps{};  ///< empty in a list
  std::string unreadable{};           ///< why the steps are not known: a newer version wrote them
  bool definition_stored = true;
  WallTime seen_at{};  ///< when it was looked at
};

struct SagaQuery {
  std::optional<std::string> tenant{};
  std::optional<std::string> definition{};
  std::optional<SagaState> state{};
  std::optional<bool> quarantined{};
  std::optional<SagaLabel> label{};
  std::optional<std::string> key{};
  std::optional<WallTime> started_from{};
  std::optional<WallTime> started_to{};  ///< not at this time itself
  std::uint32_t rows_max = 100;          ///< 1 to 1000
  std::string cursor{};                  ///< `next` of the page before; empty: from the start
};

struct SagaPage {
  std::vector<SagaView> rows;  ///< by id, without steps and payloads
  std::string next;
};

struct SagaHistory {
  std::vector<SagaHistoryEntry> entries;
  bool more = false;
  /// What is wrong with the stored history as a whole; nullopt: nobody asked.
  std::optional<std::string> problem{};
};

/// How many sagas of a definition are in a state.
struct SagaCounted {
  std::string definition{};
  SagaState state = SagaState::running;
  std::uint64_t sagas = 0;
  std::optional<WallTime> oldest{};  ///< when the oldest of them was started
};

/// Why a saga does not move on.
enum class SagaWhy : std::uint8_t {
  ended,
  dead,
  quarantined,
  paused,
  unreadable,       ///< a newer version wrote it
  definition_gone,  ///< its definition is not stored
  no_owner,         ///< no live process runs this definition, or nobody owns its shard
  held,             ///< a step needs a person's decision
  waits_approval,
  waits_signal,
  waits_reply,
  waits_timer,
  over_limit,  ///< a call waits for its turn, and has spent no attempt
  retry_due,
  running,        ///< a call is being made
  command_waits,  ///< its owner has not taken a command yet
  with_owner,     ///< nothing holds it
};
inline constexpr std::size_t saga_why_count = 17;
/// "waits_approval": how JSON spells it.
std::string_view saga_why_name(SagaWhy why) noexcept;
std::optional<SagaWhy> saga_why_from_name(std::string_view name) noexcept;

struct SagaReason {
  SagaWhy why = SagaWhy::with_owner;
  std::string step{};  ///< empty: the saga as a whole
  std::string text{};
};

struct SagaExplanation {
  std::string state{};                ///< "travel v3 is running, started 3m ago"
  std::vector<SagaReason> reasons{};  ///< never empty; what must happen first comes first
  std::string owner{};                ///< "relay-b, lease 11s left, epoch 42", or "nobody"
  std::string next{};                 ///< what an operator can do; empty if it goes on by itself

  /// For a terminal, a line each, without a line's end after the last. Never a payload.
  [[nodiscard]] std::string text() const;
};

struct SagaStartOrder {
  std::string definition{};
  std::optional<std::string> tenant{};  ///< null: the one that the caller is bound to, or "default"
  std::string key{};    ///< the same again is the same saga; empty: `command` decides
  std::string input{};  ///< JSON; empty: null
  std::string isolate{};
  std::vector<SagaLabel> labels{};
  std::optional<Duration> timeout{};
  std::optional<std::uint32_t> version{};  ///< of the definition; null: the newest
  std::string traceparent{};
  /// The same again is applied once; null: a new one. Without a key it also names the saga.
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

/// What a saga is told. Fields that its kind does not use are ignored.
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
  std::optional<CommandId> command{};  ///< the same again is applied once; null: a new one
};

/// What became of a command. One that is refused is an error: TX.INVALID_STATE says why.
struct SagaReceipt {
  CommandId command;
  SagaId saga;
  bool applied = false;  ///< false: nobody has taken it yet; it stays in the inbox
};

/// Sagas as an operator sees and steers them, once for the command line, REST and the console.
/// Every act is a command in the saga's inbox, written in a transaction of its own, and applied by
/// its owner, who writes history and audit log. Calls block; safe from any thread. The store
/// outlives it.
class SagaAdmin {
 public:
  static constexpr std::uint32_t rows_max = Admin::page_rows_max;
  /// How long an act waits for its owner.
  static constexpr Duration answer_wait = std::chrono::seconds(5);

  /// CONFIG.INVALID names the option that is wrong; TX.INVALID_STATE: the store has no sagas.
  static Result<SagaAdmin> open(Store& store, AdminOptions options);

  Result<SagaPage> list(const SagaQuery& query) const;
  /// Null when it is not there or belongs to another tenant; so for all below.
  Result<std::optional<SagaView>> show(const SagaId& id,
                                       Admin::PayloadToo payload = Admin::PayloadToo::no) const;
  /// Entries with a number above `after`. `verify` reads all of it.
  Result<std::optional<SagaHistory>> history(const SagaId& id, std::uint32_t after,
                                             std::uint32_t entries_max, bool verify) const;
  Result<std::optional<SagaExplanation>> explain(const SagaId& id) const;
  /// Commands that its owner has not taken yet; their bodies are left out. Also of a saga that is
  /// not there yet.
  Result<std::vector<SagaCommand>> pending(const SagaId& id, std::uint32_t commands_max) const;
  Result<std::vector<SagaCounted>> count() const;

  /// By name and version; all names for an empty one.
  Result<std::vector<SagaDefinitionRecord>> definitions(std::string_view name) const;
  /// Stores it. TX.INVALID_STATE: this name and version is there with other content.
  Result<SagaDefinitionRecord> define(const SagaDefinition& definition);

  /// The answer waits for `wait` at most.
  Result<SagaReceipt> start(const SagaStartOrder& order, Duration wait = answer_wait);
  /// SAGA not there: REQUEST.NOT_FOUND.
  Result<SagaReceipt> act(const SagaOrder& order, Duration wait = answer_wait);

  /// Removes sagas of a definition that completed or were cancelled longer ago. Returns how many;
  /// dead ones are kept.
  Result<std::uint64_t> purge(std::string_view definition, Duration older_than);

 private:
  SagaAdmin(Store& store, AdminOptions options) : store_(&store), options_(std::move(options)) {}

  Result<std::optional<SagaRecord>> record(const SagaId& id) const;
  Result<SagaReceipt> send(SagaCommand command, Duration wait);

  Store* store_;
  AdminOptions options_;
};

}  // namespace sagabox
