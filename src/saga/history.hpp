#pragma once

#include <sagabox/error.hpp>
#include <sagabox/saga_record.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace sagabox::saga {

/// What stands in a saga's history.
namespace event {
inline constexpr std::string_view started = "TxSagaStarted";
inline constexpr std::string_view step_done = "TxSagaStepDone";
inline constexpr std::string_view compensate = "TxSagaCompensate";
inline constexpr std::string_view completed = "TxSagaCompleted";
inline constexpr std::string_view failed = "TxSagaFailed";
inline constexpr std::string_view cancelled = "TxSagaCancelled";
inline constexpr std::string_view taken_over = "TakenOver";
inline constexpr std::string_view timed_out = "TimedOut";
inline constexpr std::string_view step_retry = "StepRetry";
inline constexpr std::string_view step_waiting = "StepWaiting";
inline constexpr std::string_view step_failed = "StepFailed";
inline constexpr std::string_view step_unknown = "StepUnknown";
inline constexpr std::string_view step_held = "StepHeld";
inline constexpr std::string_view undo_retry = "UndoRetry";
inline constexpr std::string_view undo_waiting = "UndoWaiting";
inline constexpr std::string_view undo_held = "UndoHeld";
inline constexpr std::string_view undo_failed = "UndoFailed";
inline constexpr std::string_view step_undone = "StepUndone";
inline constexpr std::string_view step_skipped = "StepSkipped";
inline constexpr std::string_view reply_ignored = "ReplyIgnored";
inline constexpr std::string_view signal_kept = "SignalKept";
inline constexpr std::string_view signalled = "Signalled";
inline constexpr std::string_view approved = "Approved";
inline constexpr std::string_view denied = "Denied";
inline constexpr std::string_view paused = "Paused";
inline constexpr std::string_view resumed = "Resumed";
inline constexpr std::string_view step_set = "StepSet";
inline constexpr std::string_view replayed = "Replayed";
inline constexpr std::string_view quarantined = "Quarantined";
inline constexpr std::string_view released = "Released";
}  // namespace event

/// The detail of an entry: a JSON object, members in the order in which they are added.
class Detail {
 public:
  Detail& text(std::string_view name, std::string_view value);
  Detail& number(std::string_view name, std::uint64_t value);
  /// SHA-256 of `bytes`, so that the history shows what was there without showing it.
  Detail& digest_of(std::string_view name, std::string_view bytes);
  [[nodiscard]] std::string take() && { return out_.empty() ? out_ : out_ + "}"; }

 private:
  void begin(std::string_view name);
  std::string out_;
};

/// Of everything in the entry but `hash`, and the hash before.
Digest history_hash(const SagaHistoryEntry& entry, const Digest& before);

}  // namespace sagabox::saga
