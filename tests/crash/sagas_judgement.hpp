#pragma once

#include <sagabox/saga_record.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sagabox::crash {

/// A saga that was started, and how it ended.
struct SagaRun {
  /// Null: it may be completed or cancelled.
  std::optional<SagaState> must_end{};
  /// Null: it is not in the store.
  std::optional<SagaState> ended{};
  std::string id{};
};

/// What a participant's own book says of one step of a saga.
struct BookedStep {
  std::string saga{};
  std::string step{};
  int done = 0;       ///< how often its action took effect
  int undone = 0;     ///< and its compensation
  int asked = 0;      ///< calls of its action that came in, repetitions included
  bool once = false;  ///< it may be asked once only: it is not idempotent
};

/// Every saga must have ended as it had to, and the books must say the same: each of the `steps`
/// has taken effect once if its saga completed, and no effect is left if it was cancelled. Returns
/// what is not so, a line each.
std::vector<std::string> problems_of(const std::vector<SagaRun>& sagas,
                                     const std::vector<BookedStep>& books,
                                     const std::vector<std::string>& steps);

}  // namespace sagabox::crash
