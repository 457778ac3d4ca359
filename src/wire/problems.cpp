#include "wire/problems.hpp"

#include "wire/field_reading.hpp"

namespace sagabox::wire {

void put_members(JsonOut& json, const Problem& problem) {
  json.field("type", "urn:sagabox:problem:" + std::string(code_name(problem.code)))
      .field("title", public_message(problem.code))
      .field("status", problem.status)
      .field("detail", problem.detail)
      .field("code", code_name(problem.code))
      .field("retryable", is_retry_safe(problem.code))
      .field_if("field", problem.field);
}

Problem read_problem(Fields& fields) {
  return {.status = static_cast<unsigned>(fields.count("status", 100, 999).value_or(500)),
          .code = code_from_name(text_in(fields, "code")),
          .detail = text_in(fields, "detail"),
          .field = fields.text("field")};
}

}  // namespace sagabox::wire
