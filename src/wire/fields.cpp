#include "wire/fields.hpp"

#include "core/text.hpp"
#include "core/timestamp.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <charconv>

namespace sagabox::wire {
namespace {

/// The maximum for one object; each name is compared with all before it.
constexpr std::size_t members_max = 1000;

constexpr std::string_view time_example = "a time like \"2026-01-01T00:00:00Z\"";

Error wrong_body(std::string message) { return {Code::request_invalid, std::move(message)}; }

/// Scans text that is known to be JSON.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) { skip_space(); }

  [[nodiscard]] char front() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool skip(char c) {
    if (front() != c) return false;
    ++at_;
    skip_space();
    return true;
  }
  /// Returns the value that starts here, and moves behind it.
  std::string_view value() {
    const std::size_t from = at_;
    if (front() == '"') {
      pass_string();
    } else if (front() == '{' || front() == '[') {
      pass_nested();
    } else {
      while (at_ < text_.size() &&
             std::string_view(",]} \t\r\n").find(text_[at_]) == std::string_view::npos) {
        ++at_;
      }
    }
    const auto found = text_.substr(from, at_ - from);
    skip_space();
    return found;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }
  void pass_string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }
  void pass_nested() {
    std::size_t depth = 0;
    do {
      if (text_[at_] == '"') {
        pass_string();
        continue;
      }
      if (text_[at_] == '{' || text_[at_] == '[') ++depth;
      if (text_[at_] == '}' || text_[at_] == ']') --depth;
      ++at_;
    } while (depth > 0 && at_ < text_.size());
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// The decoded text of a JSON string.
std::string unquoted(std::string_view string) {
  const auto inside = string.substr(1, string.size() - 2);
  if (inside.find('\\') == std::string_view::npos) return std::string(inside);
  const auto parsed = boost::json::parse({string.data(), string.size()});
  const auto& said = parsed.get_string();
  return {said.data(), said.size()};
}

/// Cleans a name chosen by the client for an error message.
std::string clean_name(std::string_view name) {
  const auto shown = quoted(name);
  return shown.substr(1, shown.size() - 2);
}

std::string_view kind(std::string_view value) {
  switch (value.empty() ? '\0' : value.front()) {
    case '"':
      return "a string";
    case '{':
      return "an object";
    case '[':
      return "an array";
    case 't':
    case 'f':
      return "a boolean";
    case 'n':
      return "null";
    default:
      return "a number";
  }
}

bool is_string(std::string_view value) { return value.starts_with('"'); }

std::vector<std::string_view> elements_of(std::string_view array) {
  std::vector<std::string_view> found;
  Walk walk(array);
  walk.skip('[');
  while (walk.front() != ']') {
    found.push_back(walk.value());
    walk.skip(',');
  }
  return found;
}

}  // namespace

Result<Fields> Fields::parse(std::string_view text, std::string where, Nulls nulls) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return wrong_body("the body is empty; give a JSON object");
  }
  if (const auto problem = json_problem(text); !problem.empty()) {
    return wrong_body("the body is " + problem + "; give a JSON object");
  }
  return split(text, std::move(where), nulls);
}

Result<Fields> Fields::split(std::string_view text, std::string where, Nulls nulls) {
  Walk walk(text);
  if (walk.front() != '{') {
    const auto found = walk.value();
    const auto prefix =
        where.empty() ? "the body is " : where.substr(0, where.size() - 1) + ": is ";
    return wrong_body(prefix + std::string(kind(found)) + "; give an object");
  }
  walk.skip('{');
  std::vector<Member> members;
  while (walk.front() != '}') {
    if (members.size() == members_max) {
      return wrong_body(where + "more than " + std::to_string(members_max) +
                        " members; give fewer");
    }
    auto name = unquoted(walk.value());
    walk.skip(':');
    const auto value = walk.value();
    walk.skip(',');
    if (std::ranges::find(members, name, &Member::name) != members.end()) {
      return wrong_body(where + clean_name(name) + ": given twice; give it once");
    }
    members.push_back({std::move(name), value});
  }
  return Fields(std::move(members), std::move(where), nulls);
}

const Fields::Member* Fields::find(std::string_view name) const {
  const auto found = std::ranges::find(members_, name, &Member::name);
  return found == members_.end() ? nullptr : &*found;
}

bool Fields::has(std::string_view name) const { return find(name) != nullptr; }

bool Fields::has_value(std::string_view name) const {
  const Member* member = find(name);
  return member != nullptr && member->value != "null";
}

std::string_view Fields::given(std::string_view name) {
  known_.emplace_back(name);
  const Member* member = find(name);
  if (member == nullptr) return {};
  if (member->value != "null") return member->value;
  if (nulls_ == Nulls::refused) wrong(name, "is null; give a value, or leave it out");
  return {};
}

std::optional<std::string> Fields::maybe_text(std::string_view name) {
  const auto value = given(name);
  if (value.empty()) return std::nullopt;
  if (!is_string(value)) {
    wrong(name, "is " + std::string(kind(value)) + "; give a string");
    return std::nullopt;
  }
  return unquoted(value);
}

std::string Fields::text(std::string_view name) { return maybe_text(name).value_or(""); }

std::optional<std::uint64_t> Fields::count(std::string_view name, std::uint64_t min,
                                           std::uint64_t max) {
  const auto value = given(name);
  if (value.empty()) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size() && number >= min &&
      number <= max) {
    return number;
  }
  const std::string found =
      kind(value) == "a number" ? std::string(value.substr(0, 30)) : std::string(kind(value));
  wrong(name, "is " + found + "; give a whole number from " + std::to_string(min) + " to " +
                  std::to_string(max));
  return std::nullopt;
}

bool Fields::flag(std::string_view name) {
  const auto value = given(name);
  if (value.empty()) return false;
  if (value != "true" && value != "false") {
    wrong(name, "is " + std::string(kind(value)) + "; give true or false");
  }
  return value == "true";
}

std::optional<WallTime> Fields::time(std::string_view name) {
  const auto value = given(name);
  if (value.empty()) return std::nullopt;
  if (!is_string(value)) {
    wrong(name, "is " + std::string(kind(value)) + "; give " + std::string(time_example));
    return std::nullopt;
  }
  const auto said = unquoted(value);
  const auto time = time_from_text(said);
  if (!time) wrong(name, quoted(said) + " is not a time; give " + std::string(time_example));
  return time;
}

Headers Fields::texts_by_name(std::string_view name) {
  const auto value = given(name);
  if (value.empty()) return {};
  if (!value.starts_with('{')) {
    wrong(name, "is " + std::string(kind(value)) + "; give an object with strings");
    return {};
  }
  auto inner = split(value, where_ + std::string(name) + ".", nulls_);
  if (!inner.ok()) {
    fail(inner.error());
    return {};
  }
  Headers texts;
  for (const auto& member : inner->members_) {
    if (!is_string(member.value)) {
      wrong(std::string(name) + "." + clean_name(member.name),
            "is " + std::string(kind(member.value)) + "; give a string");
      return {};
    }
    texts.emplace_back(member.name, unquoted(member.value));
  }
  return texts;
}

std::optional<std::vector<std::string_view>> Fields::elements(std::string_view name) {
  const auto value = given(name);
  if (value.empty()) return std::nullopt;
  if (!value.starts_with('[')) {
    wrong(name, "is " + std::string(kind(value)) + "; give an array");
    return std::nullopt;
  }
  return elements_of(value);
}

std::vector<std::string> Fields::texts(std::string_view name) {
  std::vector<std::string> texts;
  for (const auto element : elements(name).value_or(std::vector<std::string_view>{})) {
    if (!is_string(element)) {
      wrong(std::string(name) + "[" + std::to_string(texts.size()) + "]",
            "is " + std::string(kind(element)) + "; give a string");
      return {};
    }
    texts.push_back(unquoted(element));
  }
  return texts;
}

std::optional<std::string_view> Fields::raw(std::string_view name) {
  known_.emplace_back(name);
  const Member* member = find(name);
  if (member == nullptr) return std::nullopt;
  return member->value;
}

std::optional<Fields> Fields::object(std::string_view name) {
  const auto value = given(name);
  if (value.empty()) return std::nullopt;
  auto inner = split(value, where_ + std::string(name) + ".", nulls_);
  if (inner.ok()) return std::move(*inner);
  fail(inner.error());
  return std::nullopt;
}

std::optional<double> Fields::number(std::string_view name) {
  const auto value = given(name);
  if (value.empty()) return std::nullopt;
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size()) return number;
  wrong(name, "is " + std::string(kind(value)) + "; give a number");
  return std::nullopt;
}

std::vector<Fields> Fields::objects(std::string_view name) {
  std::vector<Fields> all;
  for (const auto element : elements(name).value_or(std::vector<std::string_view>{})) {
    auto one = split(element, where_ + std::string(name) + "[" + std::to_string(all.size()) + "].",
                     nulls_);
    if (!one.ok()) {
      fail(one.error());
      return {};
    }
    all.push_back(std::move(*one));
  }
  return all;
}

void Fields::wrong(std::string_view name, std::string what) {
  fail(wrong_body(where_ + std::string(name) + ": " + what));
}

Status Fields::status() const {
  if (error_) return *error_;
  for (const auto& member : members_) {
    if (std::ranges::find(known_, member.name) != known_.end()) continue;
    std::string names;
    for (const auto& known : known_) names += (names.empty() ? "" : ", ") + known;
    return wrong_body(where_ + clean_name(member.name) + ": unknown; " +
                      (names.empty() ? "no field is expected here" : "the fields are " + names));
  }
  return {};
}

}  // namespace sagabox::wire
