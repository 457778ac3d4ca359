#include "delivery/json_node.hpp"

#include "core/text.hpp"

#include <boost/json/basic_parser_impl.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace sagabox::delivery {
namespace {

namespace json = boost::json;
using Kind = JsonNode::Kind;

/// Builds the tree from what a parser finds.
struct NodeHandler {
  using error_code = json::error_code;
  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_array_size = std::size_t(-1);
  static constexpr std::size_t max_key_size = std::size_t(-1);
  static constexpr std::size_t max_string_size = std::size_t(-1);

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return open(Kind::object); }
  bool on_object_end(std::size_t, error_code&) { return close(); }
  bool on_array_begin(error_code&) { return open(Kind::list); }
  bool on_array_end(std::size_t, error_code&) { return close(); }
  bool on_key_part(json::string_view part, std::size_t, error_code&) { return more(part); }
  bool on_key(json::string_view part, std::size_t, error_code&) {
    more(part);
    auto& into = opened_.back();
    into.name = std::exchange(text_, {});
    if (!into.names.insert(into.name).second && repeated.empty()) repeated = into.name;
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, error_code&) { return more(part); }
  bool on_string(json::string_view part, std::size_t, error_code&) {
    more(part);
    return add({.kind = Kind::text, .text = std::exchange(text_, {})});
  }
  bool on_number_part(json::string_view part, error_code&) { return more(part); }
  bool on_int64(std::int64_t value, json::string_view part, error_code&) {
    return number(static_cast<long double>(value), part);
  }
  bool on_uint64(std::uint64_t value, json::string_view part, error_code&) {
    return number(static_cast<long double>(value), part);
  }
  bool on_double(double value, json::string_view part, error_code&) {
    return number(static_cast<long double>(value), part);
  }
  bool on_bool(bool yes, error_code&) {
    return add({.kind = Kind::boolean, .text = yes ? "true" : "false"});
  }
  bool on_null(error_code&) { return add({}); }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }

  JsonNode root{};
  std::string repeated{};  ///< a name that one object has twice

 private:
  struct Opened {
    JsonNode node{};
    std::string name{};
    std::set<std::string> names{};
  };

  bool more(json::string_view part) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool number(long double value, json::string_view part) {
    more(part);
    return add({.kind = Kind::number, .text = std::exchange(text_, {}), .number = value});
  }
  bool open(Kind kind) {
    opened_.push_back({.node = {.kind = kind}});
    return true;
  }
  bool close() {
    auto node = std::move(opened_.back().node);
    opened_.pop_back();
    return add(std::move(node));
  }
  bool add(JsonNode node) {
    if (opened_.empty()) {
      root = std::move(node);
    } else {
      auto& into = opened_.back();
      into.node.members.push_back({std::exchange(into.name, {}), std::move(node)});
    }
    return true;
  }

  std::vector<Opened> opened_;
  std::string text_;
};

}  // namespace

std::string_view kind_text(Kind kind) noexcept {
  constexpr std::array<std::string_view, 6> texts{"null",   "true or false", "a number",
                                                  "a text", "a list",        "an object"};
  return texts[static_cast<std::size_t>(kind)];
}

Error misplaced(std::string_view place, std::string_view problem) {
  return {Code::schema_validation_failed, std::string(place) + ": " + std::string(problem)};
}

Result<JsonNode> parse_node(std::string_view json, std::string_view where,
                            const JsonBounds& bounds) {
  if (json.size() > bounds.bytes_max) {
    return misplaced(where, "is " + std::to_string(json.size()) + " bytes long, the limit is " +
                                std::to_string(bounds.bytes_max));
  }
  boost::json::parse_options options;
  options.max_depth = bounds.depth_max;
  boost::json::basic_parser<NodeHandler> parser(options);
  boost::json::error_code broken;
  const auto taken = parser.write_some(false, json.data(), json.size(), broken);
  if (broken == boost::json::error::too_deep) {
    return misplaced(where, "is nested deeper than " + std::to_string(bounds.depth_max) +
                                " levels at byte " + std::to_string(taken + 1));
  }
  if (broken) {
    return misplaced(where,
                     "is not JSON at byte " + std::to_string(taken + 1) + ": " +
                         (broken == boost::json::error::incomplete ? "the value is not complete"
                                                                   : broken.message()));
  }
  if (taken < json.size()) {
    return misplaced(where,
                     "is not JSON at byte " + std::to_string(taken + 1) + ": more text after it");
  }
  auto& handler = parser.handler();
  if (!handler.repeated.empty()) {
    return misplaced(
        where, "has " + quoted(handler.repeated) + " twice in one object; leave one of them out");
  }
  return std::move(handler.root);
}

std::string place_of(std::string_view where, std::string_view name) {
  const auto is_word = [](char c) {
    return c == '_' || c == '-' || c == '$' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
  };
  const bool plain = !name.empty() && std::ranges::all_of(name, is_word);
  std::string place(where);
  if (!place.empty()) place += '.';
  return place + (plain ? std::string(name) : quoted(name));
}

std::string place_of(std::string_view where, std::size_t index) {
  return std::string(where) + "[" + std::to_string(index) + "]";
}

}  // namespace sagabox::delivery
