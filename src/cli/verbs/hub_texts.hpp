#pragma once

#include "cli/exit_codes.hpp"
#include "cli/session.hpp"

#include <sagabox/message.hpp>
#include <sagabox/result.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Input and output that the hub verbs share.
namespace sagabox::cli {

/// The typed text; "-": standard input.
std::string hub_text(const std::string& typed);
/// The same; throws WrongUse if it is not JSON. `option` names it.
std::string hub_json_text(std::string_view option, const std::string& typed);
/// Throws WrongUse if it cannot be read.
std::string hub_file(const std::string& name);
/// The headers of NAME:VALUE texts. Throws WrongUse.
Headers hub_headers(const std::vector<std::string>& typed);

/// "there is no event E1 in sqlite:sagabox.db"
Failure nothing_of(Session& session, std::string_view what, std::string_view id);
/// Prints where the next page begins, if there is one.
void say_more(Session& session, const std::string& next);

/// An error in a typed value is reported as wrong use.
template <class Value>
Value right_use(Result<Value> result) {
  const bool typed = !result.ok() && (result.error().code == Code::schema_validation_failed ||
                                      result.error().code == Code::request_invalid);
  if (typed) throw WrongUse(result.error().text());
  return std::move(result).value();
}

}  // namespace sagabox::cli
