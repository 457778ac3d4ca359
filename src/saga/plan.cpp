#include "saga/plan.hpp"

#include "core/text.hpp"
#include "saga/target.hpp"

#include <sagabox/message.hpp>

#include <algorithm>

namespace sagabox::saga {
namespace {

constexpr std::size_t function_length_max = 100;
constexpr std::size_t url_length_max = 2000;

Error wrong_target(std::string_view text, const std::string& what) {
  return {Code::config_invalid, quoted(text) + ": " + what};
}

}  // namespace

Result<Target> read_target(std::string_view text) {
  const auto after = [&](std::string_view scheme) { return text.substr(scheme.size()); };
  if (text.starts_with("fn:")) {
    const auto name = after("fn:");
    if (auto problem = name_problem(name, function_length_max); !problem.empty()) {
      return wrong_target(text, "the function's name: " + problem);
    }
    return Target{.kind = Target::Kind::function, .name = std::string(name)};
  }
  if (text.starts_with("outbox:")) {
    const auto topic = after("outbox:");
    if (auto problem = name_problem(topic, MessageRules::topic_length_max); !problem.empty()) {
      return wrong_target(text, "the topic: " + problem);
    }
    return Target{.kind = Target::Kind::outbox, .name = std::string(topic)};
  }
  const bool https = text.starts_with("https://");
  if (https || text.starts_with("http://")) {
    const auto host = after(https ? "https://" : "http://");
    const bool plain = std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
    if (host.empty() || host.front() == '/' || !plain || text.size() > url_length_max) {
      return wrong_target(text, "is not a URL such as https://flights.example.com/book");
    }
    return Target{.kind = Target::Kind::http, .name = std::string(text)};
  }
  return wrong_target(text, "write fn:NAME, http://…, https://… or outbox:TOPIC");
}

Result<Plan> Plan::make(SagaDefinition definition) {
  if (auto ok = definition.check(); !ok) return ok.error();
  auto parts = std::make_shared<Parts>();
  parts->digest = definition.digest();
  for (std::size_t i = 0; i < definition.steps.size(); ++i) {
    const auto& given = definition.steps[i];
    const bool joins = i > 0 && !given.tag.empty() && given.tag == definition.steps[i - 1].tag;
    if (!joins) parts->groups.push_back({.first = i, .last = i});
    parts->groups.back().last = i + 1;
    if (given.pivot) parts->pivot = i;

    Step step{.given = given};
    step.group = parts->groups.size() - 1;
    const auto table = given.table.empty() ? std::string("default") : given.table;
    if (!given.action.empty()) step.action = read_target(given.action).value();
    if (given.compensation && *given.compensation != "none") {
      step.compensation = read_target(*given.compensation).value();
    }
    for (auto* const target : {&step.action, &step.compensation}) {
      if (target->kind == Target::Kind::outbox) target->table = table;
    }
    if (!given.input.empty()) step.input = JsonTemplate::parse(given.input).value();
    if (!given.compensation_input.empty()) {
      step.compensation_input = JsonTemplate::parse(given.compensation_input).value();
      // A step that is in doubt is undone too, and has given nothing.
      step.compensation_input->allow_absent(given.name);
    }
    step.compensation_retry = given.compensation_retry.value_or(given.retry);
    step.attempt_timeout = given.attempt_timeout != Duration{}
                               ? given.attempt_timeout
                               : SagaDefinition::attempt_timeout_default;
    parts->steps.push_back(std::move(step));
  }
  if (!definition.isolate.empty()) {
    parts->isolate = TextTemplate::parse(definition.isolate).value();
  }
  for (const auto& label : definition.labels) {
    parts->labels.push_back({label.name, TextTemplate::parse(label.value).value()});
  }
  parts->definition = std::move(definition);
  return Plan(std::move(parts));
}

std::optional<std::size_t> Plan::index_of(std::string_view step) const noexcept {
  for (std::size_t i = 0; i < parts_->steps.size(); ++i) {
    if (parts_->steps[i].given.name == step) return i;
  }
  return std::nullopt;
}

}  // namespace sagabox::saga
