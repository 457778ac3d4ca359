#pragma once

#include <sagabox/error.hpp>
#include <sagabox/result.hpp>
#include <sagabox/saga_definition.hpp>
#include <sagabox/saga_record.hpp>
#include <sagabox/spi/inbox.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sagabox::saga {

inline constexpr std::size_t output_bytes_max = std::size_t{64} * 1024;
inline constexpr std::size_t input_bytes_max = std::size_t{256} * 1024;
inline constexpr std::size_t error_bytes_max = 512;
/// Signals that came before a step waits for them. More are refused.
inline constexpr std::size_t early_signals_max = 32;
/// A saga that was told more refuses the rest.
inline constexpr std::size_t commands_max = 10'000;
/// Ids of refused commands that a saga remembers.
inline constexpr std::size_t refused_max = 64;

/// A call that was made, or may be made as soon as the instance is stored, and has not ended.
struct InFlight {
  std::uint32_t call = 0;
  BarrierDirection direction = BarrierDirection::action;
  WallTime deadline{};
  friend bool operator==(const InFlight&, const InFlight&) = default;
};

struct InstanceStep {
  SagaStepState state = SagaStepState::pending;
  /// A call of this round may have taken effect, though it was not answered.
  bool doubt = false;
  /// Which execution of the action: rises with replay and set-step.
  std::uint32_t round = 0;
  /// The same of the compensation: it belongs to the action's `round`, but is a new request.
  std::uint32_t undo_round = 0;
  std::uint32_t calls = 0;  ///< in both directions; never falls
  /// Of them those before the present direction and round: their ends count no more.
  std::uint32_t earlier_calls = 0;
  std::uint32_t attempts = 0;  ///< spent in the present direction and round
  std::optional<InFlight> in_flight{};
  std::optional<WallTime> started_at{};
  std::optional<WallTime> ended_at{};  ///< of the action
  std::optional<WallTime> undo_started_at{};
  std::optional<WallTime> undone_at{};
  std::optional<WallTime> due{};       ///< of a retry or timer
  std::optional<WallTime> deadline{};  ///< of the step as a whole
  std::string output{};                ///< JSON; empty: none
  std::string error{};                 ///< of the last failure, bounded
  Code code = Code::unknown_internal;  ///< of `error`
  friend bool operator==(const InstanceStep&, const InstanceStep&) = default;
};

struct EarlySignal {
  std::string name{};
  std::string payload{};  ///< JSON
  friend bool operator==(const EarlySignal&, const EarlySignal&) = default;
};

/// Why a saga goes back.
enum class UndoReason : std::uint8_t { none, failure, timeout, cancelled, compensated };
inline constexpr std::size_t undo_reason_count = 5;
std::string_view undo_reason_name(UndoReason reason) noexcept;

/// A saga in memory: what `SagaRecord` has, its body taken apart.
struct Instance {
  SagaId id{};
  std::string tenant{};
  std::string definition{};
  std::uint32_t definition_version = 0;
  Shard shard{};
  SagaState state = SagaState::running;
  bool quarantined = false;
  std::uint64_t version = 0;  ///< as it is stored; 0: not yet
  std::string key{};
  std::string isolate{};
  std::vector<SagaLabel> labels{};  ///< empty after a load; stores change them only with a new saga
  WallTime started_at{};
  WallTime changed_at{};
  std::optional<WallTime> ended_at{};

  // The body.
  /// Of the ownership under which it was written last, set by the orchestrator. An instance that
  /// carries another epoch than the present one is taken over.
  std::uint64_t epoch = 0;
  std::string input{};  ///< JSON
  std::optional<WallTime> deadline{};
  bool timed_out = false;  ///< the deadline passed while the pivot was in doubt
  std::optional<WallTime> paused_at{};
  SagaState paused_in = SagaState::running;  ///< what `resume` goes back to
  UndoReason undo = UndoReason::none;
  std::string traceparent{};
  std::vector<InstanceStep> steps{};
  std::vector<EarlySignal> signals{};
  std::vector<std::uint64_t> commands{};  ///< stable_hash of the ids applied, in their order
  /// The same of the ids refused last: one that comes again is not applied then.
  std::vector<std::uint64_t> refused{};
  std::uint32_t history_number = 0;  ///< of the last entry
  Digest history_hash{};
};

/// When the owner has to look at it next, while it is in memory. Null: only a command or the end of
/// a call moves it.
std::optional<WallTime> next_time(const Instance& instance);

/// The same as it is stored. What may be running is due at once, so that a take-over finds it.
std::optional<WallTime> stored_due(const Instance& instance);

/// Whether something of it is in this process now, so that it must stay in memory.
bool has_calls(const Instance& instance) noexcept;

/// Whether it goes on only when a person decides: a step is held, or it is dead.
bool waits_for_person(const Instance& instance) noexcept;

/// Neither ended, due, waiting, held, paused nor with a call that may run: nothing would move it.
bool is_stray(const Instance& instance) noexcept;

/// As it is to be stored, `version` one above the instance's.
SagaRecord to_record(const Instance& instance);
std::string encode_body(const Instance& instance);

/// TX.INVALID_STATE: the body cannot be read, or a newer version wrote it; says which field.
Result<Instance> from_record(const SagaRecord& record);

}  // namespace sagabox::saga
