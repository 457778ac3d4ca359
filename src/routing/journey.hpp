#pragma once

#include "routing/route_table.hpp"

#include <sagabox/spi/sink.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace sagabox::routing {

/// The delivery of one message to all targets of its route, with their answers so far. Pure.
struct Journey {
  Journey(spi::Dispatch what, const Route& by)
      : dispatch(std::move(what)), route(&by), answers(by.answers(dispatch.done)) {}

  spi::Dispatch dispatch;
  const Route* route;
  TargetAnswers answers;
  std::uint32_t open = 0;  ///< targets without an answer

  /// Whether the target has given its final answer.
  [[nodiscard]] bool has_answered(std::size_t target) const noexcept {
    return ((answers.arrived | answers.refused) >> target & 1U) != 0;
  }
  void arrived(std::size_t target);
  /// The target refused the message permanently.
  void refused(std::size_t target, Code code, std::string why);
  /// The send failed, but a later one may succeed.
  void failed(Code code, std::string why, Attempt attempt, std::optional<Duration> delay);
  /// There is no room for the message now; nothing needs to be written.
  void no_room() { no_room_ = true; }
  /// The destination is down; try again after `delay`.
  void down(std::string why, Duration delay);

  /// The result; call it when no target is open any more.
  [[nodiscard]] spi::Dispatched result() const;

 private:
  struct TargetError {
    Code code = Code::unknown_internal;
    std::string why;
  };
  std::optional<TargetError> refusal_{};
  std::optional<TargetError> failure_{};
  std::optional<TargetError> down_{};
  std::optional<Duration> failure_delay_{};
  std::optional<Duration> down_delay_{};
  bool answered_now_ = false;  ///< this attempt has answers to be stored
  bool no_room_ = false;
  bool spent_ = false;
};

}  // namespace sagabox::routing
