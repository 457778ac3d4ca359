#include "assembly/saga_file.hpp"

#include "assembly/config_reader.hpp"
#include "assembly/yaml_file.hpp"
#include "saga/definition_reader.hpp"

#include <utility>
#include <vector>

namespace sagabox::assembly {
namespace {

saga::DefinitionNode node_of(ConfigNode given) {
  using Shape = saga::DefinitionNode::Shape;
  saga::DefinitionNode node{
      .text = std::move(given.text), .is_string = given.in_quotes, .line = given.line};
  switch (given.shape) {
    case ConfigNode::Shape::nothing:
      node.shape = Shape::nothing;
      break;
    case ConfigNode::Shape::text:
      node.shape = Shape::text;
      break;
    case ConfigNode::Shape::list:
      node.shape = Shape::list;
      break;
    case ConfigNode::Shape::map:
      node.shape = Shape::map;
      break;
  }
  for (auto& member : given.members) {
    node.members.push_back({.key = std::move(member.key),
                            .line = member.line,
                            .value = node_of(std::move(member.value))});
  }
  return node;
}

}  // namespace

Result<SagaDefinition> read_saga_text(const std::string& text, const std::string& name) {
  std::vector<std::string> problems;
  auto given = read_yaml(text, name, {}, problems);
  if (!problems.empty()) {
    std::string lines;
    for (const auto& problem : problems) lines += (lines.empty() ? "" : "\n") + problem;
    return Error{Code::config_invalid, std::move(lines)};
  }
  return saga::read_definition(node_of(std::move(given)), name);
}

Result<SagaDefinition> read_saga_file(const std::string& path) {
  const auto text = file_text(path);
  if (!text) return Error{Code::config_invalid, path + ": cannot be read"};
  return read_saga_text(*text, path);
}

}  // namespace sagabox::assembly
