#pragma once

#include <sagabox/idempotency_http.hpp>

#include <boost/beast/http.hpp>

#include <exception>
#include <string>
#include <utility>
#include <variant>

/// `Idempotency-Key` for servers made with Boost.Beast (1.74 or newer).
namespace sagabox::beast {

namespace http = boost::beast::http;

using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

/// The caller of a request; both fields are part of every key.
struct Asker {
  std::string tenant = "default";
  std::string caller{};
};

inline HttpAnswer answer_of(const Response& response) {
  HttpAnswer answer{.status = response.result_int(), .body = response.body()};
  for (const auto& field : response) {
    // These headers belong to the connection, not to the answer.
    if (field.name() == http::field::connection || field.name() == http::field::keep_alive ||
        field.name() == http::field::transfer_encoding ||
        field.name() == http::field::content_length) {
      continue;
    }
    answer.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  return answer;
}

inline Response response_of(HttpAnswer answer, const Request& request) {
  Response response;
  response.version(request.version());
  response.result(answer.status);
  for (const auto& [name, value] : answer.headers) response.insert(name, value);
  response.keep_alive(request.keep_alive());
  response.body() = std::move(answer.body);
  response.prepare_payload();
  return response;
}

/// Returns the response to `request`: the result of `handler(request)`, which is called once for
/// its key, or the stored response, or the reason why the key is refused. Blocks for two calls of
/// the store in addition to the handler, so call it only where blocking is allowed. If the handler
/// throws, the key is released.
template <class Handler>
Response once(HttpIdempotency& keys, const Request& request, Asker asker, Handler&& handler) {
  const std::string_view method(request.method_string().data(), request.method_string().size());
  const std::string_view target(request.target().data(), request.target().size());
  HttpKeyedRequest keyed{.method = method,
                         .target = target,
                         .body = request.body(),
                         .tenant = std::move(asker.tenant),
                         .caller = std::move(asker.caller)};
  const auto range = request.equal_range("Idempotency-Key");
  for (auto field = range.first; field != range.second; ++field) {
    keyed.keys.emplace_back(field->value().data(), field->value().size());
  }
  auto begun = keys.begin(keyed);
  if (!begun.ok()) return response_of(http_problem(begun.error()), request);
  if (auto* const answer = std::get_if<HttpAnswer>(&*begun)) {
    return response_of(std::move(*answer), request);
  }
  const auto& pass = std::get<HttpIdempotency::Pass>(*begun);
  auto response = [&]() -> Response {
    try {
      return std::forward<Handler>(handler)(request);
    } catch (...) {
      (void)keys.finish(pass, {.status = 500});
      throw;
    }
  }();
  // The response is sent even if it could not be stored: the request was executed.
  (void)keys.finish(pass, answer_of(response));
  return response;
}

}  // namespace sagabox::beast
