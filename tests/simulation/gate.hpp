#pragma once

#include <sagabox/spi/gate.hpp>

#include <map>
#include <optional>
#include <string>

namespace sagabox::simulation {

/// Closes topics as a breaker would.
class TopicGate final : public spi::Gate {
 public:
  [[nodiscard]] std::optional<spi::ClassId> class_of(const Message& message) const override {
    return class_of_topic(message.topic());
  }
  [[nodiscard]] bool closed(spi::ClassId id) const override { return closed_.contains(id.value); }

  void close(const std::string& topic, BootTime now) {
    closed_.emplace(class_of_topic(topic)->value, now);
  }
  void open(const std::string& topic) { closed_.erase(class_of_topic(topic)->value); }
  void open_all() { closed_.clear(); }
  [[nodiscard]] std::optional<BootTime> closed_since(const std::string& topic) const {
    const auto id = class_of_topic(topic);
    const auto found = id ? closed_.find(id->value) : closed_.end();
    return found == closed_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  /// Every other topic can be closed.
  static std::optional<spi::ClassId> class_of_topic(const std::string& topic) {
    if (topic != "t0" && topic != "t2") return std::nullopt;
    return spi::ClassId{stable_hash("class of " + topic)};
  }

  std::map<std::uint64_t, BootTime> closed_;
};

}  // namespace sagabox::simulation
