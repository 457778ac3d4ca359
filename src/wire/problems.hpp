#pragma once

#include "wire/fields.hpp"
#include "wire/json_out.hpp"

#include <sagabox/error.hpp>

#include <string>

namespace sagabox::wire {

/// An error in the format of RFC 9457, with `code`, `retryable` and, if one field is wrong,
/// `field`.
struct Problem {
  unsigned status = 500;
  Code code = Code::unknown_internal;
  std::string detail{};
  std::string field{};
};
void put_members(JsonOut& json, const Problem& problem);
Problem read_problem(Fields& fields);

}  // namespace sagabox::wire
