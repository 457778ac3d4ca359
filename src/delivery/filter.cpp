#include "delivery/filter.hpp"

#include "core/nearest.hpp"
#include "core/text.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::delivery {
namespace {

using Kind = JsonNode::Kind;

enum class Operator : std::uint8_t { eq, in, gt, gte, lt, lte, exists, prefix };
constexpr std::array<std::string_view, 8> operator_names{"eq", "in",  "gt",     "gte",
                                                         "lt", "lte", "exists", "prefix"};
constexpr std::string_view operator_list = "eq, in, gt, gte, lt, lte, exists, prefix";

/// Objects and lists cannot be compared with: name what is in them.
bool is_scalar(Kind kind) { return kind != Kind::list && kind != Kind::object; }

/// Which part of an event a test looks at.
enum class Source : std::uint8_t { payload, type, key, source };

struct Path {
  Source source = Source::payload;
  std::vector<std::string> parts{};
};

std::vector<std::string> split_path(std::string_view text, char by) {
  std::vector<std::string> parts;
  for (std::size_t from = 0;;) {
    const auto at = text.find(by, from);
    parts.emplace_back(text.substr(from, at - from));
    if (at == std::string_view::npos) return parts;
    from = at + 1;
  }
}

/// A part of a JSON Pointer; nullopt for a ~ that is not an escape.
std::optional<std::string> unescaped_part(std::string_view part) {
  std::string plain;
  for (std::size_t at = 0; at < part.size(); ++at) {
    if (part[at] != '~') {
      plain += part[at];
      continue;
    }
    ++at;
    if (at == part.size() || (part[at] != '0' && part[at] != '1')) return std::nullopt;
    plain += part[at] == '0' ? '~' : '/';
  }
  return plain;
}

Result<Path> read_path(std::string_view name, std::string_view place) {
  Path path;
  if (name.starts_with('$')) {
    if (name == "$type") path.source = Source::type;
    if (name == "$key") path.source = Source::key;
    if (name == "$source") path.source = Source::source;
    if (path.source != Source::payload) return path;
    return misplaced(place,
                     "there are $type, $key and $source; a field that is called so is "
                     "written as a JSON Pointer: /" +
                         std::string(name));
  }
  const bool is_pointer = name.starts_with('/');
  for (auto& part : split_path(is_pointer ? name.substr(1) : name, is_pointer ? '/' : '.')) {
    if (is_pointer) {
      auto plain = unescaped_part(part);
      if (!plain) return misplaced(place, "write ~0 for ~ and ~1 for / in a JSON Pointer");
      part = *std::move(plain);
    } else if (part.empty()) {
      return misplaced(place, "has an empty part; write names between the dots, or a JSON Pointer");
    }
    path.parts.push_back(std::move(part));
  }
  if (path.parts.size() > FilterBounds::path_parts_max) {
    return misplaced(
        place, "goes through more than " + std::to_string(FilterBounds::path_parts_max) + " names");
  }
  return path;
}

std::optional<long double> number_of(const boost::json::value& value) {
  if (value.is_int64()) return static_cast<long double>(value.get_int64());
  if (value.is_uint64()) return static_cast<long double>(value.get_uint64());
  if (value.is_double()) return static_cast<long double>(value.get_double());
  return std::nullopt;
}

std::string_view text_of(const boost::json::value& value) {
  const auto& text = value.get_string();
  return {text.data(), text.size()};
}

/// What a path leads to: a value of the payload, or a text of the event; neither: nothing is there.
struct Found {
  const boost::json::value* value = nullptr;
  std::optional<std::string_view> text{};

  [[nodiscard]] bool there() const { return value != nullptr || text; }
  [[nodiscard]] std::optional<std::string_view> as_text() const {
    if (text) return text;
    if (value != nullptr && value->is_string()) return text_of(*value);
    return std::nullopt;
  }
  [[nodiscard]] std::optional<long double> as_number() const {
    return value == nullptr ? std::nullopt : number_of(*value);
  }
};

bool equals(const Found& found, const JsonNode& wanted) {
  switch (wanted.kind) {
    case Kind::text:
      return found.as_text() == std::string_view(wanted.text);
    case Kind::number:
      return found.as_number() == wanted.number;
    case Kind::boolean:
      return found.value != nullptr && found.value->is_bool() &&
             found.value->get_bool() == (wanted.text == "true");
    case Kind::null:
      return found.value != nullptr && found.value->is_null();
    default:
      return false;
  }
}

/// Numbers with numbers, texts with texts by their bytes; everything else is unordered.
std::partial_ordering compared(const Found& found, const JsonNode& with) {
  if (with.kind == Kind::number) {
    const auto number = found.as_number();
    return number ? *number <=> with.number : std::partial_ordering::unordered;
  }
  const auto text = found.as_text();
  return text ? std::partial_ordering(*text <=> std::string_view(with.text))
              : std::partial_ordering::unordered;
}

const boost::json::value* walk(const boost::json::value& root, const Path& path) {
  const boost::json::value* at = &root;
  for (const auto& part : path.parts) {
    if (const auto* const object = at->if_object()) {
      at = object->if_contains({part.data(), part.size()});
    } else if (const auto* const array = at->if_array()) {
      std::size_t index = 0;
      const auto* const end = part.data() + part.size();
      const auto read = std::from_chars(part.data(), end, index);
      const bool is_index =
          read.ec == std::errc() && read.ptr == end && (part.size() == 1 || part.front() != '0');
      at = is_index ? array->if_contains(index) : nullptr;
    } else {
      at = nullptr;
    }
    if (at == nullptr) return nullptr;
  }
  return at;
}

}  // namespace

struct FilteredEvent::Parsed {
  boost::json::monotonic_resource memory{};
  /// Null: the payload is not JSON.
  std::optional<boost::json::value> payload{};

  explicit Parsed(std::string_view text) {
    boost::json::parse_options options;
    options.max_depth = json_depth_max;
    boost::json::error_code broken;
    auto value = boost::json::parse({text.data(), text.size()}, broken, &memory, options);
    if (!broken) payload.emplace(std::move(value));
  }
};

FilteredEvent::FilteredEvent(const HubEvent& event) : event_(event) {}
FilteredEvent::~FilteredEvent() = default;

struct Filter::Test {
  Path path;
  Operator op = Operator::eq;
  std::vector<JsonNode> values{};  ///< one, but for `in`
};

/// Holds if all of its tests and groups do, or one of them, or not.
struct Filter::Group {
  enum class Joined : std::uint8_t { all, any, not_all };
  Joined joined = Joined::all;
  std::vector<Test> tests{};
  std::vector<Group> groups{};
};

/// Reads a filter; counts its nodes.
struct Filter::Reading {
  std::size_t nodes = 0;

  Status count(std::string_view place) {
    if (++nodes <= FilterBounds::nodes_max) return {};
    return misplaced(place, "has more than " + std::to_string(FilterBounds::nodes_max) +
                                " operators and listed values up to here");
  }

  Status read_group(const JsonNode& node, const std::string& place, std::size_t depth,
                    Group& group) {
    if (node.kind != Kind::object) {
      return misplaced(place, "is " + std::string(kind_text(node.kind)) +
                                  "; a filter is an object of conditions");
    }
    if (node.members.empty()) {
      return misplaced(place,
                       "is empty and would want everything; write a condition, or leave "
                       "the filter out");
    }
    for (const auto& member : node.members) {
      if (auto status = read_member(member, place_of(place, member.name), depth, group); !status) {
        return status;
      }
    }
    return {};
  }

  Status read_member(const JsonNode::Member& member, const std::string& place, std::size_t depth,
                     Group& group) {
    const bool joins = member.name == "and" || member.name == "or";
    if (!joins && member.name != "not") return read_tests(member, place, group);
    if (depth == FilterBounds::depth_max) {
      return misplaced(place, "and, or, not go deeper than " +
                                  std::to_string(FilterBounds::depth_max) + " levels");
    }
    if (auto status = count(place); !status) return status;
    auto& inner = group.groups.emplace_back();
    if (member.name == "not") {
      inner.joined = Group::Joined::not_all;
      return read_group(member.value, place, depth + 1, inner);
    }
    if (member.value.kind != Kind::list || member.value.members.empty()) {
      return misplaced(place, "must be a list of at least one filter");
    }
    if (member.name == "or") inner.joined = Group::Joined::any;
    for (std::size_t i = 0; i < member.value.members.size(); ++i) {
      auto& alternative = inner.groups.emplace_back();
      const auto at = place_of(place, i);
      if (auto status = count(at); !status) return status;
      if (auto status = read_group(member.value.members[i].value, at, depth + 1, alternative);
          !status) {
        return status;
      }
    }
    return {};
  }

  Status read_tests(const JsonNode::Member& member, const std::string& place, Group& group) {
    if (member.name.empty()) return misplaced(place, "name a field");
    auto path = read_path(member.name, place);
    if (!path.ok()) return path.error();
    const auto& value = member.value;
    if (value.kind == Kind::list) return read_list(value, place, *path, group);
    if (is_scalar(value.kind)) return add(place, {*path, Operator::eq, {value}}, group);
    if (value.members.empty()) {
      return misplaced(place, "has no operator; there are " + std::string(operator_list));
    }
    for (const auto& one : value.members) {
      if (auto status = read_operator(one, place_of(place, one.name), *path, group); !status) {
        return status;
      }
    }
    return {};
  }

  Status read_list(const JsonNode& list, const std::string& place, const Path& path, Group& group) {
    Test test{path, Operator::in, {}};
    if (list.members.empty()) return misplaced(place, "the list is empty: nothing would fit");
    for (std::size_t i = 0; i < list.members.size(); ++i) {
      const auto& value = list.members[i].value;
      const auto at = place_of(place, i);
      if (!is_scalar(value.kind)) {
        return misplaced(at, "is " + std::string(kind_text(value.kind)) +
                                 "; list texts, numbers, true, false or null");
      }
      if (auto status = count(at); !status) return status;
      test.values.push_back(value);
    }
    group.tests.push_back(std::move(test));
    return {};
  }

  Status add(const std::string& place, Test test, Group& group) {
    if (auto status = count(place); !status) return status;
    group.tests.push_back(std::move(test));
    return {};
  }

  Status read_operator(const JsonNode::Member& member, const std::string& place, const Path& path,
                       Group& group) {
    const auto* const known = std::ranges::find(operator_names, std::string_view(member.name));
    const auto& value = member.value;
    const auto is = "is " + std::string(kind_text(value.kind)) + "; ";
    if (known == operator_names.end()) {
      const auto near = nearest(
          member.name, std::vector<std::string>(operator_names.begin(), operator_names.end()));
      return misplaced(
          place, "is not an operator; " + (near.empty() ? "there are " + std::string(operator_list)
                                                        : "did you mean \"" + near + "\"?"));
    }
    const auto op = static_cast<Operator>(known - operator_names.begin());
    switch (op) {
      case Operator::in:
        if (value.kind == Kind::list) return read_list(value, place, path, group);
        return misplaced(place, is + "must be a list");
      case Operator::eq:
        if (!is_scalar(value.kind)) {
          return misplaced(place, is + "compare with a text, a number, true, false or null");
        }
        break;
      case Operator::exists:
        if (value.kind != Kind::boolean) return misplaced(place, is + "write true or false");
        break;
      case Operator::prefix:
        if (value.kind != Kind::text) return misplaced(place, is + "must be a text");
        break;
      default:
        if (value.kind != Kind::number && value.kind != Kind::text) {
          return misplaced(place, is + "compare with a number or a text");
        }
    }
    return add(place, {path, op, {value}}, group);
  }
};

Result<Filter> Filter::read(const JsonNode& node, std::string_view where) {
  auto root = std::make_shared<Group>();
  Reading reading;
  if (auto status = reading.read_group(node, std::string(where), 0, *root); !status) {
    return status.error();
  }
  Filter filter;
  filter.root_ = std::move(root);
  return filter;
}

Result<Filter> Filter::parse(std::string_view json, std::string_view where) {
  // Every group is an object, and a list in it where it joins; then the path's object and a list.
  constexpr std::size_t levels = 2 * FilterBounds::depth_max + 4;
  auto node = parse_node(json, where, {.bytes_max = FilterBounds::bytes_max, .depth_max = levels});
  if (!node.ok()) return node.error();
  return read(*node, where);
}

bool Filter::holds(const Test& test, FilteredEvent& event) {
  Found found;
  const auto& told = event.event_;
  switch (test.path.source) {
    case Source::type:
      found.text = told.message->topic();
      break;
    case Source::key:
      if (told.message->has_key()) found.text = told.message->key();
      break;
    case Source::source:
      if (!told.source.empty()) found.text = told.source;
      break;
    case Source::payload:
      if (!event.parsed_) {
        event.parsed_ = std::make_unique<FilteredEvent::Parsed>(told.message->payload().json());
      }
      if (event.parsed_->payload) found.value = walk(*event.parsed_->payload, test.path);
  }
  const auto& wanted = test.values.front();
  if (test.op == Operator::exists) return found.there() == (wanted.text == "true");
  if (!found.there()) return false;
  const auto is_equal = [&](const JsonNode& value) { return equals(found, value); };
  switch (test.op) {
    case Operator::eq:
    case Operator::in:
      return std::ranges::any_of(test.values, is_equal);
    case Operator::prefix: {
      const auto text = found.as_text();
      return text && text->starts_with(wanted.text);
    }
    case Operator::gt:
      return compared(found, wanted) > 0;
    case Operator::gte:
      return compared(found, wanted) >= 0;
    case Operator::lt:
      return compared(found, wanted) < 0;
    default:
      return compared(found, wanted) <= 0;
  }
}

bool Filter::holds(const Group& group, FilteredEvent& event) {
  const auto test = [&](const auto& part) { return holds(part, event); };
  if (group.joined == Group::Joined::any) {
    return std::ranges::any_of(group.tests, test) || std::ranges::any_of(group.groups, test);
  }
  const bool all =
      std::ranges::all_of(group.tests, test) && std::ranges::all_of(group.groups, test);
  return all == (group.joined == Group::Joined::all);
}

bool Filter::wants(FilteredEvent& event) const { return !root_ || holds(*root_, event); }

}  // namespace sagabox::delivery
