#include "outbox/upkeep/pauses.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::outbox {

spi::ClassId Pauses::class_of_topic(std::string_view topic) {
  return spi::ClassId{stable_hash("paused topic " + std::string(topic))};
}

bool Pauses::set(std::span<const Pause> pauses) {
  bool table = false;
  std::set<std::string, std::less<>> topics;
  std::set<spi::ClassId> classes;
  for (const auto& pause : pauses) {
    if (pause.topic.empty()) {
      table = true;
    } else {
      topics.insert(pause.topic);
      classes.insert(class_of_topic(pause.topic));
    }
  }
  bool opened = false;
  {
    const std::scoped_lock lock(mutex_);
    opened = !std::includes(topics.begin(), topics.end(), topics_.begin(), topics_.end());
    topics_ = std::move(topics);
    classes_ = std::move(classes);
    any_topic_.store(!topics_.empty(), std::memory_order_release);
  }
  return (table_.exchange(table) && !table) || opened;
}

std::optional<spi::ClassId> Pauses::class_of(const Message& message) const {
  if (any_topic_.load(std::memory_order_acquire)) {
    const std::scoped_lock lock(mutex_);
    if (topics_.contains(message.topic())) return class_of_topic(message.topic());
  }
  return beneath_ == nullptr ? std::nullopt : beneath_->class_of(message);
}

bool Pauses::closed(spi::ClassId id) const {
  if (any_topic_.load(std::memory_order_acquire)) {
    const std::scoped_lock lock(mutex_);
    if (classes_.contains(id)) return true;
  }
  return beneath_ != nullptr && beneath_->closed(id);
}

bool Pauses::holds(spi::ClassId id, const Message& message, WallTime since) const {
  if (any_topic_.load(std::memory_order_acquire)) {
    const std::scoped_lock lock(mutex_);
    if (classes_.contains(id)) return true;
  }
  return beneath_ != nullptr && beneath_->holds(id, message, since);
}

bool Pauses::samples(spi::ClassId id) const {
  if (any_topic_.load(std::memory_order_acquire)) {
    const std::scoped_lock lock(mutex_);
    if (classes_.contains(id)) return false;
  }
  return beneath_ != nullptr && beneath_->samples(id);
}

}  // namespace sagabox::outbox
