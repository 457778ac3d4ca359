#pragma once

#include "routing/route_table.hpp"

#include <sagabox/spi/sink.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace sagabox::routing {

/// One message on its way to all targets of its route, and what they have answered so far. Pure.
struct Journey {
  Journey(spi::Dispatch what, const Route& by)
      : dispatch(std::move(what)), route(&by), answers(by.answers(dispatch.done)) {}

  spi::Dispatch dispatch;
  const Route* route;
  TargetAnswers answers;
  std::uint32_t open = 0;  ///< targets without an answer

  /// It has said for good what it has to say.
  [[nodiscard]] bool has_answered(std::size_t target) const noexcept {
    return ((answers.arrived | answers.refused) >> target & 1U) != 0;
  }
  void arrived(std::size_t target);
  /// Never taken as it is.
  void refused(std::size_t target, Code code, std::string why);
  /// Another time it may arrive.
  void failed(Code code, std::string why, Attempt attempt, std::optional<Duration> delay);
  /// There is no room for it now; nothing is to be written for that.
  void no_room() { no_room_ = true; }
  /// The destination is down; again in `delay`.
  void down(std::string why, Duration delay);

  /// When none is open any more.
  [[nodiscard]] spi::Dispatched result() const;

 private:
  struct Trouble {
    Code code = Code::unknown_internal;
    std::string why;
  };
  std::optional<Trouble> refusal_{};
  std::optional<Trouble> failure_{};
  std::optional<Trouble> down_{};
  std::optional<Duration> failure_delay_{};
  std::optional<Duration> down_delay_{};
  bool answered_now_ = false;  ///< something is to be written down
  bool no_room_ = false;
  bool spent_ = false;
};

}  // namespace sagabox::routing
