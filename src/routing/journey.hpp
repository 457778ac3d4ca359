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
      : dispatch(std::move(what)), route(&by), done(by.done(dispatch.done)) {}

  spi::Dispatch dispatch;
  const Route* route;
  TargetBits done;
  std::uint32_t open = 0;  ///< targets without an answer

  void arrived(std::size_t target) { done |= TargetBits{1} << target; }
  /// Never taken as it is.
  void refused(Code code, std::string why);
  /// Another time it may arrive.
  void failed(Code code, std::string why, Attempt attempt, std::optional<Duration> delay);
  /// The destination cannot be sent to now; again in `delay`.
  void not_now(Duration delay);

  /// When none is open any more.
  [[nodiscard]] spi::Dispatched result() const;

 private:
  struct Trouble {
    Code code = Code::unknown_internal;
    std::string why;
  };
  std::optional<Trouble> refusal_{};
  std::optional<Trouble> failure_{};
  std::optional<Duration> delay_{};
  bool later_ = false;
  bool spent_ = false;
};

}  // namespace sagabox::routing
