#include "core/ascii.hpp"
#include "core/duration_text.hpp"
#include "core/text.hpp"
#include "saga/plan.hpp"
#include "saga/target.hpp"

#include <sagabox/message.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace sagabox::saga {
namespace {

constexpr Duration timeout_max = std::chrono::hours(24 * 365);
constexpr std::uint32_t attempts_limit = 1000;
constexpr std::size_t label_name_length_max = 48;

std::string wrong_name(std::string_view name) {
  const bool plain = std::ranges::all_of(
      name, [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-'; });
  if (!name.empty() && plain && name.size() <= SagaDefinition::name_length_max) return {};
  return quoted(name) + ": give 1 to " + std::to_string(SagaDefinition::name_length_max) +
         " letters, digits, _ or -";
}

class Check {
 public:
  explicit Check(const SagaDefinition& definition) : saga_(definition) {}

  std::vector<DefinitionProblem> run() {
    whole();
    for (step_ = 0; *step_ < saga_.steps.size(); ++*step_) one_step(saga_.steps[*step_]);
    step_.reset();
    tags();
    pivots();
    timers();
    return std::move(problems_);
  }

 private:
  void wrong(std::string field, std::string message) {
    problems_.push_back({step_, std::move(field), std::move(message)});
  }

  void whole() {
    if (auto problem = wrong_name(saga_.name); !problem.empty()) wrong("saga", problem);
    if (saga_.version == 0) wrong("version", "0: versions count from 1");
    check_time("timeout", saga_.timeout);
    if (saga_.steps.empty()) wrong("steps", "there is none");
    if (saga_.steps.size() > SagaDefinition::steps_max) {
      wrong("steps", std::to_string(saga_.steps.size()) + ", at most " +
                         std::to_string(SagaDefinition::steps_max) + " are allowed");
    }
    check_start_text("isolate", saga_.isolate);
    if (saga_.labels.size() > SagaDefinition::labels_max) {
      wrong("labels", "at most " + std::to_string(SagaDefinition::labels_max) + " are allowed");
    }
    std::set<std::string_view> names;
    for (const auto& label : saga_.labels) {
      if (auto problem = name_problem(label.name, label_name_length_max); !problem.empty()) {
        wrong("labels", "name: " + problem);
      }
      if (!names.insert(label.name).second) {
        wrong("labels", quoted(label.name) + " is there twice");
      }
      if (label.value.empty()) wrong("labels", quoted(label.name) + " is empty");
      check_start_text("labels", label.value);
    }
  }

  void one_step(const SagaStep& step) {
    if (auto problem = wrong_name(step.name); !problem.empty()) wrong("name", problem);
    for (std::size_t i = 0; i < *step_; ++i) {
      if (saga_.steps[i].name == step.name) {
        wrong("name",
              quoted(step.name) + " is the name of an earlier step too; each needs its own");
        break;
      }
    }
    check_time("timeout", step.timeout);
    check_time("attempt_timeout", step.attempt_timeout);
    check_retry("retry", step.retry);
    if (step.compensation_retry) check_retry("compensation_retry", *step.compensation_retry);
    if (!step.action.empty()) check_target("action", step.action);
    check_wait(step);
    check_compensation(step);
    check_meaningless(step);
    check_template("input", step.input, *step_, false);
    check_template("compensation_input", step.compensation_input, *step_, true);
  }

  void check_time(std::string field, Duration time) {
    if (time >= Duration{} && time <= timeout_max) return;
    wrong(std::move(field), duration_text(time) + " is not between 0s and 365d");
  }

  void check_retry(std::string field, const RetryPolicy& retry) {
    if (auto ok = retry.check(); !ok) wrong(field, ok.error().message);
    if (retry.attempts_max > attempts_limit) {
      wrong(std::move(field), "attempts_max: at most " + std::to_string(attempts_limit));
    }
  }

  void check_target(std::string field, const std::string& text) {
    if (auto target = read_target(text); !target) {
      wrong(std::move(field), target.error().message);
    }
  }

  static bool is_outbox(const SagaStep& step) { return step.action.starts_with("outbox:"); }

  void check_wait(const SagaStep& step) {
    if (step.action.empty() && step.wait == SagaWait::none) {
      wrong("", "does nothing; give it an action, or what it waits for");
    }
    if (!step.action.empty() && step.wait == SagaWait::callback && !is_outbox(step)) {
      wrong("wait",
            "an http or fn action says in its answer that a reply comes later; leave it out");
    }
    if (!step.action.empty() && step.wait != SagaWait::none && step.wait != SagaWait::callback) {
      wrong("wait", "a step with an action cannot also wait for " +
                        std::string(step.wait == SagaWait::approval ? "an " : "a ") +
                        std::string(saga_wait_name(step.wait)) + "; make it a step of its own");
    }
    if (!step.signal.empty() && step.wait != SagaWait::signal) {
      wrong("signal", "only a step with wait: signal has one");
    }
    if (!step.signal.empty()) {
      if (auto problem = wrong_name(step.signal); !problem.empty()) wrong("signal", problem);
    }
    if (step.delay != Duration{} && step.wait != SagaWait::timer) {
      wrong("delay", "only a step with wait: timer has one");
    }
    if (step.wait == SagaWait::timer && step.delay == Duration{}) {
      wrong("delay", "is missing; a timer needs one, such as delay: 10m");
    }
    check_time("delay", step.delay);
    if (step.wait == SagaWait::timer && step.timeout != Duration{} && step.delay >= step.timeout) {
      wrong("timeout", "the timer runs " + exact_duration_text(step.delay) +
                           ", so the step would always time out; the steps after it are "
                           "unreachable");
    }
  }

  void check_compensation(const SagaStep& step) {
    const bool has_one = step.compensation && *step.compensation != "none";
    if (step.pivot) {
      if (step.compensation) wrong("compensation", "a pivot has none; leave it out");
      if (!step.tag.empty()) wrong("tag", "a pivot stands alone; leave it out");
      return;
    }
    if (step.action.empty()) {
      if (has_one) wrong("compensation", "a step that only waits has nothing to undo");
      return;
    }
    if (!step.compensation) {
      wrong("compensation", "is missing; write compensation: none if there is nothing to undo");
    } else if (has_one) {
      check_target("compensation", *step.compensation);
    }
  }

  /// What is said although it would never mean anything.
  void check_meaningless(const SagaStep& step) {
    const bool has_compensation = step.compensation && *step.compensation != "none";
    const bool compensates_by_outbox =
        has_compensation && step.compensation->starts_with("outbox:");
    if (!step.table.empty() && !is_outbox(step) && !compensates_by_outbox) {
      wrong("table", "only an outbox: action or compensation has one");
    }
    if (!step.table.empty()) {
      if (auto table = TableName::parse(step.table); !table) wrong("table", table.error().message);
    }
    if (step.in_doubt == SagaInDoubt::wait && step.idempotent) {
      wrong("in_doubt", "an idempotent step is called again; it goes with idempotent: false");
    }
    if (!step.idempotent && step.action.empty()) {
      wrong("idempotent", "a step that only waits calls nothing; leave it out");
    }
    if (step.no_compensation == SagaNoCompensation::wait && step.compensation != "none") {
      wrong("no_compensation", "it goes with compensation: none");
    }
    if (!step.input.empty() && step.action.empty()) {
      wrong("input", "a step that only waits takes none");
    }
    if (!step.compensation_input.empty() && !has_compensation) {
      wrong("compensation_input", "the step has no compensation");
    }
    if (step.compensation_retry && !has_compensation) {
      wrong("compensation_retry", "the step has no compensation");
    }
  }

  /// What stands in a step's input must be known before the step starts.
  void check_template(const std::string& field, const std::string& json, std::size_t at,
                      bool compensation) {
    if (json.empty()) return;
    const auto made = JsonTemplate::parse(json);
    if (!made) return wrong(field, made.error().message);
    for (const auto& reference : made->references()) {
      if (reference.root != Reference::Root::step_output) continue;
      const auto of =
          std::ranges::find(saga_.steps, reference.step, &SagaStep::name) - saga_.steps.begin();
      const auto step = static_cast<std::size_t>(of);
      const auto where = "\"${" + reference.text + "}\": ";
      if (step == saga_.steps.size()) {
        wrong(field, where + "there is no step " + quoted(reference.step));
      } else if (step > at || (step == at && !compensation)) {
        wrong(field, where + "step " + quoted(reference.step) +
                         " has no output yet; only earlier "
                         "steps can be used");
      } else if (step < at && !saga_.steps[at].tag.empty() &&
                 saga_.steps[step].tag == saga_.steps[at].tag) {
        wrong(field, where + "step " + quoted(reference.step) + " starts at the same time");
      }
    }
  }

  void check_start_text(const std::string& field, const std::string& text) {
    const auto made = TextTemplate::parse(text);
    if (!made) return wrong(field, made.error().message);
    for (const auto& reference : made->references()) {
      if (reference.root != Reference::Root::step_output) continue;
      wrong(field, "\"${" + reference.text + "}\": no step has an output when a saga starts");
    }
  }

  void tags() {
    for (std::size_t i = 1; i < saga_.steps.size(); ++i) {
      const auto& tag = saga_.steps[i].tag;
      if (tag.empty() || saga_.steps[i - 1].tag == tag) continue;
      for (std::size_t before = 0; before + 1 < i; ++before) {
        if (saga_.steps[before].tag != tag) continue;
        step_ = i;
        wrong("tag", quoted(tag) + " is also that of step " + saga_.steps[before].name +
                         ", and other steps stand between; put them next to each other");
        break;
      }
    }
    for (const auto& step : saga_.steps) {
      if (step.tag.empty()) continue;
      if (auto problem = wrong_name(step.tag); !problem.empty()) {
        step_ = static_cast<std::size_t>(&step - saga_.steps.data());
        wrong("tag", problem);
      }
    }
    step_.reset();
  }

  void pivots() {
    const auto pivot = std::ranges::find(saga_.steps, true, &SagaStep::pivot);
    if (pivot == saga_.steps.end()) return;
    for (auto step = pivot + 1; step != saga_.steps.end(); ++step) {
      step_ = static_cast<std::size_t>(step - saga_.steps.begin());
      if (step->pivot) wrong("pivot", "step " + pivot->name + " is the pivot; there is only one");
      if (!step->pivot && step->compensation && *step->compensation != "none") {
        wrong("compensation", "would never run: the step comes after the pivot " + pivot->name +
                                  "; write compensation: none");
      }
    }
    step_.reset();
  }

  /// The timeout of the saga counts up to the pivot.
  void timers() {
    if (saga_.timeout == Duration{}) return;
    Duration before{};
    for (std::size_t i = 0; i < saga_.steps.size(); ++i) {
      const auto& step = saga_.steps[i];
      if (before >= saga_.timeout) {
        step_ = i;
        wrong("", "is unreachable: the timers before it run " + exact_duration_text(before) +
                      ", the timeout of the saga is " + exact_duration_text(saga_.timeout));
        step_.reset();
        return;
      }
      if (step.wait == SagaWait::timer) before += std::min(step.delay, timeout_max);
      if (step.pivot) return;
    }
  }

  const SagaDefinition& saga_;
  std::optional<std::size_t> step_;
  std::vector<DefinitionProblem> problems_;
};

}  // namespace

std::vector<DefinitionProblem> problems_of(const SagaDefinition& definition) {
  return Check(definition).run();
}

}  // namespace sagabox::saga
