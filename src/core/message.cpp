#include "core/message_check.hpp"

#include <sagabox/message.hpp>

namespace sagabox {
namespace {

std::size_t bytes_held(const NewMessage& draft, const MessageId& id) {
  std::size_t bytes =
      id.view().size() + draft.topic.str().size() + draft.key.size() + draft.payload.size() +
      draft.tenant.size() + draft.aggregate_type.str().size() + draft.aggregate_id.size() +
      draft.content_type.size() + draft.trace.traceparent.size() + draft.trace.tracestate.size() +
      draft.trace.request_id.size() + draft.trace.correlation_id.size();
  for (const auto& [name, value] : draft.headers) bytes += name.size() + value.size();
  return bytes;
}

std::string_view default_content_type(PayloadForm form) {
  return form == PayloadForm::json ? json_content_type : "application/octet-stream";
}

}  // namespace

Status MessageRules::check() const {
  if (payload_bytes_max >= 1 && payload_bytes_max <= payload_bytes_ceiling) return {};
  return Error{Code::config_invalid, "payload_bytes_max: " + std::to_string(payload_bytes_max) +
                                         " is not between 1 and " +
                                         std::to_string(payload_bytes_ceiling)};
}

Result<Message> Message::build(NewMessage draft, const MessageRules& rules, UlidSource& ids,
                               const Clock& clock) {
  if (auto status = check_draft(draft, rules); !status) return status.error();
  MessageId id;
  const bool fresh_id = draft.id.empty();
  if (fresh_id) {
    id = ids.next<MessageId>();
  } else {
    auto given = MessageId::parse(draft.id);
    if (!given) return given.error();
    id = *given;
  }
  if (!draft.occurred_at) draft.occurred_at = clock.wall_now();
  if (draft.content_type.empty()) {
    draft.content_type = default_content_type(draft.payload.form());
  }
  const auto digest = sha256(draft.payload.view());
  auto message = restore({id, std::move(draft), digest});
  message.fresh_id_ = fresh_id;
  return message;
}

Message Message::restore(StoredMessage stored) {
  Message message;
  message.id_ = stored.id;
  message.digest_ = stored.digest;
  message.key_hash_ = stored.fields.key.empty() ? 0 : stable_hash(stored.fields.key);
  message.bytes_ = bytes_held(stored.fields, stored.id);
  message.draft_ = std::move(stored.fields);
  return message;
}

}  // namespace sagabox
