#pragma once

#include "saga/calls/caller.hpp"

#include <sagabox/random.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace sagabox::simulation {

/// What a participant has done, in its own books.
struct BookEntry {
  std::uint32_t done = 0;  ///< how often the action took effect
  bool undone = false;
  bool compensated_first = false;  ///< a compensation came before its action
};

/// Those whom all sagas call: they keep books, guard them as `Inbox::barrier` does, and answer as a
/// script wants, or do not.
class Participants {
 public:
  struct Parts {
    Random& random;
    std::function<WallTime()> now;
    /// A reply to a call that was accepted.
    std::function<void(const saga::CallOrder&, bool ok)> reply;
    std::function<void(std::string)> violated;
  };
  /// Steps as the definition has them: what must be undone before what.
  struct StepRule {
    std::string name;
    std::size_t group = 0;
    bool idempotent = true;
    bool waits = false;  ///< accepts and replies later
    bool undoable = true;
  };
  Participants(Parts parts, std::vector<StepRule> rules)
      : parts_(std::move(parts)), rules_(std::move(rules)) {}

  void called(std::uint64_t process, saga::CallOrder order, saga::CallResults& results);
  /// Does what is due. True: something happened.
  bool work();
  /// Their answers reach nobody any more; what they do still happens.
  void process_gone(std::uint64_t process);
  [[nodiscard]] std::optional<WallTime> next() const;
  /// From now on everything succeeds.
  void be_good() { good_ = true; }

  [[nodiscard]] const BookEntry& entry(const SagaId& saga, std::size_t step) const;
  [[nodiscard]] std::size_t step_of(const std::string& name) const;
  [[nodiscard]] std::uint64_t effects() const noexcept { return effects_; }
  [[nodiscard]] std::uint64_t compensations() const noexcept { return compensations_; }

 private:
  struct Open {
    std::uint64_t process = 0;  ///< 0: nobody waits for an answer
    saga::CallOrder order;
    saga::CallResults* results = nullptr;
    std::optional<WallTime> effect_at{};
    std::optional<WallTime> answer_at{};
    std::optional<WallTime> reply_at{};
    bool reply_ok = true;
    bool refused = false;  ///< by the barrier
    saga::CallResult answer{};
  };
  using Key = std::pair<SagaId, std::size_t>;

  void plan(Open& open);
  void take_effect(Open& open);
  void check_order(const Open& open, std::size_t step);
  [[nodiscard]] Duration up_to(Duration most) {
    return Duration(static_cast<Duration::rep>(
        parts_.random.below(static_cast<std::uint64_t>(most.count()) + 1)));
  }

  const Parts parts_;
  const std::vector<StepRule> rules_;
  std::vector<Open> open_;
  std::map<Key, BookEntry> books_;
  std::uint64_t effects_ = 0;
  std::uint64_t compensations_ = 0;
  bool good_ = false;
};

}  // namespace sagabox::simulation
