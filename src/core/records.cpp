#include <sagabox/records.hpp>

#include <algorithm>
#include <array>
#include <string>

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

std::optional<Error> change_problem(const ReplayJob& job, ReplayJob::State to) {
  const std::string name = "replay job " + std::to_string(job.id.value);
  if (to == ReplayJob::State::finished) {
    return Error{Code::config_invalid, name +
                                           " finishes when nothing is left to replay; it can "
                                           "be stopped, resumed or marked as failed"};
  }
  const bool runs = job.state == ReplayJob::State::running;
  if (to == ReplayJob::State::running) {
    if (job.state == ReplayJob::State::stopped || job.state == ReplayJob::State::failed)
      return std::nullopt;
    return Error{Code::tx_invalid_state, name + " is " + std::string(job_state_name(job.state)) +
                                             "; only a stopped or failed job can be resumed"};
  }
  if (runs) return std::nullopt;
  return Error{Code::tx_invalid_state,
               name + " is " + std::string(job_state_name(job.state)) +
                   "; only a running job can be " +
                   (to == ReplayJob::State::stopped ? "stopped" : "failed")};
}

}  // namespace sagabox
