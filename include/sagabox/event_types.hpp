#pragma once

#include <sagabox/hub_record.hpp>
#include <sagabox/json_schema.hpp>
#include <sagabox/result.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace sagabox {

/// The optional catalogue of event types. Events are checked when they are published; a stored
/// event is delivered even if it does not fit a later catalogue. Empty: every event fits.
struct EventTypes {
  struct Known {
    std::string description{};  ///< for display
    std::optional<JsonSchema> schema{};
  };
  std::map<std::string, Known, std::less<>> known{};
  /// Events of other types are refused.
  bool known_only = false;

  /// SCHEMA.VALIDATION_FAILED if the type is not allowed, or the payload does not fit its schema.
  [[nodiscard]] Status check(const HubEvent& event) const;
};

}  // namespace sagabox
