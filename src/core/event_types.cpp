#include "core/text.hpp"

#include <sagabox/event_types.hpp>

namespace sagabox {

Status EventTypes::check(const HubEvent& event) const {
  const auto& message = *event.message;
  const auto found = known.find(message.topic());
  if (found == known.end()) {
    if (!known_only) return {};
    return Error{Code::schema_validation_failed,
                 "type " + quoted(message.topic()) + " is not in the catalogue of event types"};
  }
  const auto& schema = found->second.schema;
  if (!schema) return {};
  const auto payload = "payload of type " + quoted(message.topic());
  if (message.payload().form() != PayloadForm::json) {
    return Error{Code::schema_validation_failed, payload + " must be JSON: it has a schema"};
  }
  const auto problem = schema->problem(message.payload().view());
  if (problem.empty()) return {};
  return Error{Code::schema_validation_failed, payload + ' ' + problem};
}

}  // namespace sagabox
