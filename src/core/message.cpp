#include "core/key_hash.hpp"
#include "core/message_check.hpp"

#include <sagabox/message.hpp>

namespace sagabox {
namespace {

std::string_view default_content_type(PayloadForm form) {
  return form == PayloadForm::json ? json_content_type : "application/octet-stream";
}

bool is_empty(const TraceContext& trace) noexcept {
  return trace.traceparent.empty() && trace.tracestate.empty() && trace.request_id.empty() &&
         trace.correlation_id.empty();
}

bool leaves_details(const NewMessage& fields, PayloadForm form) noexcept {
  const bool leaves_type = fields.content_type.empty() ? form == PayloadForm::json
                                                       : fields.content_type == json_content_type;
  return leaves_type && fields.tenant == tenant_default &&
         fields.aggregate_type.str() == aggregate_global && fields.aggregate_id.empty() &&
         fields.headers.empty() && !fields.not_before && is_empty(fields.trace);
}

MessageDetails details_of(NewMessage&& fields, PayloadForm form) {
  if (fields.content_type.empty()) fields.content_type = default_content_type(form);
  return {.tenant = std::move(fields.tenant),
          .aggregate_type = std::move(fields.aggregate_type).str(),
          .aggregate_id = std::move(fields.aggregate_id),
          .content_type = std::move(fields.content_type),
          .headers = std::move(fields.headers),
          .not_before = fields.not_before,
          .trace = std::move(fields.trace)};
}

/// The id of a draft that passed its checks.
Result<MessageId> checked_id(const NewMessage& draft, const MessageRules& rules, UlidSource& ids) {
  if (auto status = check_draft(draft, rules); !status) return status.error();
  if (draft.id.empty()) return ids.next<MessageId>();
  auto id = MessageId::parse(draft.id);
  if (!id.ok()) return Error{id.error().code, "id: " + id.error().message};
  return id;
}

}  // namespace

Status MessageRules::check() const {
  if (payload_bytes_max >= 1 && payload_bytes_max <= payload_bytes_ceiling) return {};
  return Error{Code::config_invalid, "payload_bytes_max: " + std::to_string(payload_bytes_max) +
                                         " is not between 1 and " +
                                         std::to_string(payload_bytes_ceiling)};
}

const Message::SharedDetails& Message::usual_details() noexcept {
  static const MessageDetails usual;
  static const SharedDetails unowned(std::shared_ptr<void>(), &usual);
  return unowned;
}

Message::SharedDetails Message::shared(std::optional<MessageDetails>&& details) {
  if (!details || *details == *usual_details()) return usual_details();
  return std::make_shared<const MessageDetails>(std::move(*details));
}

std::size_t Message::bytes_held() const noexcept {
  const auto& trace = details_->trace;
  std::size_t bytes = id_.view().size() + topic_.size() + key_.size() + payload_.size() +
                      details_->tenant.size() + details_->aggregate_type.size() +
                      details_->aggregate_id.size() + details_->content_type.size() +
                      trace.traceparent.size() + trace.tracestate.size() + trace.request_id.size() +
                      trace.correlation_id.size();
  for (const auto& [name, value] : details_->headers) bytes += name.size() + value.size();
  return bytes;
}

Message::Message(Key, const MessageId& id, NewMessage&& fields, const Digest& digest)
    : id_(id),
      priority_(fields.priority),
      key_(std::move(fields.key)),
      topic_(std::move(fields.topic).str()),
      payload_(std::move(fields.payload)),
      details_(leaves_details(fields, payload_.form())
                   ? usual_details()
                   : shared(details_of(std::move(fields), payload_.form()))),
      occurred_at_(fields.occurred_at.value_or(WallTime{})),
      digest_(digest) {
  if (has_key()) key_hash_ = sagabox::key_hash(details_->tenant, key_);
  bytes_ = bytes_held();
}

Message::Message(Key, StoredRow&& stored)
    : id_(stored.id),
      priority_(stored.priority),
      key_(stored.key),
      topic_(stored.topic),
      payload_(Payload::copy_of(stored.form, stored.payload)),
      details_(shared(std::move(stored.details))),
      occurred_at_(stored.occurred_at),
      digest_(stored.digest) {
  if (has_key()) key_hash_ = sagabox::key_hash(details_->tenant, key_);
  bytes_ = bytes_held();
}

Result<Message> Message::build(NewMessage draft, const MessageRules& rules, UlidSource& ids,
                               const Clock& clock) {
  const bool fresh_id = draft.id.empty();
  const auto id = checked_id(draft, rules, ids);
  if (!id) return id.error();
  if (!draft.occurred_at) draft.occurred_at = clock.wall_now();
  const auto digest = sha256(draft.payload.view());
  Message message(Key{}, *id, std::move(draft), digest);
  message.fresh_id_ = fresh_id;
  return message;
}

Result<std::shared_ptr<const Message>> Message::build_shared(NewMessage&& draft,
                                                             const MessageRules& rules,
                                                             UlidSource& ids, const Clock& clock) {
  const bool fresh_id = draft.id.empty();
  const auto id = checked_id(draft, rules, ids);
  if (!id) return id.error();
  if (!draft.occurred_at) draft.occurred_at = clock.wall_now();
  const auto digest = sha256(draft.payload.view());
  auto message = std::make_shared<Message>(Key{}, *id, std::move(draft), digest);
  message->fresh_id_ = fresh_id;
  return std::shared_ptr<const Message>(std::move(message));
}

Message Message::restore(StoredMessage stored) {
  return {Key{}, stored.id, std::move(stored.fields), stored.digest};
}

std::shared_ptr<const Message> Message::restore_shared(StoredRow&& stored) {
  return std::make_shared<const Message>(Key{}, std::move(stored));
}

}  // namespace sagabox
