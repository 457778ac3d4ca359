#include <sagabox/message.hpp>

namespace sagabox {

MessageBuilder& MessageBuilder::id(std::string id) {
  draft_.id = std::move(id);
  return *this;
}

MessageBuilder& MessageBuilder::tenant(std::string tenant) {
  draft_.tenant = std::move(tenant);
  return *this;
}

MessageBuilder& MessageBuilder::aggregate(AggregateType type, std::string id) {
  draft_.aggregate_type = std::move(type);
  draft_.aggregate_id = std::move(id);
  return *this;
}

MessageBuilder& MessageBuilder::key(std::string key) {
  draft_.key = std::move(key);
  return *this;
}

MessageBuilder& MessageBuilder::priority(Priority priority) {
  draft_.priority = priority;
  return *this;
}

MessageBuilder& MessageBuilder::json(std::string text) {
  return payload(sagabox::json(std::move(text)));
}

MessageBuilder& MessageBuilder::bytes(std::string data, std::string content_type) {
  draft_.content_type = std::move(content_type);
  return payload(sagabox::bytes(std::move(data)));
}

MessageBuilder& MessageBuilder::header(std::string name, std::string value) {
  draft_.headers.emplace_back(std::move(name), std::move(value));
  return *this;
}

MessageBuilder& MessageBuilder::occurred_at(WallTime when) {
  draft_.occurred_at = when;
  return *this;
}

MessageBuilder& MessageBuilder::not_before(WallTime when) {
  draft_.not_before = when;
  return *this;
}

MessageBuilder& MessageBuilder::trace(TraceContext trace) {
  draft_.trace = std::move(trace);
  return *this;
}

MessageBuilder& MessageBuilder::payload(Payload payload) {
  draft_.payload = std::move(payload);
  ++payloads_;
  return *this;
}

Result<NewMessage> MessageBuilder::draft() const {
  if (payloads_ > 1) {
    return Error{Code::schema_validation_failed,
                 "payload: given " + std::to_string(payloads_) +
                     " times; a message carries one, call json() or bytes() once"};
  }
  return draft_;
}

}  // namespace sagabox
