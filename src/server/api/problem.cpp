#include "server/api/problem.hpp"

#include "core/http_status.hpp"
#include "server/api/json_response.hpp"
#include "wire/problems.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sagabox::server {
namespace {

/// Messages about one field begin with its name and a colon.
std::string_view field_of(const Error& error) {
  const std::string_view message = error.message;
  const auto colon = message.find(": ");
  const bool has_field =
      error.code == Code::schema_validation_failed || error.code == Code::request_invalid;
  if (!has_field || colon == std::string_view::npos) return {};
  const auto name = message.substr(0, colon);
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_.-[]").find(c) != std::string_view::npos;
  });
  return plain ? name : std::string_view();
}

constexpr std::string_view problem_content_type = "application/problem+json";

bool may_come_back(unsigned status) { return status == 429 || status == 503; }

Response written(unsigned status, const Error& error, std::string_view detail) {
  auto response = ok_with(wire::Problem{.status = status,
                                        .code = error.code,
                                        .detail = std::string(detail),
                                        .field = std::string(field_of(error))});
  response.status = status;
  response.content_type = problem_content_type;
  if (may_come_back(status)) response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace

Response problem(const Error& error, Detail detail) {
  const auto status = http_status_of(error.code);
  const bool plain = detail == Detail::full || status < 500;
  return written(status, error,
                 plain ? std::string_view(error.message) : public_message(error.code));
}

Response problem(unsigned status, const Error& error) {
  return written(status, error, error.message);
}

Response not_found(std::string what) { return problem({Code::request_not_found, std::move(what)}); }

}  // namespace sagabox::server
