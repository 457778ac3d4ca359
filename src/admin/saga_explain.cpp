#include "admin/saga_explain.hpp"

#include "admin/answer.hpp"
#include "admin/saga_view.hpp"
#include "core/error_text.hpp"
#include "core/text.hpp"
#include "saga/calls/participants.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sagabox::admin {
namespace {

constexpr std::size_t error_shown_max = 300;

std::string error_line(std::string_view text) { return clean_error(text, error_shown_max); }

std::string version_name(const SagaView& view) {
  return view.definition + " v" + std::to_string(view.definition_version);
}

/// Builds the answer.
class SagaAnswerText {
 public:
  explicit SagaAnswerText(const SagaFacts& facts) : facts_(facts), view_(facts.view) {}

  SagaExplanation take() && {
    answer_.state = version_name(view_) + " is " + std::string(saga_state_name(view_.state)) +
                    ", started " + ago(view_.started_at);
    if (view_.ended_at) answer_.state += ", ended " + ago(*view_.ended_at);
    if (!view_.undo.empty()) answer_.state += "; it goes back: " + view_.undo;
    say_owner();
    quarantine();
    if (view_.state == SagaState::failed) {
      dead();
    } else if (has_ended(view_.state)) {
      because(SagaWhy::ended, {}, "it has " + std::string(saga_state_name(view_.state)));
    } else {
      active();
    }
    return std::move(answer_);
  }

 private:
  [[nodiscard]] std::string ago(WallTime then) const {
    return age_text(view_.seen_at - then) + " ago";
  }
  void because(SagaWhy why, const std::string& step, std::string text) {
    answer_.reasons.push_back({why, step, std::move(text)});
  }
  void next(std::string text) {
    if (answer_.next.empty()) answer_.next = std::move(text);
  }
  [[nodiscard]] std::string command(std::string_view verb) const {
    return "sagabox saga " + std::string(verb) + " " + view_.id.str();
  }

  void quarantine() {
    if (!view_.quarantined) return;
    because(SagaWhy::quarantined, {}, "it is set aside until it is released");
    next(command("release"));
  }

  void dead() {
    bool told = false;
    for (const auto& step : view_.steps) {
      const bool stuck = step.state == SagaStepState::undo_failed ||
                         step.state == SagaStepState::failed ||
                         step.state == SagaStepState::unknown || step.state == SagaStepState::held;
      if (!stuck) continue;
      told = true;
      because(SagaWhy::dead, step.name,
              (step.state == SagaStepState::undo_failed ? "the compensation of step " : "step ") +
                  step.name + " cannot succeed" + failure(step));
    }
    if (!told) because(SagaWhy::dead, {}, "it goes neither forward nor back");
    next(command("replay") + " goes on from the failed step, with --into-compensation back");
  }

  void active() {
    if (!view_.unreadable.empty()) {
      because(SagaWhy::unreadable, {}, "a process that can read it: " + view_.unreadable);
    }
    paused();
    ownership();
    commands();
    for (const auto& step : view_.steps) of_step(step);
    if (answer_.reasons.empty()) {
      because(SagaWhy::with_owner, {}, "its owner; nothing holds it, it should go on at once");
    }
  }

  void paused() {
    if (view_.state != SagaState::paused) return;
    because(SagaWhy::paused, {},
            "it to be resumed" + (view_.paused_at ? ", paused " + ago(*view_.paused_at) : ""));
    next(command("resume"));
  }

  [[nodiscard]] const spi::ShardOwner* owner() const {
    return facts_.owners ? owner_of(facts_.owners->shards, facts_.shard) : nullptr;
  }

  void say_owner() {
    if (facts_.owners && !has_ended(view_.state)) answer_.owner = owner_text(owner());
  }

  void ownership() {
    if (!view_.definition_stored) {
      because(SagaWhy::definition_gone, {},
              "its definition: " + version_name(view_) + " is not stored here");
      next("start a process that registers " + version_name(view_));
    }
    if (!facts_.owners) return;
    const auto* const owner = this->owner();
    const bool held = owner != nullptr && owner->lease_left > Duration::zero();
    if (held) return;
    because(SagaWhy::no_owner, {},
            facts_.owners->live.empty()
                ? "a process: definition " + view_.definition + " is known to no live process"
                : "an owner: nobody owns shard " + std::to_string(facts_.shard.value));
    next("start a process that registers " + version_name(view_));
  }

  void commands() {
    if (facts_.commands.empty()) return;
    const auto& first = facts_.commands.front();
    std::string text = "its owner, who has not taken the command " +
                       std::string(saga_command_name(first.kind)) + " of " + ago(first.written_at);
    if (facts_.commands.size() > 1) {
      text += " and " + std::to_string(facts_.commands.size() - 1) + " more";
    }
    because(SagaWhy::command_waits, {}, std::move(text));
  }

  [[nodiscard]] static std::string failure(const SagaStepView& step) {
    if (step.error.empty()) return {};
    return ": " + (step.code ? std::string(code_name(*step.code)) + " " : std::string()) +
           error_line(step.error);
  }
  [[nodiscard]] static std::string attempt(const SagaStepView& step, std::uint32_t number) {
    std::string text = "attempt " + std::to_string(number);
    if (step.attempts_max > 0) text += " of " + std::to_string(step.attempts_max);
    return text;
  }
  [[nodiscard]] std::string due_in(const SagaStepView& step) const {
    if (!step.due) return {};
    return *step.due > view_.seen_at ? "in " + age_text(*step.due - view_.seen_at) : "now";
  }
  [[nodiscard]] std::string since(const std::optional<WallTime>& then) const {
    return then ? ", since " + age_text(view_.seen_at - *then) : std::string();
  }

  void of_step(const SagaStepView& step) {
    const bool back = goes_back(step.state);
    const auto what = back ? "the compensation of step " + step.name : "step " + step.name;
    const auto begun = back ? step.undo_started_at : step.started_at;
    switch (step.state) {
      case SagaStepState::running:
      case SagaStepState::undoing:
        because(
            SagaWhy::running, step.name,
            what + ", which is being called: " + attempt(step, step.attempts + 1) + since(begun));
        return;
      case SagaStepState::retrying:
      case SagaStepState::undo_retrying:
        if (step.code == saga::over_limit) {
          because(SagaWhy::over_limit, step.name,
                  "the turn of " + what + ", " + error_line(step.error) +
                      (step.due ? ", next " + due_in(step) : "") + "; no attempt is spent");
          return;
        }
        because(SagaWhy::retry_due, step.name,
                what + " in retry, " + attempt(step, step.attempts + 1) +
                    (step.due ? ", next " + due_in(step) : "") +
                    (step.error.empty() ? "" : ", last error" + failure(step)));
        return;
      case SagaStepState::waiting:
        return waiting(step);
      case SagaStepState::undo_waiting:
        because(SagaWhy::waits_reply, step.name, "the reply to " + what + since(begun));
        return;
      case SagaStepState::held:
        because(SagaWhy::held, step.name,
                "a decision: step " + step.name +
                    " may have taken effect and must not be called again" + failure(step));
        next(command("set-step") + " " + step.name + " succeeded|failed");
        return;
      case SagaStepState::undo_held:
        because(SagaWhy::held, step.name,
                "a decision: " + what + " cannot succeed" + failure(step));
        next(command("set-step") + " " + step.name + " undone, or compensate to try again");
        return;
      default:
        return;
    }
  }

  void waiting(const SagaStepView& step) {
    const auto age = since(step.started_at);
    std::string limit;
    if (step.deadline) {
      limit = *step.deadline > view_.seen_at
                  ? ", for " + age_text(*step.deadline - view_.seen_at) + " more at most"
                  : ", its time is over";
    }
    switch (step.wait) {
      case SagaWait::approval:
        because(SagaWhy::waits_approval, step.name, "approval of step " + step.name + age + limit);
        next(command("approve") + " or deny");
        return;
      case SagaWait::signal:
        because(SagaWhy::waits_signal, step.name,
                "signal " + step.waits_for + " for step " + step.name + age + limit);
        next(command("signal") + " " + step.waits_for);
        return;
      case SagaWait::timer:
        because(SagaWhy::waits_timer, step.name,
                "the timer of step " + step.name + (step.due ? ", due " + due_in(step) : ""));
        return;
      case SagaWait::callback:
      case SagaWait::none:
        because(SagaWhy::waits_reply, step.name, "the reply to step " + step.name + age + limit);
        return;
    }
  }

  const SagaFacts& facts_;
  const SagaView& view_;
  SagaExplanation answer_;
};

}  // namespace

SagaExplanation explain(const SagaFacts& facts) { return SagaAnswerText(facts).take(); }

}  // namespace sagabox::admin

namespace sagabox {
namespace {

constexpr std::array<std::string_view, saga_why_count> saga_why_names{
    "ended",      "dead",      "quarantined",    "paused",        "unreadable",  "definition_gone",
    "no_owner",   "held",      "waits_approval", "waits_signal",  "waits_reply", "waits_timer",
    "over_limit", "retry_due", "running",        "command_waits", "with_owner"};
static_assert(static_cast<std::size_t>(SagaWhy::with_owner) + 1 == saga_why_names.size());

}  // namespace

std::string_view saga_why_name(SagaWhy why) noexcept {
  return saga_why_names[static_cast<std::size_t>(why)];
}

std::optional<SagaWhy> saga_why_from_name(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(saga_why_names, name);
  if (found == saga_why_names.end()) return std::nullopt;
  return static_cast<SagaWhy>(found - saga_why_names.begin());
}

std::string SagaExplanation::text() const {
  return admin::answer_text(*this, SagaWhy::quarantined, "and:");
}

}  // namespace sagabox
