#pragma once

#include <sagabox/limits.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <string>

namespace sagabox::flow {

/// A circuit breaker: decides from the results of the last sends whether a destination is up. Pure.
///
/// closed   up: sends are not limited
/// open     down: probed in rounds. A round is a few fresh sends, one after the other, and a few
///          retries; when they have failed, the next round comes later and has more sends
/// ramping  a send has arrived, or a busy answer asked for a lower rate: the number of sends under
///          way is limited, and doubles after each round of deliveries, until it is closed
///
/// After a recent delivery one failure does not open the breaker; several in a row do.
class Breaker {
 public:
  static constexpr std::uint32_t round_max_default = 16;
  explicit Breaker(const BreakerOptions& options, std::uint32_t round_max = round_max_default)
      : options_(options), round_max_(round_max) {}

  /// Messages that were not sent before, and retries. While open, each lane has its own probes,
  /// because the waiting retries may be the messages that the destination refuses.
  enum class Lane : std::uint8_t { fresh, retry };
  /// How many sends may be under way now; while open: of this lane.
  [[nodiscard]] std::uint32_t allowed(BootTime now, Lane lane = Lane::fresh) const;
  /// The time when `allowed` increases without an event; `BootTime::max()` if it does not.
  [[nodiscard]] BootTime next(BootTime now) const;

  void delivered(BootTime now);
  /// A message that was sent ahead of earlier ones has arrived. Messages that fail at the same time
  /// are probably the cause themselves, so many more failures in a row are needed to open.
  void overtaken(BootTime now);
  /// The message could not be sent. `sent`: when that send began.
  void unreachable(BootTime sent, BootTime now, Lane lane = Lane::fresh);
  void timed_out(BootTime sent, BootTime now, Lane lane = Lane::fresh);
  /// The destination asked for a lower rate, and perhaps for a pause. The pause is applied after
  /// several such answers in a row.
  void busy(Duration pause, BootTime sent, BootTime now, Lane lane = Lane::fresh);

  /// Whether the send began after the breaker last opened; results of earlier sends are ignored.
  [[nodiscard]] bool is_news(BootTime sent) const noexcept { return sent > tripped_at_; }
  /// Whether something arrived since `sent`: then a failure in the meantime is not the
  /// destination's fault.
  [[nodiscard]] bool alive_since(BootTime sent) const noexcept { return last_delivered_ > sent; }
  [[nodiscard]] bool open() const noexcept { return state_ == State::open; }
  [[nodiscard]] bool closed() const noexcept { return state_ == State::closed; }
  /// Whether something arrived within the last second.
  [[nodiscard]] bool alive(BootTime now) const;
  /// Since when it has been down; valid only while it is down.
  [[nodiscard]] BootTime down_since() const noexcept { return down_since_; }

 private:
  enum class State : std::uint8_t { closed, open, ramping };
  /// `enough`: this many failures in a row open it.
  void failed(std::uint32_t enough, Duration pause, BootTime now, Lane lane);
  [[nodiscard]] bool ends_round(Lane lane);
  void trip(BootTime now);
  void slow_down(BootTime sent, BootTime now);
  [[nodiscard]] std::uint32_t enough_of_refusals(BootTime now) const;

  BreakerOptions options_;
  std::uint32_t round_max_;
  State state_ = State::closed;
  BootTime down_since_{};
  BootTime probe_at_{};
  Duration probe_delay_{};  ///< 0: the last outage is over
  Duration pause_{};        ///< the longest pause requested in this round
  BootTime last_delivered_{BootTime::min()};
  BootTime last_overtaken_{BootTime::min()};
  BootTime tripped_at_{BootTime::min()};
  BootTime slowed_at_{BootTime::min()};
  std::uint32_t in_a_row_ = 0;      ///< failures since the last delivery
  std::uint32_t round_ = 0;         ///< fresh probes of this round
  std::uint32_t probes_left_ = 0;   ///< fresh probes that have not failed yet
  std::uint32_t retries_left_ = 0;  ///< retries left in this round
  std::uint32_t ramp_ = 0;          ///< how many may be under way while ramping
  std::uint32_t arrived_ = 0;       ///< deliveries in this step of the ramp
};

}  // namespace sagabox::flow
