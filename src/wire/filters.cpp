#include "wire/filters.hpp"

namespace sagabox::wire {

void put_members(JsonOut& json, const MessageFilter& filter) {
  json.field_if("tenant", filter.tenant)
      .field_if("topic", filter.topic)
      .field_if("aggregate_type", filter.aggregate_type)
      .field_if("key", filter.key);
  if (filter.code) json.field("code", code_name(*filter.code));
  json.field_if("from", filter.from).field_if("until", filter.until);
  if (filter.first) json.field("first", filter.first->value);
  if (filter.last) json.field("last", filter.last->value);
}

}  // namespace sagabox::wire
