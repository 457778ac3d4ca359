#include "flow/traffic.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace sagabox::flow {
namespace {

/// Messages that must wait longer than this do not wait here.
constexpr Duration hold_max = std::chrono::seconds(1);
/// The minimum share of each line, however many lines there are.
constexpr std::uint32_t share_min = 16;
/// One of this many sends is a retry if both lanes have messages.
constexpr std::uint32_t retry_turn = 4;
/// The maximum number of samples in one round of probes.
constexpr std::uint32_t samples_round_max = 4;
/// The maximum number of samples that wait in a line.
constexpr std::uint32_t samples_max = 64;

/// How many more sends this breaker allows.
std::uint32_t room_of(const Breaker& breaker, std::uint32_t under_way, std::uint32_t retries,
                      bool retry, BootTime now) {
  const auto allowed = breaker.allowed(now, retry ? Breaker::Lane::retry : Breaker::Lane::fresh);
  if (breaker.open()) return allowed - std::min(allowed, retry ? retries : under_way - retries);
  if (!retry || allowed == std::numeric_limits<std::uint32_t>::max()) {
    return allowed - std::min(allowed, under_way);
  }
  const auto share = std::max(1U, allowed / retry_turn);
  return std::min(share - std::min(share, retries), allowed - std::min(allowed, under_way));
}

}  // namespace

Traffic::Guard::Guard(const BreakerOptions& options)
    : all(options), samples(options, samples_round_max) {}

Traffic::Traffic(const TrafficOptions& options) : options_(options) {}

DestinationId Traffic::add_destination(std::uint32_t under_way_max) {
  destinations_.push_back({.guard = Guard(options_.breaker), .under_way_max = under_way_max});
  return DestinationId{static_cast<std::uint32_t>(destinations_.size() - 1)};
}

ValveId Traffic::add_valve(const Limits& limits, BootTime now) {
  valves_.emplace_back(limits, now);
  return ValveId{static_cast<std::uint32_t>(valves_.size() - 1)};
}

Traffic::Line& Traffic::line(const Way& way) {
  auto& found = lines_[way.line.value];
  if (found) return *found;
  if (lines_.size() > std::max<std::size_t>(options_.lines_max, sweep_at_)) forget_idle_lines();
  auto& made = lines_[way.line.value];
  made = std::make_unique<Line>(options_.breaker);
  made->way = way;
  return *made;
}

void Traffic::forget_idle_lines() {
  lines_swept_ += lines_.size();
  std::erase_if(lines_, [](const auto& entry) {
    const auto& line = entry.second;
    return !line || (!line->shut && !line->listed && !line->guard.all.open() &&
                     line->waiting() == 0 && line->under_way == 0);
  });
  // Lines of a destination that is down stay: shut lines say what may not be read. Each sweep that
  // finds many of them is followed by a longer pause.
  sweep_at_ = 2 * lines_.size();
}

bool Traffic::offer(const Way& way, const Waiting& waiting, BootTime now) {
  auto& there = line(way);
  look(there, now);
  if (waiting.sample && !samples(way.line, now)) return false;
  // All lines together hold at most twice `waiting_max`, however many lines there are.
  if ((there.shut && !waiting.sample) || waiting_ >= 2 * std::size_t{options_.waiting_max})
    return false;
  const auto retries_max = std::max(1U, worth_holding(there, now) / retry_turn);
  if (waiting.retry && there.retries.size() >= retries_max) return false;
  lane_of(there, waiting).push_back(waiting);
  there.bytes += waiting.bytes;
  ++waiting_;
  if (!std::exchange(there.listed, true)) busy_.push_back(&there);
  look(there, now);
  return true;
}

std::deque<Traffic::Waiting>& Traffic::lane_of(Line& line, const Waiting& waiting) const {
  if (waiting.sample) return line.samples;
  return waiting.retry ? line.retries : line.fresh;
}

std::uint32_t Traffic::worth_holding(const Line& line, BootTime now) const {
  const auto others = std::max<std::size_t>(1, busy_.size());
  auto worth = std::max(share_min, static_cast<std::uint32_t>(options_.waiting_max / others));
  for (const auto& valve : line.way.valves) {
    if (valve) worth = std::min(worth, valves_[valve->value].worth_holding());
  }
  const auto limited = [&](const Breaker& breaker) {
    return breaker.allowed(now) != std::numeric_limits<std::uint32_t>::max();
  };
  const bool held =
      limited(destinations_[line.way.destination.value].guard.all) || limited(line.guard.all);
  return held ? std::min(worth, room(line, false, now)) : worth;
}

std::uint32_t Traffic::room(const Line& line, bool retry, BootTime now) const {
  const auto& destination = destinations_[line.way.destination.value];
  return std::min(
      room_of(destination.guard.all, destination.under_way - destination.samples_under_way,
              destination.retries_under_way, retry, now),
      room_of(line.guard.all, line.under_way - line.samples_under_way, line.retries_under_way,
              retry, now));
}

std::uint32_t Traffic::samples_allowed(const Line& line, BootTime now) const {
  return std::min(destinations_[line.way.destination.value].guard.samples.allowed(now),
                  line.guard.samples.allowed(now));
}

std::uint32_t Traffic::samples_room(const Line& line, BootTime now) const {
  const auto& destination = destinations_[line.way.destination.value];
  const auto of_all = destination.guard.samples.allowed(now);
  const auto of_line = line.guard.samples.allowed(now);
  return std::min(of_all - std::min(of_all, destination.samples_under_way),
                  of_line - std::min(of_line, line.samples_under_way));
}

bool Traffic::samples(spi::ClassId line, BootTime now) const {
  const auto found = lines_.find(line.value);
  if (found == lines_.end()) return false;
  const auto& there = *found->second;
  const auto& of_all = destinations_[there.way.destination.value].guard.all;
  if (of_all.closed() && there.guard.all.closed()) return false;
  // Further samples wait in the line for the result of the one under way.
  return there.samples.size() < samples_max && samples_allowed(there, now) > 0;
}

bool Traffic::is_down_now(const Line& line, BootTime now) const {
  return destinations_[line.way.destination.value].guard.all.allowed(now) == 0 ||
         line.guard.all.allowed(now) == 0;
}

BootTime Traffic::ready_at(const Line& line, BootTime now) const {
  auto at = now;
  for (const auto* breaker :
       {&destinations_[line.way.destination.value].guard.all, &line.guard.all}) {
    if (const auto next = breaker->next(now); next != BootTime::max()) at = std::max(at, next);
  }
  for (const auto& valve : line.way.valves) {
    if (valve) at = std::max(at, valves_[valve->value].next(now));
  }
  return at;
}

void Traffic::look(Line& line, BootTime now) {
  const auto at = ready_at(line, now);
  const bool in_vain = is_down_now(line, now) || (at != BootTime::max() && at > now + hold_max);
  const auto worth = worth_holding(line, now);
  const auto share = options_.waiting_bytes_max / std::max<std::size_t>(1, busy_.size());
  if (!line.shut) {
    if (!in_vain && line.fresh.size() < worth && line.bytes < share) return;
    line.shut = true;
    ++shut_;
    return;
  }
  if (in_vain || worth == 0 || line.fresh.size() * 2 > worth || line.bytes * 2 > share) return;
  line.shut = false;
  --shut_;
  opened_ = true;
}

void Traffic::look_at_all_of(DestinationId destination, BootTime now) {
  for (auto& [id, line] : lines_) {
    if (line->way.destination == destination) look(*line, now);
  }
}

std::deque<Traffic::Waiting>* Traffic::ready_lane(Line& line, BootTime now) {
  if (bytes_under_way_ >= options_.under_way_bytes_max) return nullptr;
  const auto& destination = destinations_[line.way.destination.value];
  if (destination.under_way >= destination.under_way_max) return nullptr;
  for (const auto& valve : line.way.valves) {
    if (valve && !valves_[valve->value].admits(now)) return nullptr;
  }
  const bool retries_may =
      !line.retries.empty() && room(line, true, now) > 0 &&
      destination.retries_under_way < std::max(1U, destination.under_way_max / retry_turn);
  const bool fresh_may = !line.fresh.empty() && room(line, false, now) > 0;
  const bool samples_may = !line.samples.empty() && samples_room(line, now) > 0;
  if (samples_may && (line.turn % 2 == 1 || (!retries_may && !fresh_may))) return &line.samples;
  const bool retries_first = retries_may && line.turn % retry_turn == 0;
  if (retries_first || (retries_may && !fresh_may)) return &line.retries;
  return fresh_may ? &line.fresh : nullptr;
}

std::optional<Traffic::Going> Traffic::next(BootTime now) {
  for (auto looks = busy_.size(); looks > 0; --looks) {
    auto& line = *busy_.front();
    busy_.pop_front();
    if (line.waiting() == 0) {
      line.listed = false;
      continue;
    }
    busy_.push_back(&line);
    auto* const lane = ready_lane(line, now);
    if (lane == nullptr) continue;
    const auto going = lane->front();
    lane->pop_front();
    left(line, going);
    ++line.turn;
    ++line.under_way;
    bytes_under_way_ += going.bytes;
    auto& destination = destinations_[line.way.destination.value];
    ++destination.under_way;
    if (going.sample) ++destination.samples_under_way;
    if (going.sample) ++line.samples_under_way;
    if (going.retry) ++destination.retries_under_way;
    if (going.retry) ++line.retries_under_way;
    for (const auto& valve : line.way.valves) {
      if (valve) valves_[valve->value].begin(now);
    }
    look(line, now);
    return Going{.line = line.way.line,
                 .part = going.part,
                 .bytes = going.bytes,
                 .retry = going.retry,
                 .sample = going.sample};
  }
  return std::nullopt;
}

void Traffic::left(Line& line, const Waiting& waiting) {
  line.bytes -= waiting.bytes;
  --waiting_;
}

void Traffic::ended(const Going& going, const spi::SendResult& result, BootTime sent, BootTime now,
                    Fault fault) {
  using Kind = spi::SendResult::Kind;
  auto& line = *lines_.at(going.line.value);
  auto& destination = destinations_[line.way.destination.value];
  --line.under_way;
  --destination.under_way;
  if (going.sample) --destination.samples_under_way;
  if (going.sample) --line.samples_under_way;
  if (going.retry) --destination.retries_under_way;
  if (going.retry) --line.retries_under_way;
  bytes_under_way_ -= going.bytes;
  const bool in_vain = result.kind == Kind::unreachable || result.kind == Kind::busy;
  for (const auto& valve : line.way.valves) {
    if (!valve) continue;
    if (in_vain) {
      valves_[valve->value].end_in_vain();
    } else {
      valves_[valve->value].end();
    }
  }
  const auto allowed = destination.guard.all.allowed(now);
  if (fault == Fault::destination) count(line, going, result, sent, now);
  if (destination.guard.all.allowed(now) != allowed) {
    return look_at_all_of(line.way.destination, now);
  }
  look(line, now);
}

void Traffic::count(Line& line, const Going& going, const spi::SendResult& result, BootTime sent,
                    BootTime now) {
  using Kind = spi::SendResult::Kind;
  const auto lane = going.retry ? Breaker::Lane::retry : Breaker::Lane::fresh;
  switch (result.kind) {
    case Kind::delivered:
    case Kind::rejected:
    case Kind::failed:
      return answered(line, going, now);
    case Kind::unreachable:
      return charge(line, going, sent, now,
                    [&](Breaker& breaker) { breaker.unreachable(sent, now, lane); });
    case Kind::timed_out:
      return charge(line, going, sent, now,
                    [&](Breaker& breaker) { breaker.timed_out(sent, now, lane); });
    case Kind::busy:
      return charge(line, going, sent, now, [&](Breaker& breaker) {
        breaker.busy(result.retry_after.value_or(Duration{}), sent, now, lane);
      });
    case Kind::later:
      break;
  }
}

void Traffic::answered(Line& line, const Going& going, BootTime now) {
  for (auto* guard : {&destinations_[line.way.destination.value].guard, &line.guard}) {
    if (going.sample) {
      guard->samples.delivered(now);
      guard->all.overtaken(now);
    } else {
      guard->all.delivered(now);
    }
  }
  line.failing_since.reset();
}

template <class Fail>
void Traffic::charge(Line& line, const Going& going, BootTime sent, BootTime now, Fail&& fail) {
  auto& guard = charged(line, sent, now);
  if (going.sample) return fail(guard.samples);
  const bool was_open = guard.all.open();
  fail(guard.all);
  // Samples also start with a single probe, unless some have recently arrived.
  if (!was_open && guard.all.open() && !guard.samples.alive(now)) {
    guard.samples.unreachable(sent, now);
  }
}

Traffic::Guard& Traffic::charged(Line& line, BootTime sent, BootTime now) {
  auto& of_all = destinations_[line.way.destination.value].guard;
  if (of_all.all.open() || !of_all.all.is_news(sent)) return of_all;
  if (line.guard.all.open()) return line.guard;
  if (!line.failing_since) line.failing_since = now;
  return of_all.all.alive_since(*line.failing_since) ? line.guard : of_all;
}

const Breaker* Traffic::down(spi::ClassId line, DestinationId destination) const {
  const auto& of_all = destinations_[destination.value].guard.all;
  if (of_all.open()) return &of_all;
  const auto found = lines_.find(line.value);
  const bool own = found != lines_.end() && found->second->guard.all.open();
  return own ? &found->second->guard.all : nullptr;
}

bool Traffic::is_news(spi::ClassId line, BootTime sent) const {
  const auto& found = *lines_.at(line.value);
  return destinations_[found.way.destination.value].guard.all.is_news(sent) &&
         found.guard.all.is_news(sent);
}

std::vector<PartId> Traffic::give_up(BootTime now) {
  std::vector<PartId> given_up;
  for (auto* line : busy_) {
    const auto at = ready_at(*line, now);
    const bool in_vain = is_down_now(*line, now) || (at != BootTime::max() && at > now + hold_max);
    const bool samples_in_vain = samples_allowed(*line, now) == 0;
    for (auto* lane : {&line->fresh, &line->retries, &line->samples}) {
      const bool all = lane == &line->samples ? samples_in_vain : in_vain;
      // The first entries have waited longest.
      while (!lane->empty() && (all || lane->front().deadline <= now)) {
        given_up.push_back(lane->front().part);
        left(*line, lane->front());
        lane->pop_front();
      }
    }
    look(*line, now);
  }
  return given_up;
}

bool Traffic::cancel(spi::ClassId line, PartId part) {
  const auto found = lines_.find(line.value);
  if (found == lines_.end()) return false;
  for (auto* lane : {&found->second->fresh, &found->second->retries, &found->second->samples}) {
    const auto at = std::find_if(lane->begin(), lane->end(),
                                 [&](const Waiting& waiting) { return waiting.part == part; });
    if (at == lane->end()) continue;
    left(*found->second, *at);
    lane->erase(at);
    return true;
  }
  return false;
}

bool Traffic::shut(spi::ClassId line) const {
  const auto found = lines_.find(line.value);
  return found != lines_.end() && found->second->shut;
}

bool Traffic::full(spi::ClassId line) const {
  const auto found = lines_.find(line.value);
  return found != lines_.end() && found->second->shut &&
         down(line, found->second->way.destination) == nullptr;
}

std::optional<Traffic::Hold> Traffic::hold(const Way& way, BootTime now) const {
  const auto& destination = destinations_[way.destination.value];
  if (const auto* const breaker = down(way.line, way.destination)) {
    const auto probe = breaker->next(now);
    return Hold{.by = Hold::By::breaker,
                .since = breaker->down_since(),
                .until = probe == BootTime::max() ? now : probe};
  }
  for (std::size_t at = 0; at < way.valves.size(); ++at) {
    if (!way.valves[at]) continue;
    const auto& valve = valves_[way.valves[at]->value];
    const auto limit = valve.reached(now);
    if (limit == Valve::Limit::none) continue;
    return Hold{.by = Hold::By::valve, .valve = at, .limit = limit, .until = valve.next(now)};
  }
  const auto room = std::min(destination.under_way_max, destination.guard.all.allowed(now));
  if (shut(way.line) || destination.under_way >= room) return Hold{};
  return std::nullopt;
}

bool Traffic::take_opened() noexcept { return std::exchange(opened_, false); }

void Traffic::tick(BootTime now) {
  if (shut_ == 0) return;
  for (auto& [id, line] : lines_) {
    if (line->shut) look(*line, now);
  }
}

BootTime Traffic::wake_at(BootTime now) const {
  auto at = BootTime::max();
  const auto consider = [&](const Line& line) {
    const auto ready = ready_at(line, now);
    if (ready > now) at = std::min(at, ready);
  };
  for (const auto* line : busy_) {
    if (line->waiting() == 0) continue;
    consider(*line);
    for (const auto* lane : {&line->fresh, &line->retries, &line->samples}) {
      if (!lane->empty()) at = std::min(at, lane->front().deadline);
    }
  }
  if (shut_ == 0) return at;
  for (const auto& [id, line] : lines_) {
    if (line->shut) consider(*line);
  }
  return at;
}

}  // namespace sagabox::flow
