#include "admin/checks.hpp"
#include "core/text.hpp"
#include "saga/commands.hpp"
#include "saga/requests.hpp"

#include <sagabox/random.hpp>
#include <sagabox/saga_admin.hpp>

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>
#include <utility>

namespace sagabox {
namespace {

constexpr Duration look_min = std::chrono::milliseconds(2);
constexpr Duration look_max = std::chrono::milliseconds(100);

saga::ActRequest act_request(const SagaOrder& order, const std::string& actor) {
  saga::ActRequest request{.actor = actor, .note = order.note};
  switch (order.kind) {
    case SagaCommandKind::approve:
      request.step = order.step;
      request.approved = order.approved;
      break;
    case SagaCommandKind::set_step:
      request.step = order.step;
      request.state = order.state;
      request.output = order.output;
      break;
    case SagaCommandKind::replay:
      request.into_compensation = order.into_compensation;
      break;
    default:
      break;
  }
  return request;
}

saga::ReplyRequest reply_request(const SagaReplyOrder& order) {
  using Kind = saga::CallResult::Kind;
  saga::ReplyRequest request{.step = order.step, .round = order.round};
  request.direction =
      order.compensation ? BarrierDirection::compensation : BarrierDirection::action;
  request.result.output = order.output;
  request.result.error = order.error;
  request.result.retry_after = order.retry_after;
  switch (order.kind) {
    case SagaReplyOrder::Kind::ok:
      request.result.kind = Kind::ok;
      break;
    case SagaReplyOrder::Kind::retry:
      request.result.kind = Kind::retry;
      break;
    case SagaReplyOrder::Kind::fail:
      request.result.kind = Kind::fail;
      break;
  }
  return request;
}

/// The body of a command in the format of its reader.
Result<std::string> body_of(const SagaOrder& order, const std::string& actor) {
  SagaCommand command{.kind = order.kind};
  Status readable;
  const auto check = [&](const auto& read) {
    if (!read.ok()) readable = read.error();
  };
  switch (order.kind) {
    case SagaCommandKind::start:
      return admin::wrong("command: start is not an act on a saga that is there");
    case SagaCommandKind::reply:
      command.body = saga::reply_body(reply_request(order.reply));
      check(saga::read_reply(command));
      break;
    case SagaCommandKind::signal:
      command.body = saga::signal_body({.name = order.signal, .payload = order.payload});
      check(saga::read_signal(command));
      break;
    default:
      command.body = saga::act_body(order.kind, act_request(order, actor));
      check(saga::read_act(command));
  }
  if (!readable.ok()) return readable.error();
  return std::move(command.body);
}

Result<SagaReceipt> receipt_of(const SagaCommandResult& result) {
  if (!result.applied) {
    auto error = saga::refusal_error(result);
    return Error{error.code, "refused: " + error.message};
  }
  return SagaReceipt{.command = result.id, .saga = result.saga, .applied = true};
}

template <class IdType>
IdType new_id(const Clock& clock) {
  UlidSource ids(clock, system_random());
  return ids.next<IdType>();
}

/// A repeated start finds the first saga, by its key or otherwise by its command id.
SagaId started_saga(const SagaCommand& command, const SagaStartOrder& order, const Clock& clock) {
  auto key = order.key;
  // Keys contain no line feed.
  if (key.empty() && order.command) key = "command\n" + order.command->str();
  return key.empty() ? new_id<SagaId>(clock) : saga_id_of(command.tenant, command.definition, key);
}

}  // namespace

Result<SagaReceipt> SagaAdmin::send(SagaCommand command, Duration wait) {
  const auto known = store_->sagas()->results(std::span(&command.id, 1));
  if (!known.ok()) return known.error();
  if (!known->empty()) {
    if (known->front().saga != command.saga) return saga::id_of_another_saga(command.id);
    return receipt_of(known->front());
  }
  const auto written = store_->transaction([&](OwnedTransaction& transaction) -> Status {
    return transaction.sagas().append(std::span(&command, 1));
  });
  if (!written.ok()) return written.error();
  store_->sagas()->wake(command.definition);
  options_.log->log(LogLevel::info, "saga command written",
                    {{"saga", command.saga.view()},
                     {"command", saga_command_name(command.kind)},
                     {"actor", std::string_view(options_.actor)}});
  Duration waited{};
  Duration pause = look_min;
  for (;;) {
    const auto results = store_->sagas()->results(std::span(&command.id, 1));
    if (!results.ok()) return results.error();
    // A result of another saga says nothing about this command, which is in the inbox.
    if (!results->empty() && results->front().saga == command.saga) {
      return receipt_of(results->front());
    }
    if (waited >= wait) return SagaReceipt{.command = command.id, .saga = command.saga};
    pause = std::min(pause, wait - waited);
    std::this_thread::sleep_for(pause);
    waited += pause;
    pause = std::min(pause * 2, look_max);
  }
}

Result<SagaReceipt> SagaAdmin::start(const SagaStartOrder& order, Duration wait) {
  const auto tenant = admin::limited(options_, order.tenant);
  if (!tenant.ok()) return tenant.error();
  SagaCommand command{.definition = order.definition,
                      .tenant = tenant->value_or(std::string(tenant_default)),
                      .kind = SagaCommandKind::start};
  const auto stored = store_->sagas()->definitions(order.definition);
  if (!stored.ok()) return stored.error();
  const bool known =
      !order.definition.empty() && std::ranges::any_of(*stored, [&](const auto& definition) {
        return !order.version || definition.version == *order.version;
      });
  if (!known) {
    return Error{
        Code::request_not_found,
        "definition: " + quoted(order.definition) +
            (order.version ? " version " + std::to_string(*order.version) : std::string()) +
            " is not stored here; sagabox saga define FILE stores one"};
  }
  if (!order.key.empty()) {
    if (auto status = admin::check_text("key", order.key, MessageRules::key_length_max);
        !status.ok()) {
      return status.error();
    }
  }
  command.saga = started_saga(command, order, *options_.clock);
  command.id = order.command.value_or(new_id<CommandId>(*options_.clock));
  command.body = saga::start_body({.input = order.input,
                                   .key = order.key,
                                   .isolate = order.isolate,
                                   .labels = order.labels,
                                   .timeout = order.timeout,
                                   .version = order.version,
                                   .traceparent = order.traceparent});
  if (const auto read = saga::read_start(command); !read.ok()) return read.error();
  return send(std::move(command), wait);
}

Result<SagaReceipt> SagaAdmin::act(const SagaOrder& order, Duration wait) {
  if (!order.note.empty()) {
    if (auto status = admin::check_text("note", order.note, Admin::note_length_max); !status.ok()) {
      return status.error();
    }
  }
  auto body = body_of(order, options_.actor);
  if (!body.ok()) return body.error();
  const auto found = record(order.saga);
  if (!found.ok()) return found.error();
  if (!*found) {
    return Error{Code::request_not_found, "saga " + quoted(order.saga.view()) + " is not there"};
  }
  return send({.id = order.command.value_or(new_id<CommandId>(*options_.clock)),
               .saga = order.saga,
               .definition = (*found)->definition,
               .tenant = (*found)->tenant,
               .kind = order.kind,
               .body = *std::move(body)},
              wait);
}

}  // namespace sagabox
