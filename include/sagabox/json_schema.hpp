#pragma once

#include <sagabox/result.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace sagabox {

/// A JSON Schema of draft 4, read once. Copies share it; safe to use from any thread.
class JsonSchema {
 public:
  /// CONFIG.INVALID for what is no schema, for keywords that draft 4 does not have (they would
  /// silently not be checked), and for references to other documents.
  static Result<JsonSchema> parse(std::string_view text);

  /// Empty when `json` fits, else which rule of the schema it breaks. Never quotes the JSON.
  [[nodiscard]] std::string problem(std::string_view json) const;

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

}  // namespace sagabox
