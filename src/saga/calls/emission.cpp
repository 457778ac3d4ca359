#include "saga/calls/emission.hpp"

#include "saga/calls/call_headers.hpp"
#include "saga/calls/reply_token.hpp"

#include <utility>

namespace sagabox::saga {

Result<spi::SagaMessage> build_emission(const EmissionContext& context, const Emission& emission,
                                        UlidSource& ids, const Clock& clock) {
  const auto& call = emission.call;
  auto table = TableName::parse(call.target.table.empty() ? "default" : call.target.table);
  if (!table.ok()) return table.error();
  NewMessage draft;
  draft.topic = call.target.name;
  draft.payload = json(call.input.empty() ? "null" : call.input);
  draft.tenant = context.instance.tenant;
  // Of the default aggregate type: listeners of other services are registered by topic alone.
  draft.aggregate_id = context.instance.id.str();
  draft.trace.traceparent = context.instance.traceparent;
  draft.headers = call_headers({.call = call,
                                .saga = context.instance.id,
                                .definition = context.instance.definition,
                                .definition_version = context.instance.definition_version,
                                .tenant = context.instance.tenant,
                                .step = context.step.name,
                                .epoch = context.epoch,
                                .remember_until = context.remember_until});
  if (emission.wants_reply && !context.secret.empty()) {
    draft.headers.emplace_back(header::reply_token,
                               reply_token({.saga = context.instance.id,
                                            .definition = context.instance.definition,
                                            .tenant = context.instance.tenant,
                                            .step = context.step.name,
                                            .direction = call.key.direction,
                                            .round = call.round,
                                            .expires_at = clock.wall_now() + context.reply_ttl},
                                           context.secret));
  }
  auto message = Message::build_shared(std::move(draft), {}, ids, clock);
  if (!message.ok()) return message.error();
  return spi::SagaMessage{std::move(table).value(), std::move(message).value()};
}

}  // namespace sagabox::saga
