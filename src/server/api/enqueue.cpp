#include "core/http_status.hpp"
#include "core/message_check.hpp"
#include "core/text.hpp"
#include "server/api/arguments.hpp"
#include "server/api/json_response.hpp"
#include "server/api/operations.hpp"
#include "server/api/problem.hpp"
#include "server/api/query.hpp"
#include "server/api/readiness.hpp"
#include "wire/messages.hpp"
#include "wire/orders.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::server::operations {
namespace {

constexpr std::size_t batch_messages_max = 1000;

/// The tenant that the message will have; AUTH.DENIED when the caller may not write for it.
Result<std::string> tenant_for(const Caller& caller, std::optional<std::string> said,
                               const std::string& where) {
  if (!caller.tenant) return std::move(said).value_or(std::string(tenant_default));
  if (said && *said != *caller.tenant) {
    return Error{Code::auth_denied, where + "tenant: this key is bound to tenant " +
                                        quoted(*caller.tenant) +
                                        " and writes for no other; leave it out"};
  }
  return *caller.tenant;
}

Result<NewMessage> message_from(Fields fields, const Call& call, const std::string& where) {
  auto [message, tenant] = wire::read_message_order(fields, trace_of(call.request));
  if (message.id.empty() && call.pass != nullptr) message.id = id_of_request(*call.pass, where);
  if (auto status = fields.status(); !status.ok()) return status.error();

  auto whose = tenant_for(call.caller, std::move(tenant), where);
  if (!whose.ok()) return whose.error();
  message.tenant = std::move(*whose);
  // Checked before it is added to a transaction with others.
  auto checked = check_draft(message, call.table->rules());
  if (checked.ok()) checked = call.table->check_payload(message.topic.str(), message.payload);
  if (checked.ok() && !message.id.empty() && !is_id(message.id)) {
    checked = Error{Code::schema_validation_failed, "id: " + id_problem(message.id)};
  }
  if (!checked.ok()) return Error{checked.error().code, where + checked.error().message};
  return message;
}

/// The data for an answer after the request was destroyed.
struct Asker {
  const ServedTable* table;
  Caller caller;
  const ApiOptions* options;
  Readiness* readiness;
};

Response written_one(const Asker& asker, const std::vector<Written>& written) {
  const auto& table = asker.table->table;
  if (written.empty()) return ok_with(table, wire::suppressed);
  const auto& one = written.front();
  auto response = ok_with(table, one);
  response.status = one.duplicate ? 200 : 201;
  response.headers.emplace_back(
      "Location", "/v1/tables/" + table.str() + "/messages/" + percent_encoded(one.id.view()));
  return response;
}

Response written_many(const Asker& asker, const std::vector<Written>& messages,
                      std::size_t wanted) {
  const wire::WrittenBatch batch{.messages = messages, .suppressed = wanted - messages.size()};
  auto response = ok_with(asker.table->table, batch);
  const bool all_there = std::ranges::all_of(messages, &Written::duplicate);
  response.status = all_there ? 200 : 201;
  return response;
}

Response failed(const Asker& asker, const Error& error) {
  const bool ours = http_status_of(error.code) >= 500;
  if (ours) {
    asker.options->log->log(LogLevel::error, "write failed",
                            {{"table", std::string_view(asker.table->table.str())},
                             {"code", code_name(error.code)},
                             {"error", std::string_view(error.message)}});
  }
  return problem(error, asker.caller.tenant ? Detail::own_faults : Detail::full);
}

template <class Answer>
void write(const Call& call, std::vector<NewMessage> messages, Reply reply, Answer answer) {
  Asker asker{call.table, call.caller, &call.options, &call.readiness};
  const auto done = [asker, reply, answer](GroupWriter::Outcome outcome) {
    asker.readiness->write_ended(asker.table->table.str(),
                                 outcome.ok() ? std::nullopt : std::optional(outcome.error().code));
    if (!outcome.ok()) return reply(failed(asker, outcome.error()));
    reply(answer(asker, *outcome));
  };
  if (call.writer->submit(std::move(messages), done)) return;
  reply(problem(
      503, {Code::server_busy, "too many messages wait to be written; try again after a second"}));
}

}  // namespace

void enqueue(const Call& call, Reply reply) {
  auto fields = Fields::parse(call.request.body);
  if (!fields.ok()) return reply(problem(fields.error()));
  auto message = message_from(std::move(*fields), call, {});
  if (!message.ok()) return reply(problem(message.error()));
  std::vector<NewMessage> one;
  one.push_back(std::move(*message));
  write(call, std::move(one), std::move(reply), written_one);
}

void enqueue_batch(const Call& call, Reply reply) {
  auto body = Fields::parse(call.request.body);
  if (!body.ok()) return reply(problem(body.error()));
  const auto elements = body->elements("messages");
  const auto count = elements ? elements->size() : 0;
  if (count == 0 || count > batch_messages_max) {
    body->wrong("messages", std::to_string(count) + " given; give an array of 1 to " +
                                std::to_string(batch_messages_max) + " messages");
  }
  if (auto status = body->status(); !status.ok()) return reply(problem(status.error()));
  std::vector<NewMessage> messages;
  messages.reserve(count);
  for (const auto element : *elements) {
    const auto where = "messages[" + std::to_string(messages.size()) + "].";
    auto fields = Fields::split(element, where);
    if (!fields.ok()) return reply(problem(fields.error()));
    auto message = message_from(std::move(*fields), call, where);
    if (!message.ok()) return reply(problem(message.error()));
    messages.push_back(std::move(*message));
  }
  write(call, std::move(messages), std::move(reply),
        [count](const Asker& asker, const std::vector<Written>& written) {
          return written_many(asker, written, count);
        });
}

}  // namespace sagabox::server::operations
