#pragma once

#include <sagabox/limits.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <string>

namespace sagabox::flow {

/// Whether a destination is up, judged by what became of the last sends. Pure.
///
/// closed   nothing is held back
/// open     down: probed in rounds. A round is a few fresh sends, one after the other, and beside
///          them a few that are tried again; when they have failed, the next round comes later
///          and has more of them
/// ramping  a send has arrived, or a busy answer asked for less: so many may be under way, twice
///          as many after each round of arrivals, until it is closed
///
/// One answer does not close a destination where others have just arrived: several in a row do.
class Breaker {
 public:
  static constexpr std::uint32_t round_max_default = 16;
  explicit Breaker(const BreakerOptions& options, std::uint32_t round_max = round_max_default)
      : options_(options), round_max_(round_max) {}

  /// Messages that were sent before, and others. While it is open neither takes the other's turn:
  /// what waits for another try may be what it does not take.
  enum class Lane : std::uint8_t { fresh, retry };
  /// How many may be under way now; while it is open: of this lane.
  [[nodiscard]] std::uint32_t allowed(BootTime now, Lane lane = Lane::fresh) const;
  /// When `allowed` rises by itself; `BootTime::max()`: it does not.
  [[nodiscard]] BootTime next(BootTime now) const;

  void delivered(BootTime now);
  /// One has arrived that was sent before earlier ones: those that fail beside it are likely to be
  /// the cause themselves, and many more of them in a row are needed to open it.
  void overtaken(BootTime now);
  /// It did not come so far. `sent`: when that send began.
  void unreachable(BootTime sent, BootTime now, Lane lane = Lane::fresh);
  void timed_out(BootTime sent, BootTime now, Lane lane = Lane::fresh);
  /// It asks for less, and perhaps for a pause, which it gets once several messages in a row have
  /// been told the same.
  void busy(Duration pause, BootTime sent, BootTime now, Lane lane = Lane::fresh);

  /// A send that began before the last verdict says nothing new.
  [[nodiscard]] bool is_news(BootTime sent) const noexcept { return sent > tripped_at_; }
  /// Something has arrived there since `sent`: what failed meanwhile is not the destination's
  /// fault.
  [[nodiscard]] bool alive_since(BootTime sent) const noexcept { return last_delivered_ > sent; }
  [[nodiscard]] bool open() const noexcept { return state_ == State::open; }
  [[nodiscard]] bool closed() const noexcept { return state_ == State::closed; }
  /// Something has arrived within the last second.
  [[nodiscard]] bool alive(BootTime now) const;
  /// Since when it has been down; meaningless otherwise.
  [[nodiscard]] BootTime down_since() const noexcept { return down_since_; }

 private:
  enum class State : std::uint8_t { closed, open, ramping };
  /// `enough`: so many in a row open it.
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
  Duration pause_{};        ///< the longest that was asked for in this round
  BootTime last_delivered_{BootTime::min()};
  BootTime last_overtaken_{BootTime::min()};
  BootTime tripped_at_{BootTime::min()};
  BootTime slowed_at_{BootTime::min()};
  std::uint32_t in_a_row_ = 0;      ///< failed since something arrived last
  std::uint32_t round_ = 0;         ///< fresh probes of this round
  std::uint32_t probes_left_ = 0;   ///< of them, not failed yet
  std::uint32_t retries_left_ = 0;  ///< beside them
  std::uint32_t ramp_ = 0;          ///< may be under way while ramping
  std::uint32_t arrived_ = 0;       ///< in this round of the ramp
};

}  // namespace sagabox::flow
