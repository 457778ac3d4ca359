#pragma once

#include <sagabox/hub_record.hpp>
#include <sagabox/json_schema.hpp>
#include <sagabox/result.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace sagabox {

/// The catalogue of event types, where there is one. Checked when an event is published; what is
/// stored is delivered whatever the catalogue says later. Empty: every event fits.
struct EventTypes {
  struct Known {
    std::string description{};  ///< for people
    std::optional<JsonSchema> schema{};
  };
  std::map<std::string, Known, std::less<>> known{};
  /// Events of other types are refused.
  bool known_only = false;

  /// SCHEMA.VALIDATION_FAILED: the type is not known, or the payload does not fit its schema.
  [[nodiscard]] Status check(const HubEvent& event) const;
};

}  // namespace sagabox
