#include "flow/traffic.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace sagabox::flow {
namespace {

/// What cannot go for so long does not wait here.
constexpr Duration hold_max = std::chrono::seconds(1);
/// A line holds so many however many others there are.
constexpr std::uint32_t share_min = 16;
/// Of four that go, one is a retry where both wait.
constexpr std::uint32_t retry_turn = 4;

}  // namespace

Traffic::Traffic(const TrafficOptions& options) : options_(options) {}

DestinationId Traffic::add_destination(std::uint32_t under_way_max) {
  destinations_.push_back({.breaker = Breaker(options_.breaker), .under_way_max = under_way_max});
  return DestinationId{static_cast<std::uint32_t>(destinations_.size() - 1)};
}

ValveId Traffic::add_valve(const Limits& limits, BootTime now) {
  valves_.emplace_back(limits, now);
  return ValveId{static_cast<std::uint32_t>(valves_.size() - 1)};
}

Traffic::Line& Traffic::line(const Way& way) {
  auto& found = lines_[way.line.value];
  if (found) return *found;
  if (lines_.size() > options_.lines_max) forget_idle_lines();
  auto& made = lines_[way.line.value];
  made = std::make_unique<Line>();
  made->way = way;
  return *made;
}

void Traffic::forget_idle_lines() {
  std::erase_if(lines_, [](const auto& entry) {
    const auto& line = entry.second;
    return !line || (!line->shut && !line->listed && line->waiting() == 0 && line->under_way == 0);
  });
}

bool Traffic::offer(const Way& way, const Waiting& waiting, BootTime now) {
  auto& there = line(way);
  look(there, now);
  // However many lines there are, all together hold no more than twice what they should.
  if (there.shut || waiting_ >= 2 * std::size_t{options_.waiting_max}) return false;
  const auto retries_max = std::max(1U, worth_holding(there, now) / retry_turn);
  if (waiting.retry && there.retries.size() >= retries_max) return false;
  (waiting.retry ? there.retries : there.fresh).push_back(waiting);
  there.bytes += waiting.bytes;
  ++waiting_;
  if (!std::exchange(there.listed, true)) busy_.push_back(&there);
  look(there, now);
  return true;
}

std::uint32_t Traffic::worth_holding(const Line& line, BootTime now) const {
  const auto& destination = destinations_[line.way.destination.value];
  const auto others = std::max<std::size_t>(1, busy_.size());
  auto worth = std::max(share_min, static_cast<std::uint32_t>(options_.waiting_max / others));
  for (const auto& valve : line.way.valves) {
    if (valve) worth = std::min(worth, valves_[valve->value].worth_holding());
  }
  const auto allowed = destination.breaker.allowed(now);
  if (allowed == std::numeric_limits<std::uint32_t>::max()) return worth;
  return std::min(worth, allowed - std::min(allowed, destination.under_way));
}

BootTime Traffic::ready_at(const Line& line, BootTime now) const {
  auto at = destinations_[line.way.destination.value].breaker.next(now);
  if (at == BootTime::max()) at = now;
  for (const auto& valve : line.way.valves) {
    if (valve) at = std::max(at, valves_[valve->value].next(now));
  }
  return at;
}

void Traffic::look(Line& line, BootTime now) {
  const auto at = ready_at(line, now);
  const bool down = destinations_[line.way.destination.value].breaker.allowed(now) == 0;
  const bool in_vain = down || (at != BootTime::max() && at > now + hold_max);
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
  if (destination.under_way >=
      std::min(destination.under_way_max, destination.breaker.allowed(now))) {
    return nullptr;
  }
  for (const auto& valve : line.way.valves) {
    if (valve && !valves_[valve->value].admits(now)) return nullptr;
  }
  const bool retries_may =
      !line.retries.empty() &&
      destination.retries_under_way < std::max(1U, destination.under_way_max / retry_turn);
  const bool retries_first = retries_may && line.turn % retry_turn == 0;
  if (retries_first || (retries_may && line.fresh.empty())) return &line.retries;
  return line.fresh.empty() ? nullptr : &line.fresh;
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
    if (going.retry) ++destination.retries_under_way;
    for (const auto& valve : line.way.valves) {
      if (valve) valves_[valve->value].begin(now);
    }
    look(line, now);
    return Going{
        .line = line.way.line, .part = going.part, .bytes = going.bytes, .retry = going.retry};
  }
  return std::nullopt;
}

void Traffic::left(Line& line, const Waiting& waiting) {
  line.bytes -= waiting.bytes;
  --waiting_;
}

void Traffic::ended(const Going& going, const spi::SendResult& result, BootTime sent,
                    BootTime now) {
  using Kind = spi::SendResult::Kind;
  auto& line = *lines_.at(going.line.value);
  auto& destination = destinations_[line.way.destination.value];
  --line.under_way;
  --destination.under_way;
  if (going.retry) --destination.retries_under_way;
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
  auto& breaker = destination.breaker;
  const auto allowed = breaker.allowed(now);
  switch (result.kind) {
    case Kind::delivered:
    case Kind::rejected:
    case Kind::failed:
      // It answered: it is up.
      breaker.delivered(now);
      break;
    case Kind::unreachable:
      breaker.unreachable(sent, now);
      break;
    case Kind::timed_out:
      breaker.timed_out(sent, now);
      break;
    case Kind::busy:
      breaker.busy(result.retry_after.value_or(Duration{}), sent, now);
      break;
    case Kind::later:
      break;
  }
  if (breaker.allowed(now) != allowed) return look_at_all_of(line.way.destination, now);
  look(line, now);
}

std::vector<PartId> Traffic::give_up(BootTime now) {
  std::vector<PartId> given_up;
  for (auto* line : busy_) {
    const auto at = ready_at(*line, now);
    const bool in_vain = destinations_[line->way.destination.value].breaker.allowed(now) == 0 ||
                         (at != BootTime::max() && at > now + hold_max);
    for (auto* lane : {&line->fresh, &line->retries}) {
      // Those in front have waited longest.
      while (!lane->empty() && (in_vain || lane->front().deadline <= now)) {
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
  for (auto* lane : {&found->second->fresh, &found->second->retries}) {
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
         !destinations_[found->second->way.destination.value].breaker.open();
}

std::optional<Traffic::Hold> Traffic::hold(const Way& way, BootTime now) const {
  const auto& destination = destinations_[way.destination.value];
  if (destination.breaker.open()) {
    const auto probe = destination.breaker.next(now);
    return Hold{.by = Hold::By::breaker, .until = probe == BootTime::max() ? now : probe};
  }
  for (std::size_t at = 0; at < way.valves.size(); ++at) {
    if (!way.valves[at]) continue;
    const auto& valve = valves_[way.valves[at]->value];
    const auto limit = valve.reached(now);
    if (limit == Valve::Limit::none) continue;
    return Hold{.by = Hold::By::valve, .valve = at, .limit = limit, .until = valve.next(now)};
  }
  const auto room = std::min(destination.under_way_max, destination.breaker.allowed(now));
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
    for (const auto* lane : {&line->fresh, &line->retries}) {
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
