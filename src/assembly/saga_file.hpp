#pragma once

#include <sagabox/result.hpp>
#include <sagabox/saga_definition.hpp>

#include <string>
#include <string_view>

namespace sagabox::assembly {

/// The definition of a saga in a file: YAML, or JSON, which is also YAML. CONFIG.INVALID lists
/// every problem on a line of its own: "travel.yaml:9: …".
Result<SagaDefinition> read_saga_file(const std::string& path);

/// The same with the given text of the file.
Result<SagaDefinition> read_saga_text(const std::string& text, const std::string& name);

}  // namespace sagabox::assembly
