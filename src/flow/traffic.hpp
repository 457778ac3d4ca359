#pragma once

#include "flow/breaker.hpp"
#include "flow/valve.hpp"

#include <sagabox/spi/gate.hpp>
#include <sagabox/spi/transport.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace sagabox::flow {

using DestinationId = Number<struct DestinationIdTag, std::uint32_t>;
using ValveId = Number<struct ValveIdTag, std::uint32_t>;
/// The caller's id of a message that waits or is under way.
using PartId = Number<struct PartIdTag, std::uint64_t>;

struct TrafficOptions {
  BreakerOptions breaker{};
  /// The limit for all lines together; each line has a share.
  std::uint32_t waiting_max = 2048;
  std::size_t waiting_bytes_max = 32UL * 1024 * 1024;
  std::size_t under_way_bytes_max = 32UL * 1024 * 1024;
  /// Beyond it lines that nothing waits in are forgotten, but for those that are shut.
  std::uint32_t lines_max = 10'000;
};

/// Decides which messages may be sent when. Messages of one class wait in one line; lines take
/// turns, so that a long one does not delay a short one. A line that cannot hold more messages is
/// shut: its messages stay in the database until it opens. Pure; the caller passes the time.
class Traffic {
 public:
  explicit Traffic(const TrafficOptions& options);

  /// Call it before the first `offer`.
  DestinationId add_destination(std::uint32_t under_way_max);
  ValveId add_valve(const Limits& limits, BootTime now);

  static constexpr std::size_t valves_max = 3;
  struct Way {
    spi::ClassId line{};
    DestinationId destination{};
    std::array<std::optional<ValveId>, valves_max> valves{};
  };
  struct Waiting {
    PartId part{};
    std::size_t bytes = 0;
    bool retry =
        false;  ///< retries have their own lane, and a quarter of the destination's capacity
    /// It is sent ahead of earlier ones of its line; see `samples`.
    bool sample = false;
    BootTime deadline{};
  };
  /// Returns false if it cannot wait here now.
  [[nodiscard]] bool offer(const Way& way, const Waiting& waiting, BootTime now);

  /// A message that may be sent now; it is under way until `ended`.
  struct Going {
    spi::ClassId line{};
    PartId part{};
    std::size_t bytes = 0;
    bool retry = false;
    bool sample = false;
  };
  [[nodiscard]] std::optional<Going> next(BootTime now);
  /// The cause of a failed send.
  enum class Fault : std::uint8_t { destination, message };
  /// `sent`: the time of the send.
  void ended(const Going& going, const spi::SendResult& result, BootTime sent, BootTime now,
             Fault fault = Fault::destination);

  /// Removes messages that would wait too long, because their line is blocked, or that are past
  /// their deadline.
  [[nodiscard]] std::vector<PartId> give_up(BootTime now);
  /// Removes a waiting message. Returns false if it does not wait.
  bool cancel(spi::ClassId line, PartId part);

  /// Whether the line accepts a sample now: its destination refuses all or most of the first
  /// messages, and a later message may show whether the messages are the cause. The number of
  /// samples is limited by a breaker of their own.
  [[nodiscard]] bool samples(spi::ClassId line, BootTime now) const;

  [[nodiscard]] bool shut(spi::ClassId line) const;
  /// Shut although its destination is up.
  [[nodiscard]] bool full(spi::ClassId line) const;
  [[nodiscard]] std::size_t shut_lines() const noexcept { return shut_; }
  /// Whether a line has opened since the last call of `take_opened`.
  [[nodiscard]] bool opened() const noexcept { return opened_; }
  bool take_opened() noexcept;

  /// The reason why the next message of this way cannot be sent now.
  struct Hold {
    enum class By : std::uint8_t { breaker, valve, others };
    By by = By::others;
    std::size_t valve = 0;  ///< the index in the way's valves
    Valve::Limit limit = Valve::Limit::none;
    BootTime since{};                 ///< the breaker's
    BootTime until{BootTime::max()};  ///< `BootTime::max()`: until a send ends
  };
  [[nodiscard]] std::optional<Hold> hold(const Way& way, BootTime now) const;

  /// Opens the lines whose wait is over at `now`.
  void tick(BootTime now);
  /// The next time at which the state changes without an event; `BootTime::max()` if there is none.
  [[nodiscard]] BootTime wake_at(BootTime now) const;

  [[nodiscard]] const Breaker& breaker(DestinationId id) const {
    return destinations_[id.value].guard.all;
  }
  /// The open breaker that blocks this line: its destination's, or its own if the destination
  /// accepts messages of other lines. Null if neither is open.
  [[nodiscard]] const Breaker* down(spi::ClassId line, DestinationId destination) const;
  /// Whether the result of a send of this line that began at `sent` still counts.
  [[nodiscard]] bool is_news(spi::ClassId line, BootTime sent) const;
  [[nodiscard]] std::uint32_t under_way(DestinationId id) const {
    return destinations_[id.value].under_way;
  }
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
  [[nodiscard]] std::size_t lines() const noexcept { return lines_.size(); }
  /// How many lines were looked at to find idle ones, all sweeps together.
  [[nodiscard]] std::size_t lines_swept() const noexcept { return lines_swept_; }

 private:
  struct Guard {
    explicit Guard(const BreakerOptions& options);
    Breaker all;
    Breaker samples;
  };
  struct Destination {
    Guard guard;
    std::uint32_t under_way_max = 0;
    std::uint32_t under_way = 0;
    std::uint32_t retries_under_way = 0;
    std::uint32_t samples_under_way = 0;
  };
  struct Line {
    explicit Line(const BreakerOptions& options) : guard(options) {}
    Way way{};
    std::deque<Waiting> fresh{};
    std::deque<Waiting> retries{};
    std::deque<Waiting> samples{};
    std::size_t bytes = 0;
    std::uint32_t under_way = 0;
    std::uint32_t retries_under_way = 0;
    std::uint32_t samples_under_way = 0;
    std::uint32_t turn = 0;
    /// For a tenant that is refused while others are not. Opens only while sends of other lines
    /// arrive; otherwise the destination's guard decides.
    Guard guard;
    std::optional<BootTime> failing_since{};  ///< nothing of this line has arrived since
    bool shut = false;
    bool listed = false;  ///< in `busy_`
    [[nodiscard]] std::size_t waiting() const noexcept {
      return fresh.size() + retries.size() + samples.size();
    }
  };
  using Lines = std::unordered_map<std::uint64_t, std::unique_ptr<Line>>;

  Line& line(const Way& way);
  /// The lane of the next message of this line; null if none may be sent now.
  std::deque<Waiting>* ready_lane(Line& line, BootTime now);
  std::deque<Waiting>& lane_of(Line& line, const Waiting& waiting) const;
  /// When the line may continue, considering only times.
  [[nodiscard]] BootTime ready_at(const Line& line, BootTime now) const;
  [[nodiscard]] std::uint32_t worth_holding(const Line& line, BootTime now) const;
  /// How many more sends the breakers allow now.
  [[nodiscard]] std::uint32_t room(const Line& line, bool retry, BootTime now) const;
  /// How many samples may be under way now.
  [[nodiscard]] std::uint32_t samples_allowed(const Line& line, BootTime now) const;
  /// How many more samples may be sent now.
  [[nodiscard]] std::uint32_t samples_room(const Line& line, BootTime now) const;
  [[nodiscard]] bool is_down_now(const Line& line, BootTime now) const;
  /// The guard that a failed send of this line counts against.
  Guard& charged(Line& line, BootTime sent, BootTime now);
  void answered(Line& line, const Going& going, BootTime now);
  template <class Fail>
  void charge(Line& line, const Going& going, BootTime sent, BootTime now, Fail&& fail);
  void count(Line& line, const Going& going, const spi::SendResult& result, BootTime sent,
             BootTime now);
  void look(Line& line, BootTime now);
  void look_at_all_of(DestinationId destination, BootTime now);
  void forget_idle_lines();
  void left(Line& line, const Waiting& waiting);

  TrafficOptions options_;
  std::vector<Destination> destinations_;
  std::vector<Valve> valves_;
  Lines lines_;
  std::deque<Line*> busy_;  // lines with waiting messages, in turn
  std::size_t waiting_ = 0;
  std::size_t bytes_under_way_ = 0;
  std::size_t shut_ = 0;
  std::size_t sweep_at_ = 0;
  std::size_t lines_swept_ = 0;
  bool opened_ = false;
};

}  // namespace sagabox::flow
