#include "saga/template.hpp"

#include "core/text.hpp"
#include "saga/json_text.hpp"

#include <sagabox/payload.hpp>

#include <utility>

namespace sagabox::saga {
namespace {

constexpr std::string_view opening = "${";

Error wrong_reference(std::string_view text, const std::string& what) {
  return {Code::config_invalid, "\"${" + std::string(text) + "}\": " + what};
}

/// Takes the first name of a path off it.
std::string_view take_name(std::string_view& path) {
  const auto dot = path.find('.');
  const auto name = path.substr(0, dot);
  path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  return name;
}

Result<Reference> read_reference(std::string_view text) {
  constexpr auto right =
      "write input.NAME, steps.STEP.output.NAME, saga.id, saga.key or saga.tenant";
  Reference reference{.text = std::string(text)};
  auto rest = text;
  if (rest.ends_with('?')) {
    reference.optional = true;
    rest.remove_suffix(1);
  }
  if (rest.find("..") != std::string_view::npos || rest.ends_with('.')) {
    return wrong_reference(text, "a name is missing between its dots");
  }
  const auto root = take_name(rest);
  if (root == "input") {
    reference.path = rest;
    return reference;
  }
  if (root == "steps") {
    reference.root = Reference::Root::step_output;
    reference.step = take_name(rest);
    if (reference.step.empty() || take_name(rest) != "output") return wrong_reference(text, right);
    reference.path = rest;
    return reference;
  }
  if (root == "saga") {
    using Root = Reference::Root;
    for (const auto& [name, meant] :
         {std::pair{"id", Root::saga_id}, {"key", Root::saga_key}, {"tenant", Root::saga_tenant}}) {
      if (rest != name) continue;
      reference.root = meant;
      return reference;
    }
  }
  return wrong_reference(text, right);
}

Result<std::string_view> look_up(const Reference& reference, const RootValue& value_of) {
  const auto root = value_of(reference);
  const auto found = root ? json_at(*root, reference.path) : std::nullopt;
  if (found) return *found;
  if (reference.optional) return std::string_view("null");
  return Error{Code::schema_validation_failed,
               "\"${" + reference.text + "}\" leads to nothing; end it with ? if it may be absent"};
}

/// Cuts `text` at its references; the last piece has none.
template <class Add>
Status cut(std::string_view text, std::vector<Reference>& references, Add add) {
  std::string before;
  while (true) {
    const auto found = text.find(opening);
    before += text.substr(0, found);
    if (found == std::string_view::npos) break;
    text.remove_prefix(found + opening.size());
    if (before.ends_with('$')) {
      before.back() = '$';
      before += '{';
      continue;
    }
    const auto end = text.find('}');
    if (end == std::string_view::npos) {
      return Error{Code::config_invalid, "\"${\" without its \"}\"; write $${ for the text ${"};
    }
    auto reference = read_reference(text.substr(0, end));
    if (!reference) return reference.error();
    text.remove_prefix(end + 1);
    add(std::exchange(before, {}), references.size());
    references.push_back(std::move(reference).value());
  }
  add(std::move(before), std::nullopt);
  return {};
}

bool is_container(std::string_view value) { return value.front() == '{' || value.front() == '['; }

Error no_text(const Reference& reference) {
  return {Code::schema_validation_failed,
          "\"${" + reference.text +
              "}\" is an object or array; within a text only strings, "
              "numbers and booleans can stand"};
}

}  // namespace

Result<TextTemplate> TextTemplate::parse(std::string_view text) {
  TextTemplate made;
  auto ok = cut(text, made.references_, [&](std::string before, std::optional<std::size_t> at) {
    made.pieces_.push_back({.text = std::move(before), .reference = at});
  });
  if (!ok) return ok.error();
  return made;
}

Result<std::string> TextTemplate::fill(const RootValue& value_of) const {
  std::string out;
  for (const auto& piece : pieces_) {
    out += piece.text;
    if (!piece.reference) break;
    const auto& reference = references_[*piece.reference];
    const auto value = look_up(reference, value_of);
    if (!value) return value.error();
    if (is_container(*value)) return no_text(reference);
    if (*value != "null") out += value->front() == '"' ? unescaped(*value) : std::string(*value);
  }
  return out;
}

Result<JsonTemplate> JsonTemplate::parse(std::string_view json) {
  if (const auto problem = json_problem(json); !problem.empty()) {
    return Error{Code::config_invalid, problem};
  }
  const auto text = compact(json);
  JsonTemplate made;
  auto& pieces = made.made_.pieces_;
  std::string before;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '"') {
      before += text[at++];
      continue;
    }
    const auto end = string_end(text, at);
    const auto inner = std::string_view(text).substr(at + 1, end - at - 2);
    const bool is_name = end < text.size() && text[end] == ':';
    at = end;
    if (is_name && inner.find(opening) != std::string_view::npos) {
      return Error{Code::config_invalid,
                   "a name, " + quoted(inner) + ", holds a reference; only values can"};
    }
    const bool whole = inner.starts_with(opening) && inner.find('}') == inner.size() - 1;
    if (!whole) before += '"';
    auto ok = cut(
        inner, made.made_.references_, [&](std::string part, std::optional<std::size_t> reference) {
          before += part;
          if (!reference) return;
          pieces.push_back(
              {.text = std::exchange(before, {}), .reference = reference, .whole = whole});
        });
    if (!ok) return ok.error();
    if (!whole) before += '"';
  }
  pieces.push_back({.text = std::move(before), .reference = std::nullopt});
  return made;
}

void JsonTemplate::allow_absent(std::string_view step) {
  for (auto& reference : made_.references_) {
    if (reference.root == Reference::Root::step_output && reference.step == step) {
      reference.optional = true;
    }
  }
}

Result<std::string> JsonTemplate::fill(const RootValue& value_of) const {
  std::string out;
  for (const auto& piece : made_.pieces_) {
    out += piece.text;
    if (!piece.reference) break;
    const auto& reference = made_.references_[*piece.reference];
    const auto value = look_up(reference, value_of);
    if (!value) return value.error();
    if (piece.whole) {
      out += *value;
    } else if (is_container(*value)) {
      return no_text(reference);
    } else if (value->front() == '"') {
      out += value->substr(1, value->size() - 2);
    } else if (*value != "null") {
      out += *value;
    }
  }
  return out;
}

}  // namespace sagabox::saga
