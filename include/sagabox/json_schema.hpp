#pragma once

#include <sagabox/result.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace sagabox {

/// A parsed JSON Schema of draft 4. Copies share it; safe to use from any thread.
class JsonSchema {
 public:
  /// CONFIG.INVALID if the text is not a schema, for keywords that draft 4 does not have (they
  /// would be ignored silently), and for references to other documents.
  static Result<JsonSchema> parse(std::string_view text);

  /// Empty if `json` fits, else the rule of the schema that it breaks. Never quotes the JSON.
  [[nodiscard]] std::string problem(std::string_view json) const;

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

}  // namespace sagabox
