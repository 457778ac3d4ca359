#include "saga/requests.hpp"

#include "core/text.hpp"
#include "saga/commands.hpp"

#include <sagabox/payload.hpp>

#include <string_view>
#include <utility>

namespace sagabox::saga {
namespace {

Error invalid(std::string text) { return {Code::schema_validation_failed, std::move(text)}; }

Result<CallResult> reply_result(const SagaAnswer& answer) {
  CallResult result{
      .output = answer.output, .error = answer.error, .retry_after = answer.retry_after};
  switch (answer.kind) {
    case SagaAnswer::Kind::ok:
      result.kind = CallResult::Kind::ok;
      return result;
    case SagaAnswer::Kind::retry:
      result.kind = CallResult::Kind::retry;
      return result;
    case SagaAnswer::Kind::fail:
      result.kind = CallResult::Kind::fail;
      return result;
    default:
      return invalid("a reply says ok, retry or fail");
  }
}

Result<std::string> body_of(const SagaRequest& request) {
  switch (request.kind) {
    case SagaCommandKind::start:
      return invalid("a saga is started by start_saga()");
    case SagaCommandKind::reply: {
      auto result = reply_result(request.answer);
      if (!result.ok()) return result.error();
      return reply_body({.step = request.step,
                         .direction = request.direction,
                         .round = request.round,
                         .result = std::move(result).value()});
    }
    case SagaCommandKind::signal:
      return signal_body({.name = request.name, .payload = request.payload});
    default:
      return act_body(request.kind, {.actor = request.actor,
                                     .note = request.note,
                                     .step = request.step,
                                     .approved = request.approved,
                                     .state = request.state,
                                     .output = request.answer.output,
                                     .into_compensation = request.into_compensation});
  }
}

}  // namespace

Result<SagaCommand> start_command(const SagaStart& start, UlidSource& ids) {
  if (start.definition.empty()) return invalid("definition is empty; name the saga to start");
  if (!start.input.empty()) {
    if (auto problem = json_problem(start.input); !problem.empty()) {
      return invalid("the input of a saga must be JSON: " + problem);
    }
  }
  SagaCommand command;
  command.id = ids.next<CommandId>();
  command.saga = start.key.empty() ? ids.next<SagaId>()
                                   : saga_id_of(start.tenant, start.definition, start.key);
  command.definition = start.definition;
  command.tenant = start.tenant;
  command.kind = SagaCommandKind::start;
  command.body = start_body({.input = start.input.empty() ? "null" : start.input,
                             .key = start.key,
                             .isolate = start.isolate,
                             .labels = start.labels,
                             .timeout = start.timeout,
                             .version = start.version,
                             .traceparent = start.traceparent});
  return command;
}

Error id_of_another_saga(const CommandId& id) {
  return {Code::tx_idempotent_mismatch,
          "command id " + quoted(id.view()) +
              ": this command id was used for another saga; give each command its own"};
}

Error refusal_error(const SagaCommandResult& result) {
  const auto colon = result.reason.find(": ");
  const auto name = std::string_view(result.reason).substr(0, colon);
  const auto code = code_from_name(name);
  const bool has_code = colon != std::string::npos && code_name(code) == name;
  return {has_code ? code : Code::tx_invalid_state,
          has_code ? result.reason.substr(colon + 2) : result.reason};
}

Result<SagaCommand> request_command(const SagaRequest& request, UlidSource& ids) {
  if (request.saga.empty()) return invalid("saga is empty; say which one is meant");
  auto body = body_of(request);
  if (!body.ok()) return body.error();
  SagaCommand command;
  command.id = request.id.empty() ? ids.next<CommandId>() : request.id;
  command.saga = request.saga;
  command.definition = request.definition;
  command.tenant = request.tenant;
  command.kind = request.kind;
  command.body = std::move(body).value();
  return command;
}

}  // namespace sagabox::saga
