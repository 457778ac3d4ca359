#pragma once

#include <sagabox/result.hpp>
#include <sagabox/saga_definition.hpp>

#include <string>
#include <string_view>

namespace sagabox::assembly {

/// The definition of a saga in a file: YAML, or JSON, which is YAML as well. CONFIG.INVALID lists
/// every problem, a line each: "travel.yaml:9: …".
Result<SagaDefinition> read_saga_file(const std::string& path);

/// The same with the text of the file at hand.
Result<SagaDefinition> read_saga_text(const std::string& text, const std::string& name);

}  // namespace sagabox::assembly
