#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::saga {

/// What a file says, before it is known what it means: the same for JSON and YAML.
struct DefinitionNode {
  enum class Shape : std::uint8_t { nothing, text, list, map };
  struct Member;

  Shape shape = Shape::nothing;
  std::string text{};
  bool is_string = false;       ///< the text was written in quotes: it is no number, true or false
  std::size_t line = 0;         ///< from 1; 0: not known
  std::vector<Member> members;  ///< of a list without keys; clang wants no initializer here

  [[nodiscard]] const DefinitionNode* find(std::string_view key) const;
};

struct DefinitionNode::Member {
  std::string key{};
  std::size_t line = 0;  ///< of the key
  DefinitionNode value{};
};

/// As JSON. A text that is not in quotes and would be a number, true, false or null is one.
std::string json_of(const DefinitionNode& node);

}  // namespace sagabox::saga
