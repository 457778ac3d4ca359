#pragma once

#include "cli/terminal.hpp"

#include <sagabox/delivery.hpp>
#include <sagabox/time.hpp>

#include <mutex>
#include <set>
#include <string>

namespace sagabox::cli {

/// Prints a line for each message: the default target of messages without a route.
class Show {
 public:
  Show(Terminal& terminal, const Clock& clock) : terminal_(terminal), clock_(clock) {}

  /// Accepts everything, except for trying out retries: a topic with the part `refused` is refused
  /// the first time.
  Outcome operator()(const Delivery& delivery);
  /// Prints a line between those of messages.
  void say(const Line& line);

 private:
  [[nodiscard]] bool refuses(const Delivery& delivery);

  std::mutex mutex_;  // guards the members below
  Terminal& terminal_;
  const Clock& clock_;
  std::set<std::string> refused_;
};

}  // namespace sagabox::cli
