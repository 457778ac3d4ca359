#include "core/text.hpp"
#include "saga/json_text.hpp"
#include "saga/own_texts.hpp"
#include "saga/turn.hpp"

#include <sagabox/message.hpp>
#include <sagabox/payload.hpp>

#include <algorithm>
#include <utility>

namespace sagabox::saga {
namespace {

constexpr std::size_t label_length_max = 200;

std::string because(Code code, const std::string& why) { return Error{code, why}.text(); }

std::string not_now(const std::string& why) { return because(Code::tx_invalid_state, why); }

/// Of the definition and of the start, which goes first where both have the name.
Result<std::vector<SagaLabel>> labels_of(const Plan& plan, const StartRequest& request,
                                         const RootValue& value_of) {
  auto labels = request.labels;
  for (const auto& label : plan.labels()) {
    if (std::ranges::find(labels, label.name, &SagaLabel::name) != labels.end()) continue;
    auto value = label.value.fill(value_of);
    if (!value) return value.error();
    labels.push_back({label.name, std::move(value).value()});
  }
  for (const auto& label : labels) {
    for (const auto* const text : {&label.name, &label.value}) {
      if (auto problem = name_problem(*text, label_length_max); !problem.empty()) {
        return Error{Code::schema_validation_failed,
                     "label " + quoted(label.name) + ": " + problem};
      }
    }
  }
  if (labels.size() > SagaDefinition::labels_max) {
    return Error{Code::schema_validation_failed,
                 "labels: at most " + std::to_string(SagaDefinition::labels_max) + " are allowed"};
  }
  std::ranges::sort(labels);
  const auto repeated = std::ranges::unique(labels);
  labels.erase(repeated.begin(), repeated.end());
  return labels;
}

Status fill_start(const Plan& plan, StartRequest request, Instance& saga) {
  saga.key = std::move(request.key);
  saga.input = compact(request.input);
  saga.traceparent = std::move(request.traceparent);
  const RootValue value_of =
      [&, own = OwnTexts(saga)](const Reference& reference) -> std::optional<std::string_view> {
    if (reference.root == Reference::Root::input) return saga.input;
    return own.find(reference);
  };
  saga.isolate = request.isolate;
  if (saga.isolate.empty() && plan.isolate()) {
    auto isolate = plan.isolate()->fill(value_of);
    if (!isolate) return isolate.error();
    saga.isolate = std::move(isolate).value();
    if (auto problem = name_problem(saga.isolate, label_length_max); !problem.empty()) {
      return Error{Code::schema_validation_failed, "isolate: " + problem};
    }
  }
  auto labels = labels_of(plan, request, value_of);
  if (!labels) return labels.error();
  saga.labels = std::move(labels).value();
  return {};
}

}  // namespace

void Turn::begin(const SagaCommand& command) {
  saga_.id = command.saga;
  saga_.tenant = command.tenant;
  saga_.shard = command.shard;
  saga_.definition = plan_.definition().name;
  saga_.definition_version = plan_.definition().version;
  if (command.kind != SagaCommandKind::start)
    return answer(command, not_now("there is no such saga"));
  // A start written with SQL was not checked by us.
  if (auto problem = name_problem(command.tenant, MessageRules::tenant_length_max);
      !problem.empty()) {
    return answer(command, because(Code::schema_validation_failed, "tenant: " + problem));
  }
  auto request = read_start(command);
  if (!request) return answer(command, request.error().text());
  const auto timeout = request->timeout.value_or(plan_.definition().timeout);
  if (auto ok = fill_start(plan_, std::move(request).value(), saga_); !ok) {
    return answer(command, ok.error().text());
  }
  saga_.started_at = now_;
  if (timeout != Duration{}) {
    saga_.deadline = now_ + std::chrono::ceil<WallTime::duration>(timeout);
  }
  saga_.steps.resize(plan_.steps().size());
  saga_.commands.push_back(stable_hash(command.id.view()));
  note(event::started, {},
       std::move(Detail()
                     .number("version", saga_.definition_version)
                     .text("key", saga_.key)
                     .digest_of("input_sha256", saga_.input)));
  answer(command, std::nullopt);
  advance();
}

void Turn::on(const CommandArrived& event) {
  const auto& command = event.command;
  const auto id = stable_hash(command.id.view());
  if (std::ranges::find(saga_.commands, id) != saga_.commands.end()) return;
  // Its first row was refused, and whoever asks is told so.
  if (std::ranges::find(saga_.refused, id) != saga_.refused.end()) return;
  if (command.tenant != saga_.tenant) return answer(command, not_now("there is no such saga"));
  if (saga_.commands.size() >= commands_max) {
    return answer(command, not_now("the saga was given " + std::to_string(commands_max) +
                                   " commands, and takes no more"));
  }
  const auto refusal = apply(command);
  if (!refusal && command.kind != SagaCommandKind::start) {
    saga_.commands.push_back(id);
    write_ = true;
  }
  // What cannot be read never can.
  const bool is_wrong = refusal && refusal->starts_with(code_name(Code::schema_validation_failed));
  if (refusal && !is_wrong) remember_refused(id);
  answer(command, refusal);
  advance();
}

void Turn::remember_refused(std::uint64_t id) {
  const bool is_final = saga_.state == SagaState::completed || saga_.state == SagaState::cancelled;
  if (is_final) return;  // nothing that is refused now is applied later
  if (saga_.refused.size() >= refused_max) saga_.refused.erase(saga_.refused.begin());
  saga_.refused.push_back(id);
  write_ = true;
}

void Turn::answer(const SagaCommand& command, const Refusal& refusal) {
  decision_.result = SagaCommandResult{.id = command.id,
                                       .saga = command.saga,
                                       .applied = !refusal,
                                       .reason = refusal.value_or(std::string()),
                                       .at = now_};
}

Turn::Refusal Turn::apply(const SagaCommand& command) {
  switch (command.kind) {
    case SagaCommandKind::start:
      return repeated_start(command);
    case SagaCommandKind::reply:
      return reply(command);
    case SagaCommandKind::signal:
      return signal(command);
    default:
      return act(command);
  }
}

Turn::Refusal Turn::repeated_start(const SagaCommand& command) {
  const auto request = read_start(command);
  if (!request) return request.error().text();
  const bool same_version = !request->version || *request->version == saga_.definition_version;
  if (compact(request->input) == saga_.input && same_version) return std::nullopt;
  return because(Code::tx_idempotent_mismatch,
                 "key " + quoted(saga_.key) +
                     " started this saga with another input; use a new key for a new saga");
}

Turn::Refusal Turn::reply(const SagaCommand& command) {
  const auto request = read_reply(command);
  if (!request) return request.error().text();
  const auto index = plan_.index_of(request->step);
  if (!index) return not_now("there is no step " + quoted(request->step));
  if (has_ended(saga_.state)) {
    return not_now("the saga is " + std::string(saga_state_name(saga_.state)) +
                   " already; the reply is ignored");
  }
  auto& step = at(*index);
  const bool action = request->direction == BarrierDirection::action;
  const bool its_round = request->round.value_or(action ? step.round : step.undo_round) ==
                         (action ? step.round : step.undo_round);
  const auto ignored = [&](const std::string& why) {
    note(event::reply_ignored, index,
         std::move(Detail()
                       .text("direction", barrier_direction_name(request->direction))
                       .text("why", why)));
    return not_now("step " + quoted(request->step) + " " + why + "; the reply is ignored");
  };
  if (!its_round) return ignored("has been started again since that call");
  const bool waits = step.state == (action ? State::waiting : State::undo_waiting);
  const bool may_answer =
      action ? waits || step.state == State::running || step.state == State::retrying ||
                   step.state == State::held || step.state == State::unknown
             : waits || step.state == State::undoing || step.state == State::undo_retrying ||
                   step.state == State::undo_held;
  const auto& given = plan_.step(*index).given;
  const bool takes_replies = !given.action.empty() || given.wait == SagaWait::callback;
  if (!may_answer || !takes_replies) return ignored("does not wait for one");
  const auto kind = request->result.kind;
  if (kind == Kind::ok) {
    action ? succeed(*index, request->result.output) : undo_result(*index, request->result);
    return std::nullopt;
  }
  // What says less than success counts for what waits for a reply, or for a call under way: that
  // call may still have its effect.
  const bool under_way = step.state == State::running || step.state == State::undoing;
  if (!waits && !(under_way && kind == Kind::fail)) return ignored("is called again meanwhile");
  if (under_way && step.in_flight) {
    decision_.abandoned.push_back(
        {.step = *index, .direction = step.in_flight->direction, .call = step.in_flight->call});
    if (action) step.doubt = true;
  }
  action ? action_result(*index, request->result) : undo_result(*index, request->result);
  return std::nullopt;
}

Turn::Refusal Turn::signal(const SagaCommand& command) {
  const auto request = read_signal(command);
  if (!request) return request.error().text();
  if (has_ended(saga_.state) || mode() == SagaState::compensating) {
    return not_now("the saga is " + std::string(saga_state_name(saga_.state)) +
                   ": no step waits for a signal any more");
  }
  bool later = false;
  for (std::size_t i = 0; i < saga_.steps.size(); ++i) {
    const auto& given = plan_.step(i).given;
    const auto& name = given.signal.empty() ? given.name : given.signal;
    if (given.wait != SagaWait::signal || name != request->name) continue;
    if (at(i).state == State::waiting) {
      note(event::signalled, i, std::move(Detail().text("name", name)));
      succeed(i, request->payload);
      return std::nullopt;
    }
    later = later || at(i).state == State::pending;
  }
  if (!later) return not_now("no step waits for a signal " + quoted(request->name));
  if (saga_.signals.size() >= early_signals_max) {
    return not_now("too many signals that no step waits for yet; send it again later");
  }
  saga_.signals.push_back({request->name, compact(request->payload)});
  note(event::signal_kept, {}, std::move(Detail().text("name", request->name)));
  return std::nullopt;
}

}  // namespace sagabox::saga
