#include "server/front.hpp"

#include "server/api/json_response.hpp"
#include "server/api/problem.hpp"

#include <string_view>
#include <utility>

namespace sagabox::server {

Admission Front::of_its_own(const Request& request) const {
  const auto path = std::string_view(request.target).substr(0, request.target.find('?'));
  const bool looks = request.method == "GET" || request.method == "HEAD";
  Admission admission;
  if (looks && path == "/health/live") {
    admission.operation = "live";
    admission.refused = Response{.body = "{\"live\":true}\n"};
  } else if (looks && path == "/health/ready") {
    admission.operation = "ready";
    admission.refused = ok_with(starting_());
    admission.refused->status = 503;
  } else {
    admission.refused = problem(
        {Code::server_busy, "the daemon waits for its stores; /health/ready says for which"});
  }
  return admission;
}

Admission Front::admit(const Request& header) {
  auto* const api = api_.load(std::memory_order_acquire);
  return api == nullptr ? of_its_own(header) : api->admit(header);
}

void Front::begin(const Request& request, const Reply& reply) {
  auto* const api = api_.load(std::memory_order_acquire);
  if (api != nullptr) return api->begin(request, reply);
  reply(*of_its_own(request).refused);
}

}  // namespace sagabox::server
