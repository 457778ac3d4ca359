#include "outbox/dispatch/unrouted.hpp"

#include "core/duration_text.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

namespace sagabox::outbox {
namespace {

constexpr std::uint64_t first_unrouted_class = 0x6E6F20726F757400ULL;
constexpr std::uint64_t unrouted_classes = std::uint64_t{1} << 20U;
/// However many topics producers make up: so many have a class of their own. Further topics share
/// classes, in which they wait for each other, and are shown under one name.
constexpr std::size_t named_topics_max = 1000;
constexpr std::uint64_t shared_classes = 1024;
constexpr std::string_view other_topics = "(others)";

/// Operators may have taken messages away: so often what waits is looked at again.
constexpr Duration opening_interval = std::chrono::seconds(60);
/// Messages that come one after the other also end their time one after the other.
constexpr Duration opening_interval_min = std::chrono::seconds(1);
/// A topic of which nothing was found so long after such a look has no messages any more.
constexpr Duration unseen_max = std::chrono::seconds(30);
/// Every topic of which messages wait is looked at once in an opening interval; the rest is for a
/// process that was stopped meanwhile.
constexpr Duration unasked_max = 5 * opening_interval;
/// Each process that misses a topic grants the grace time anew, up to so many times in all.
constexpr int graces_max = 24;

std::size_t slot_of(std::string_view topic) {
  if (topic.empty()) return 0;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(topic[at]); };
  return topic.size() + std::size_t{3} * byte(topic.size() / 2) +
         std::size_t{5} * byte(topic.size() - 1);
}

}  // namespace

Unrouted::Unrouted(Parts parts, const Options& options)
    : parts_(parts),
      options_(options),
      routes_seen_(parts.sink == nullptr ? 0 : parts.sink->routes_version()) {}

bool Unrouted::is_unrouted(spi::ClassId id) {
  return id.value - first_unrouted_class < unrouted_classes;
}

bool Unrouted::known(const Message& message) const {
  auto& slot = known_[slot_of(message.topic()) % known_max];
  const auto* const before = slot.load(std::memory_order_acquire);
  if (before != nullptr && before->serves(message)) return true;
  if (const auto* const route = parts_.registry.find(message.aggregate_type(), message.topic())) {
    if (before == nullptr) slot.store(route, std::memory_order_release);
    return true;
  }
  return parts_.sink != nullptr && parts_.sink->takes(message);
}

std::optional<spi::ClassId> Unrouted::class_of(const Message& message) const {
  const auto id = parts_.beneath == nullptr ? std::nullopt : parts_.beneath->class_of(message);
  // A sink gives a class only to what it takes.
  if (!options_.waits || (id && parts_.beneath == parts_.sink) || known(message)) return id;
  const std::scoped_lock lock(mutex_);
  return class_of_unrouted(message);
}

spi::ClassId Unrouted::class_of_unrouted(const Message& message) const {
  const NameView name{message.aggregate_type(), message.topic()};
  auto found = seen_.find(name);
  if (found != seen_.end()) return found->second.id;
  if (seen_.size() >= named_topics_max) {
    return spi::ClassId{first_unrouted_class + stable_hash(message.topic()) % shared_classes};
  }
  // Not the class of a topic that was forgotten: messages of it may still wait in that class.
  const auto number = classes_made_++ % (unrouted_classes - shared_classes);
  const auto id = spi::ClassId{first_unrouted_class + shared_classes + number};
  const auto now = parts_.clock.wall_now();
  seen_.try_emplace(Name(name), Seen{.id = id});
  missed_.insert_or_assign(id, Missed{.first = now, .last = now});
  return id;
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
  const auto now = parts_.clock.wall_now();
  const std::scoped_lock lock(mutex_);
  auto& missed = missed_.try_emplace(id, Missed{.first = now}).first->second;
  missed.first = std::min(missed.first, now);
  missed.last = now;
  const auto until = ends(since, missed.first);
  if (until <= now) return false;
  note(message, since, until);
  return true;
}

std::optional<WallTime> Unrouted::waits_until(const Message& message, WallTime since) const {
  const auto id = class_of(message);
  if (!id || !is_unrouted(*id)) return std::nullopt;
  const auto now = parts_.clock.wall_now();
  const std::scoped_lock lock(mutex_);
  const auto missed = missed_.find(*id);
  const auto until = ends(since, missed == missed_.end() ? now : missed->second.first);
  return until <= now ? std::nullopt : std::optional(until);
}

WallTime Unrouted::ends(WallTime since, WallTime missed) const {
  const auto grace = std::chrono::ceil<WallTime::duration>(options_.grace);
  return std::min(std::max(since, missed) + grace, since + graces_max * grace);
}

void Unrouted::note(const Message& message, WallTime since, WallTime until) const {
  auto found = seen_.find(NameView{message.aggregate_type(), message.topic()});
  if (found == seen_.end()) {
    found = seen_.try_emplace(Name{other_topics, other_topics}).first;
  }
  auto& seen = found->second;
  if (!seen.fresh || since < seen.since) {
    seen.since = since;
    seen.until = until;
  }
  seen.shown = true;
  seen.fresh = true;
  // The caller holds a shard.
  if (!std::exchange(seen.logged, true)) new_names_.push_back(found->first);
}

void Unrouted::log_new() {
  std::vector<Name> names;
  {
    const std::scoped_lock lock(mutex_);
    names.swap(new_names_);
  }
  const auto grace = exact_duration_text(options_.grace);
  for (const auto& [aggregate_type, topic] : names) {
    parts_.log.log(LogLevel::warning, "topic has no listener and no route here; its messages wait",
                   {{"table", std::string_view(parts_.table.str())},
                    {"topic", std::string_view(topic)},
                    {"aggregate_type", std::string_view(aggregate_type)},
                    {"dead_after", std::string_view(grace)}});
  }
}

bool Unrouted::routes_changed() const {
  return parts_.sink != nullptr && parts_.sink->routes_version() != routes_seen_.load();
}

bool Unrouted::opening_due() {
  log_new();
  const auto now = parts_.clock.wall_now();
  const std::scoped_lock lock(mutex_);
  forget_gone(now);
  if (std::ranges::none_of(seen_, [](const auto& entry) { return entry.second.shown; })) {
    return false;
  }
  const auto age = now - opened_at_;
  // A clock that was set back must not stop it.
  if (age < Duration{} || age >= opening_interval || routes_changed()) return true;
  if (age < opening_interval_min) return false;
  return std::ranges::any_of(
      seen_, [&](const auto& entry) { return entry.second.fresh && entry.second.until <= now; });
}

void Unrouted::forget_gone(WallTime now) {
  std::erase_if(missed_, [&](const auto& entry) { return now - entry.second.last >= unasked_max; });
  for (auto& [name, seen] : seen_) {
    if (!seen.fresh && now - seen.missing_since >= unseen_max) seen.shown = false;
  }
  std::erase_if(seen_, [&](const auto& entry) {
    return !entry.second.shown && !missed_.contains(entry.second.id);
  });
}

void Unrouted::begin_opening() {
  openings_.fetch_add(1);
  const auto routes = parts_.sink == nullptr ? 0 : parts_.sink->routes_version();
  const std::scoped_lock lock(mutex_);
  const bool changed = routes_seen_.exchange(routes) != routes;
  opened_at_ = parts_.clock.wall_now();
  for (auto& [name, seen] : seen_) {
    seen.shown = seen.shown && !changed;
    if (seen.fresh) seen.missing_since = opened_at_;
    seen.fresh = false;
  }
}

std::vector<UnroutedTopic> Unrouted::topics(std::size_t topics_max) const {
  std::vector<UnroutedTopic> topics;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [name, seen] : seen_) {
      if (!seen.shown) continue;
      topics.push_back({.aggregate_type = name.first,
                        .topic = name.second,
                        .since = seen.since,
                        .until = seen.until});
    }
  }
  std::ranges::sort(topics, {}, &UnroutedTopic::since);
  if (topics.size() > topics_max) topics.resize(topics_max);
  return topics;
}

std::size_t Unrouted::count() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(seen_, [](const auto& entry) { return entry.second.shown; }));
}

}  // namespace sagabox::outbox
