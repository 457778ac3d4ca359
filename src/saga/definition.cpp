#include "core/duration_text.hpp"
#include "core/json_quote.hpp"
#include "saga/definition_reader.hpp"
#include "saga/json_text.hpp"
#include "saga/plan.hpp"

#include <sagabox/saga_definition.hpp>

#include <algorithm>
#include <array>
#include <charconv>

namespace sagabox {
namespace {

constexpr std::array<std::string_view, saga_wait_count> wait_names{"none", "callback", "signal",
                                                                   "approval", "timer"};

constexpr std::array<std::string_view, saga_step_state_count> step_state_names{
    "pending",      "running",   "retrying",    "waiting", "held",
    "succeeded",    "failed",    "unknown",     "undoing", "undo_retrying",
    "undo_waiting", "undo_held", "undo_failed", "undone",  "skipped"};

/// An object whose members are left out where they say nothing.
class Object {
 public:
  void text(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    begin(name);
    append_json_string(out_, value);
  }
  void number(std::string_view name, std::uint64_t value) { raw(name, std::to_string(value)); }
  void number(std::string_view name, double value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    raw(name, {digits.data(), static_cast<std::size_t>(end.ptr - digits.data())});
  }
  void duration(std::string_view name, Duration value) {
    if (value != Duration{}) text(name, exact_duration_text(value));
  }
  void flag(std::string_view name, bool value, bool unless) {
    if (value != unless) raw(name, value ? "true" : "false");
  }
  void raw(std::string_view name, std::string_view json) {
    begin(name);
    out_ += json;
  }
  [[nodiscard]] std::string take() && { return out_ + "}"; }

 private:
  void begin(std::string_view name) {
    if (out_.size() > 1) out_ += ',';
    append_json_string(out_, name);
    out_ += ':';
  }
  std::string out_ = "{";
};

bool same(const RetryPolicy& a, const RetryPolicy& b) {
  return a.attempts_max == b.attempts_max && a.backoff_min == b.backoff_min &&
         a.backoff_max == b.backoff_max && a.factor == b.factor && a.jitter_min == b.jitter_min &&
         a.jitter_max == b.jitter_max && a.jitter_added_max == b.jitter_added_max &&
         a.floor == b.floor;
}

/// All members: defaults of a later version must not change what an old definition means.
std::string retry_text(const RetryPolicy& retry) {
  Object made;
  made.number("attempts_max", std::uint64_t{retry.attempts_max});
  made.text("backoff_min", exact_duration_text(retry.backoff_min));
  made.text("backoff_max", exact_duration_text(retry.backoff_max));
  made.number("factor", retry.factor);
  made.number("jitter_min", retry.jitter_min);
  made.number("jitter_max", retry.jitter_max);
  made.text("jitter_added_max", exact_duration_text(retry.jitter_added_max));
  made.text("floor", exact_duration_text(retry.floor));
  return std::move(made).take();
}

/// A template that is not JSON is refused elsewhere; here it is text.
void put_template(Object& into, std::string_view name, const std::string& json) {
  if (json.empty()) return;
  if (json_problem(json).empty()) {
    into.raw(name, saga::compact(json));
  } else {
    into.text(name, json);
  }
}

std::string step_text(const SagaStep& step) {
  Object made;
  made.text("name", step.name);
  made.text("action", step.action);
  if (step.compensation) made.text("compensation", *step.compensation);
  made.flag("idempotent", step.idempotent, true);
  made.flag("pivot", step.pivot, false);
  made.text("tag", step.tag);
  if (step.wait != SagaWait::none) made.text("wait", saga_wait_name(step.wait));
  made.text("signal", step.signal);
  made.duration("delay", step.delay);
  made.duration("timeout", step.timeout);
  made.duration("attempt_timeout", step.attempt_timeout);
  if (!same(step.retry, RetryPolicy::saga())) made.raw("retry", retry_text(step.retry));
  if (step.compensation_retry) {
    made.raw("compensation_retry", retry_text(*step.compensation_retry));
  }
  if (step.in_doubt == SagaInDoubt::wait) made.text("in_doubt", "wait");
  if (step.no_compensation == SagaNoCompensation::wait) made.text("no_compensation", "wait");
  made.text("table", step.table);
  put_template(made, "input", step.input);
  put_template(made, "compensation_input", step.compensation_input);
  return std::move(made).take();
}

}  // namespace

std::string_view saga_wait_name(SagaWait wait) noexcept {
  return wait_names[static_cast<std::size_t>(wait)];
}

std::string_view saga_step_state_name(SagaStepState state) noexcept {
  return step_state_names[static_cast<std::size_t>(state)];
}

std::optional<SagaStepState> saga_step_state_from_name(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(step_state_names, name);
  if (found == step_state_names.end()) return std::nullopt;
  return static_cast<SagaStepState>(found - step_state_names.begin());
}

Status SagaDefinition::check() const {
  const auto problems = saga::problems_of(*this);
  if (problems.empty()) return {};
  std::string message;
  for (const auto& problem : problems) {
    if (!message.empty()) message += '\n';
    message += "saga " + name;
    if (problem.step) message += ", step " + steps[*problem.step].name;
    message += ": ";
    if (!problem.field.empty()) message += problem.field + ": ";
    message += problem.message;
  }
  return Error{Code::config_invalid, message};
}

std::string SagaDefinition::text() const {
  Object made;
  made.text("saga", name);
  made.number("version", std::uint64_t{version});
  made.duration("timeout", timeout);
  if (on_stuck == SagaOnStuck::dead) made.text("on_stuck", "dead");
  made.text("isolate", isolate);
  if (!labels.empty()) {
    auto sorted = labels;
    std::ranges::sort(sorted);
    Object inner;
    for (const auto& label : sorted) inner.text(label.name, label.value);
    made.raw("labels", std::move(inner).take());
  }
  std::string list = "[";
  for (const auto& step : steps) {
    if (list.size() > 1) list += ',';
    list += step_text(step);
  }
  made.raw("steps", list + "]");
  return std::move(made).take();
}

Digest SagaDefinition::digest() const { return sha256(text()); }

SagaDefinitionRecord SagaDefinition::record(WallTime registered_at) const {
  auto json = text();
  return {.name = name,
          .version = version,
          .digest = sha256(json),
          .text = std::move(json),
          .registered_at = registered_at};
}

Result<SagaDefinition> SagaDefinition::from_json(std::string_view json,
                                                 std::string_view file_name) {
  const auto node = saga::node_from_json(json, file_name);
  if (!node) return node.error();
  return saga::read_definition(*node, file_name);
}

}  // namespace sagabox
