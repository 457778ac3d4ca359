#include "outbox/dispatch/unrouted.hpp"

#include "core/duration_text.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <tuple>

namespace sagabox::outbox {
namespace {

/// However many topics producers make up, a shard keeps so many classes at most; topics of one
/// class wait for each other.
constexpr std::uint64_t unrouted_classes = 1024;
constexpr std::uint64_t first_unrouted_class = 0x6E6F20726F757400ULL;
/// Further topics are shown under one name.
constexpr std::size_t named_topics_max = 1000;
constexpr std::string_view other_topics = "(others)";

/// Operators may have taken messages away: so often what waits is looked at again.
constexpr Duration opening_interval = std::chrono::seconds(60);
/// Messages that come one after the other also end their time one after the other.
constexpr Duration opening_interval_min = std::chrono::seconds(1);
/// A topic of which nothing was found so long after such a look has no messages any more.
constexpr Duration unseen_max = std::chrono::seconds(30);

bool is_unrouted(spi::ClassId id) { return id.value - first_unrouted_class < unrouted_classes; }

}  // namespace

Unrouted::Unrouted(Parts parts, const Options& options)
    : parts_(parts),
      options_(options),
      routes_seen_(parts.sink == nullptr ? 0 : parts.sink->routes_version()) {}

bool Unrouted::known(const Message& message) const {
  const auto* const first = first_route_.load(std::memory_order_acquire);
  if (first != nullptr && first->serves(message)) return true;
  if (const auto* const route = parts_.registry.find(message.aggregate_type(), message.topic())) {
    if (first == nullptr) first_route_.store(route, std::memory_order_release);
    return true;
  }
  return parts_.sink != nullptr && parts_.sink->takes(message);
}

std::optional<spi::ClassId> Unrouted::class_of(const Message& message) const {
  const auto id = parts_.beneath == nullptr ? std::nullopt : parts_.beneath->class_of(message);
  // A sink gives a class only to what it takes.
  if (!options_.waits || (id && parts_.beneath == parts_.sink) || known(message)) return id;
  const auto hash = stable_hash(message.aggregate_type() + " " + message.topic());
  return spi::ClassId{first_unrouted_class + hash % unrouted_classes};
}

bool Unrouted::closed(spi::ClassId id) const {
  if (is_unrouted(id)) return openings_.load() == 0;
  return parts_.beneath != nullptr && parts_.beneath->closed(id);
}

bool Unrouted::samples(spi::ClassId id) const {
  return !is_unrouted(id) && parts_.beneath != nullptr && parts_.beneath->samples(id);
}

bool Unrouted::holds(spi::ClassId id, const Message& message, WallTime since) const {
  if (!is_unrouted(id)) {
    return parts_.beneath != nullptr && parts_.beneath->holds(id, message, since);
  }
  if (ends(since) <= parts_.clock.wall_now()) return false;
  note(message, since);
  return true;
}

std::optional<WallTime> Unrouted::waits_until(const Message& message, WallTime since) const {
  const auto id = class_of(message);
  if (!id || !is_unrouted(*id)) return std::nullopt;
  const auto until = ends(since);
  return until <= parts_.clock.wall_now() ? std::nullopt : std::optional(until);
}

WallTime Unrouted::ends(WallTime since) const {
  return since + std::chrono::ceil<WallTime::duration>(options_.grace);
}

void Unrouted::note(const Message& message, WallTime since) const {
  bool first = false;
  {
    const std::scoped_lock lock(mutex_);
    auto found = seen_.find({message.aggregate_type(), message.topic()});
    if (found == seen_.end()) {
      const auto name = seen_.size() < named_topics_max
                            ? Name{message.aggregate_type(), message.topic()}
                            : Name{other_topics, other_topics};
      std::tie(found, first) = seen_.try_emplace(name);
    }
    auto& seen = found->second;
    seen.since = seen.fresh ? std::min(seen.since, since) : since;
    seen.fresh = true;
  }
  if (!first) return;
  const auto grace = exact_duration_text(options_.grace);
  parts_.log.log(LogLevel::warning, "topic has no listener and no route here; its messages wait",
                 {{"table", std::string_view(parts_.table.str())},
                  {"topic", std::string_view(message.topic())},
                  {"aggregate_type", std::string_view(message.aggregate_type())},
                  {"dead_after", std::string_view(grace)}});
}

bool Unrouted::routes_changed() const {
  return parts_.sink != nullptr && parts_.sink->routes_version() != routes_seen_.load();
}

bool Unrouted::opening_due() {
  const auto now = parts_.clock.wall_now();
  const std::scoped_lock lock(mutex_);
  forget_gone(now);
  if (seen_.empty()) return false;
  const auto age = now - opened_at_;
  // A clock that was set back must not stop it.
  if (age < Duration{} || age >= opening_interval || routes_changed()) return true;
  if (age < opening_interval_min) return false;
  return std::ranges::any_of(seen_, [&](const auto& entry) {
    return entry.second.fresh && ends(entry.second.since) <= now;
  });
}

void Unrouted::forget_gone(WallTime now) {
  std::erase_if(seen_, [&](const auto& entry) {
    return !entry.second.fresh && now - entry.second.missing_since >= unseen_max;
  });
}

void Unrouted::begin_opening() {
  openings_.fetch_add(1);
  const auto routes = parts_.sink == nullptr ? 0 : parts_.sink->routes_version();
  const std::scoped_lock lock(mutex_);
  if (routes_seen_.exchange(routes) != routes) seen_.clear();
  opened_at_ = parts_.clock.wall_now();
  for (auto& [name, seen] : seen_) {
    if (seen.fresh) seen.missing_since = opened_at_;
    seen.fresh = false;
  }
}

std::vector<UnroutedTopic> Unrouted::topics(std::size_t topics_max) const {
  std::vector<UnroutedTopic> topics;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [name, seen] : seen_) {
      topics.push_back({.aggregate_type = name.first,
                        .topic = name.second,
                        .since = seen.since,
                        .until = ends(seen.since)});
    }
  }
  std::ranges::sort(topics, {}, &UnroutedTopic::since);
  if (topics.size() > topics_max) topics.resize(topics_max);
  return topics;
}

std::size_t Unrouted::count() const {
  const std::scoped_lock lock(mutex_);
  return seen_.size();
}

}  // namespace sagabox::outbox
