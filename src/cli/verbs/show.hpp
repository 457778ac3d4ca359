#pragma once

#include "cli/terminal.hpp"

#include <sagabox/delivery.hpp>
#include <sagabox/time.hpp>

#include <mutex>
#include <set>
#include <string>

namespace sagabox::cli {

/// Prints a line for each message it is given: where messages go that have nowhere to go yet.
class Show {
 public:
  Show(Terminal& terminal, const Clock& clock) : terminal_(terminal), clock_(clock) {}

  /// Takes everything, but for one thing to try: a topic with the part `refused` is refused the
  /// first time.
  Outcome operator()(const Delivery& delivery);
  /// A line between theirs.
  void say(const Line& line);

 private:
  [[nodiscard]] bool refuses(const Delivery& delivery);

  std::mutex mutex_;  // of all below
  Terminal& terminal_;
  const Clock& clock_;
  std::set<std::string> refused_;
};

}  // namespace sagabox::cli
