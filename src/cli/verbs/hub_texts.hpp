#pragma once

#include "cli/exit_codes.hpp"
#include "cli/session.hpp"

#include <sagabox/message.hpp>
#include <sagabox/result.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What the verbs of the delivery hub read and say alike.
namespace sagabox::cli {

/// What was typed; "-": standard input.
std::string hub_text(const std::string& typed);
/// The same; throws WrongUse if it is not JSON. `option` names it.
std::string hub_json_text(std::string_view option, const std::string& typed);
/// Throws WrongUse if it cannot be read.
std::string hub_file(const std::string& name);
/// Of NAME:VALUE. Throws WrongUse.
Headers hub_headers(const std::vector<std::string>& typed);

/// "there is no event E1 in sqlite:sagabox.db"
Failure nothing_of(Session& session, std::string_view what, std::string_view id);
/// Where the next page begins, if there is one.
void say_more(Session& session, const std::string& next);

/// What is wrong with what was typed is wrong use.
template <class Value>
Value right_use(Result<Value> result) {
  const bool typed = !result.ok() && (result.error().code == Code::schema_validation_failed ||
                                      result.error().code == Code::request_invalid);
  if (typed) throw WrongUse(result.error().text());
  return std::move(result).value();
}

}  // namespace sagabox::cli
