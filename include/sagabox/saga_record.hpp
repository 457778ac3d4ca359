#pragma once

#include <sagabox/id.hpp>
#include <sagabox/payload.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox {

using SagaId = Id<struct SagaTag>;
using CommandId = Id<struct CommandTag>;

/// The id of a saga that is started with a key: "k" and the first 32 hexadecimal digits of the
/// SHA-256 of tenant, definition and key, separated by line feeds. It is known before the saga is
/// written, so that a repeated start finds the first one without a unique index, on which callers
/// would wait for each other.
SagaId saga_id_of(std::string_view tenant, std::string_view definition, std::string_view key);

enum class SagaState : std::uint8_t {
  running,
  compensating,
  paused,     ///< nothing starts; results are recorded
  completed,  ///< every step succeeded
  cancelled,  ///< every step that needed it is compensated
  failed,     ///< dead: does not continue without an operator
};
inline constexpr std::size_t saga_state_count = 6;

/// "running", "compensating", "paused", "completed", "cancelled", "failed".
std::string_view saga_state_name(SagaState state) noexcept;
std::optional<SagaState> saga_state_from_name(std::string_view name) noexcept;
constexpr bool has_ended(SagaState state) noexcept { return state >= SagaState::completed; }

/// The act that a person must do before a saga continues.
enum class SagaPersonWait : std::uint8_t {
  none,
  decision,  ///< a step is held: its result is unknown, or it cannot be compensated
  approval,
};
inline constexpr std::size_t saga_person_wait_count = 3;
/// "", "decision", "approval".
std::string_view saga_person_wait_name(SagaPersonWait wait) noexcept;
std::optional<SagaPersonWait> saga_person_wait_from_name(std::string_view name) noexcept;

/// The kinds of commands for a saga. A command is a row of the saga inbox, written in the sender's
/// own transaction; only the owner of the saga applies it.
enum class SagaCommandKind : std::uint8_t {
  start,
  reply,    ///< the answer of a participant to a call that waits for one
  signal,   ///< a named event for a step that waits for it; early signals are kept
  approve,  ///< approve or deny: a person's decision
  pause,
  resume,
  cancel,      ///< compensate all steps, then end as cancelled; refused past the pivot
  compensate,  ///< as `cancel`, also for a saga that waits for a person
  set_step,    ///< sets a step's state by hand
  replay,      ///< a dead saga continues from its failed step, or is compensated
  quarantine,  ///< a dead saga is excluded from replays until it is released
  release,
};
inline constexpr std::size_t saga_command_kind_count = 12;

/// "start", "reply", "signal", "approve", "pause", "resume", "cancel", "compensate", "set_step",
/// "replay", "quarantine", "release".
std::string_view saga_command_name(SagaCommandKind kind) noexcept;
std::optional<SagaCommandKind> saga_command_from_name(std::string_view name) noexcept;

/// A row of the saga inbox.
struct SagaCommand {
  CommandId id;  ///< a repeated id is applied once
  SagaId saga;
  std::string definition{};  ///< the owners of its shards read the command
  std::string tenant{};
  SagaCommandKind kind = SagaCommandKind::start;
  /// JSON, with a schema for each kind (docs/sagas.md).
  std::string body{};
  /// Set when it is stored.
  Sequence sequence{};
  Shard shard{};
  WallTime written_at{};  ///< by the database's clock
};

/// The result of a command.
struct SagaCommandResult {
  CommandId id;
  SagaId saga;
  bool applied = false;
  std::string reason{};  ///< why it was refused
  WallTime at{};
  friend bool operator==(const SagaCommandResult&, const SagaCommandResult&) = default;
};

/// One entry of a saga's history, which is its evidence. `hash` covers the entry and the previous
/// hash.
struct SagaHistoryEntry {
  std::uint32_t number = 0;  ///< from 1, without a gap
  WallTime at{};
  std::string event{};   ///< "TxSagaStarted", "StepSucceeded" …: see docs/sagas.md
  std::string step{};    ///< empty: the saga as a whole
  std::string detail{};  ///< JSON, bounded; digests, never a payload
  Digest hash{};
  friend bool operator==(const SagaHistoryEntry&, const SagaHistoryEntry&) = default;
};

/// This many first entries of a saga's history are always kept.
inline constexpr std::uint32_t saga_history_first = 100;

struct SagaLabel {
  std::string name{};
  std::string value{};
  friend auto operator<=>(const SagaLabel&, const SagaLabel&) = default;
};

/// A saga as the store keeps it. `body` contains what the store itself does not read.
struct SagaRecord {
  SagaId id;
  std::string tenant{};
  std::string definition{};
  std::uint32_t definition_version = 0;
  Shard shard{};
  SagaState state = SagaState::running;
  bool quarantined = false;
  /// Increases by one with each write; 1 for a new saga.
  std::uint64_t version = 0;
  /// When its owner must process it even without an event. nullopt: only a command or the end of a
  /// call changes it.
  std::optional<WallTime> due{};
  /// After this time its owner is late to process it; running calls must have ended by then.
  /// nullopt: the same as `due`.
  std::optional<WallTime> overdue_from{};
  SagaPersonWait person = SagaPersonWait::none;
  std::string key{};  ///< the key it was started with; empty: none
  std::string
      isolate{};  ///< only one active saga of a definition and tenant may have it; empty: none
  std::vector<SagaLabel> labels{};  ///< ascending, given at the start
  WallTime started_at{};
  WallTime changed_at{};
  std::optional<WallTime> ended_at{};
  std::string body{};  ///< JSON: steps, input, outputs, timers (src/saga/instance.hpp)
};

/// A definition as it was registered. The same name and version with other content is refused.
struct SagaDefinitionRecord {
  std::string name{};
  std::uint32_t version = 0;
  Digest digest{};     ///< of `text`
  std::string text{};  ///< canonical JSON
  WallTime registered_at{};
};

}  // namespace sagabox
