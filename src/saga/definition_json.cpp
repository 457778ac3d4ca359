#include "saga/definition_reader.hpp"

#include <sagabox/payload.hpp>

#include <boost/json/basic_parser_impl.hpp>

#include <utility>

namespace sagabox::saga {
namespace {

namespace json = boost::json;

/// Builds the tree from what a parser finds. Text is given to the parser a line at a time, and no
/// token goes over a line's end, so the line of what is found is known.
struct NodeBuilder {
  using error_code = json::error_code;
  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_array_size = std::size_t(-1);
  static constexpr std::size_t max_key_size = std::size_t(-1);
  static constexpr std::size_t max_string_size = std::size_t(-1);

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return open(DefinitionNode::Shape::map); }
  bool on_object_end(std::size_t, error_code&) { return close(); }
  bool on_array_begin(error_code&) { return open(DefinitionNode::Shape::list); }
  bool on_array_end(std::size_t, error_code&) { return close(); }
  bool on_key_part(json::string_view part, std::size_t, error_code&) { return more(part); }
  bool on_key(json::string_view part, std::size_t, error_code&) {
    more(part);
    auto& members = open_.back().node.members;
    for (const auto& member : members) {
      if (member.key == text_) repeated_ = repeated_ == 0 ? line : repeated_;
    }
    open_.back().key = std::exchange(text_, {});
    open_.back().key_line = line;
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, error_code&) { return more(part); }
  bool on_string(json::string_view part, std::size_t, error_code&) {
    more(part);
    return scalar(true);
  }
  bool on_number_part(json::string_view part, error_code&) { return more(part); }
  bool on_int64(std::int64_t, json::string_view part, error_code&) { return number(part); }
  bool on_uint64(std::uint64_t, json::string_view part, error_code&) { return number(part); }
  bool on_double(double, json::string_view part, error_code&) { return number(part); }
  bool on_bool(bool yes, error_code&) {
    text_ = yes ? "true" : "false";
    return scalar(false);
  }
  bool on_null(error_code&) {
    add({.line = line});
    return true;
  }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }

  std::size_t line = 1;
  DefinitionNode root{};
  std::size_t repeated_ = 0;  // the line of a key that is there twice

 private:
  struct Open {
    DefinitionNode node;
    std::string key;
    std::size_t key_line = 0;
  };

  bool more(json::string_view part) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool number(json::string_view part) {
    more(part);
    return scalar(false);
  }
  bool scalar(bool is_string) {
    add({.shape = DefinitionNode::Shape::text,
         .text = std::exchange(text_, {}),
         .is_string = is_string,
         .line = line});
    return true;
  }
  bool open(DefinitionNode::Shape shape) {
    open_.push_back({.node = {.shape = shape, .line = line}, .key = {}});
    return true;
  }
  bool close() {
    auto node = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(node));
    return true;
  }
  void add(DefinitionNode node) {
    if (open_.empty()) {
      root = std::move(node);
      return;
    }
    auto& into = open_.back();
    const auto at = into.key_line == 0 ? node.line : into.key_line;
    into.node.members.push_back(
        {.key = std::exchange(into.key, {}), .line = at, .value = std::move(node)});
  }

  std::vector<Open> open_;
  std::string text_;
};

constexpr std::size_t definition_depth_max = 64;

Error not_json(std::string_view file_name, std::size_t line, const std::string& what) {
  return {Code::config_invalid, std::string(file_name) + ":" + std::to_string(line) + ": " + what};
}

}  // namespace

Result<DefinitionNode> node_from_json(std::string_view text, std::string_view file_name) {
  json::parse_options options;
  options.max_depth = definition_depth_max;
  json::basic_parser<NodeBuilder> parser(options);
  auto& builder = parser.handler();
  json::error_code broken;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const bool more = end < text.size();
    const auto taken = parser.write_some(more, text.data() + begin, end - begin, broken);
    if (!broken && taken < end - begin &&
        text.find_first_not_of(" \t\r\n", begin + taken) != std::string_view::npos) {
      return not_json(file_name, builder.line, "more text after the definition");
    }
    if (broken) return not_json(file_name, builder.line, "is not JSON: " + broken.message());
    begin = end;
    if (more) ++builder.line;
    if (parser.done()) {
      if (text.find_first_not_of(" \t\r\n", begin) == std::string_view::npos) break;
      return not_json(file_name, builder.line, "more text after the definition");
    }
  }
  if (!parser.done()) return not_json(file_name, builder.line, "is not JSON: it is incomplete");
  if (builder.repeated_ != 0) {
    return not_json(file_name, builder.repeated_, "this key is there twice; leave one of them out");
  }
  return std::move(builder.root);
}

}  // namespace sagabox::saga
