#pragma once

#include "saga/definition_node.hpp"

#include <sagabox/result.hpp>
#include <sagabox/saga_definition.hpp>

#include <string>
#include <string_view>

namespace sagabox::saga {

/// Reads a definition and checks it. CONFIG.INVALID lists every problem, a line each:
/// `travel.yaml:9: unknown key "atempts_max" under steps[1].retry; did you mean "attempts_max"?`
Result<SagaDefinition> read_definition(const DefinitionNode& node, std::string_view file_name);

/// The tree of a JSON text, with the lines on which things begin. CONFIG.INVALID says where it
/// is not JSON.
Result<DefinitionNode> node_from_json(std::string_view json, std::string_view file_name);

}  // namespace sagabox::saga
