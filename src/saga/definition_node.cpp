#include "saga/definition_node.hpp"

#include "core/json_quote.hpp"

#include <sagabox/payload.hpp>

#include <algorithm>

namespace sagabox::saga {
namespace {

void append_json(std::string& out, const DefinitionNode& node) {
  using Shape = DefinitionNode::Shape;
  switch (node.shape) {
    case Shape::nothing:
      out += "null";
      return;
    case Shape::text:
      if (node.is_string || !json_problem(node.text).empty()) {
        append_json_string(out, node.text);
      } else {
        out += node.text;
      }
      return;
    case Shape::list:
    case Shape::map:
      break;
  }
  const bool is_map = node.shape == Shape::map;
  out += is_map ? '{' : '[';
  bool first = true;
  for (const auto& member : node.members) {
    if (!first) out += ',';
    first = false;
    if (is_map) {
      append_json_string(out, member.key);
      out += ':';
    }
    append_json(out, member.value);
  }
  out += is_map ? '}' : ']';
}

}  // namespace

const DefinitionNode* DefinitionNode::find(std::string_view key) const {
  const auto found = std::ranges::find(members, key, &Member::key);
  return found == members.end() ? nullptr : &found->value;
}

std::string json_of(const DefinitionNode& node) {
  std::string out;
  append_json(out, node);
  return out;
}

}  // namespace sagabox::saga
