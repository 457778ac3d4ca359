#pragma once

#include <sagabox/error.hpp>
#include <sagabox/result.hpp>
#include <sagabox/saga_definition.hpp>
#include <sagabox/saga_record.hpp>
#include <sagabox/spi/inbox.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What stands in the body of a command, one JSON object a kind; docs/sagas.md lists the members.
/// Readers refuse unknown members: SCHEMA.VALIDATION_FAILED says which.
namespace sagabox::saga {

/// How a call ended, or what a reply says.
struct CallResult {
  enum class Kind : std::uint8_t {
    ok,
    retry,        ///< it had no effect and may be made again
    fail,         ///< it had no effect and must not be made again
    wait,         ///< accepted: a reply comes later
    in_doubt,     ///< it may have had its effect: timeout, lost after the first byte, crash
    unreachable,  ///< not one byte of it left: no attempt is spent
  };
  Kind kind = Kind::ok;
  std::string output{};  ///< JSON; empty: null
  std::string error{};
  Code code = Code::tx_handler_failed;
  std::optional<Duration> retry_after{};  ///< instead of the policy's delay
  /// The request was sent more than once: an earlier sending may have had its effect.
  bool doubt = false;
};

/// The inputs that start a saga, read from a command.
struct StartRequest {
  std::string input{};  ///< JSON
  std::string key{};
  std::string isolate{};  ///< instead of the definition's
  std::vector<SagaLabel> labels{};
  std::optional<Duration> timeout{};
  std::optional<std::uint32_t> version{};  ///< of the definition; null: the newest one
  std::string traceparent{};
};
/// SCHEMA.VALIDATION_FAILED says what the body lacks.
Result<StartRequest> read_start(const SagaCommand& command);
std::string start_body(const StartRequest& request);

/// The answer to a call that waits for one, for `reply`.
struct ReplyRequest {
  std::string step{};
  BarrierDirection direction = BarrierDirection::action;
  /// Of the direction, as the call had it; null: the present one.
  std::optional<std::uint32_t> round{};
  CallResult result{};  ///< ok, retry or fail
};
Result<ReplyRequest> read_reply(const SagaCommand& command);
std::string reply_body(const ReplyRequest& request);

struct SignalRequest {
  std::string name{};
  std::string payload{};  ///< JSON; empty: null
};
Result<SignalRequest> read_signal(const SagaCommand& command);
std::string signal_body(const SignalRequest& request);

/// An operator's act: pause, resume, cancel, compensate, approve, set_step, replay, quarantine,
/// release. Members that a kind does not have are refused.
struct ActRequest {
  std::string actor{};
  std::string note{};
  std::string step{};                    ///< approve (empty: the one that waits), set_step
  bool approved = true;                  ///< approve
  std::optional<SagaStepState> state{};  ///< set_step: pending, succeeded, failed, undone, skipped
  std::string output{};                  ///< set_step to succeeded: JSON
  bool into_compensation = false;        ///< replay
};
Result<ActRequest> read_act(const SagaCommand& command);
std::string act_body(SagaCommandKind kind, const ActRequest& request);

}  // namespace sagabox::saga
