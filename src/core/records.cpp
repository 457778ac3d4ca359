#include <sagabox/records.hpp>

#include <algorithm>
#include <array>

namespace sagabox {
namespace {

constexpr std::array<std::string_view, message_state_count> state_names{"pending", "done", "dead",
                                                                        "quarantined"};
constexpr std::array<std::string_view, 4> job_state_names{"running", "stopped", "finished",
                                                          "failed"};

}  // namespace

std::string_view state_name(MessageState state) noexcept {
  return state_names[static_cast<std::size_t>(state)];
}

std::optional<MessageState> state_from_name(std::string_view name) noexcept {
  const auto* const found = std::find(state_names.begin(), state_names.end(), name);
  if (found == state_names.end()) return std::nullopt;
  return static_cast<MessageState>(found - state_names.begin());
}

std::string_view job_state_name(ReplayJob::State state) noexcept {
  return job_state_names[static_cast<std::size_t>(state)];
}

}  // namespace sagabox
