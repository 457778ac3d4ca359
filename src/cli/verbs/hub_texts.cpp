#include "cli/verbs/hub_texts.hpp"

#include "core/text.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <iterator>

namespace sagabox::cli {
namespace {

std::string all_of(std::istream& in) {
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

std::string hub_text(const std::string& typed) { return typed == "-" ? all_of(std::cin) : typed; }

std::string hub_json_text(std::string_view option, const std::string& typed) {
  auto text = hub_text(typed);
  const auto problem = json_problem(text);
  if (!problem.empty()) throw WrongUse(fmt::format("{}: is not JSON: {}", option, problem));
  return text;
}

std::string hub_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  auto text = all_of(file);
  if (!file) throw WrongUse("cannot read " + name);
  return text;
}

Headers hub_headers(const std::vector<std::string>& typed) {
  Headers headers;
  for (const auto& text : typed) {
    const auto colon = text.find(':');
    if (colon == 0 || colon == std::string::npos) {
      throw WrongUse("--header: " + quoted(text.substr(0, colon)) + "; write NAME:VALUE");
    }
    auto value = text.substr(colon + 1);
    value.erase(0, value.find_first_not_of(' '));
    headers.emplace_back(text.substr(0, colon), std::move(value));
  }
  return headers;
}

Failure nothing_of(Session& session, std::string_view what, std::string_view id) {
  return Failure({Code::request_not_found,
                  fmt::format("there is no {} {} in {}", what, id, session.operations().name())});
}

void say_more(Session& session, const std::string& next) {
  if (next.empty()) return;
  session.out().print(Line().add("more: --after " + next, Style::faint));
}

}  // namespace sagabox::cli
