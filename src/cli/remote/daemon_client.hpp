#pragma once

#include "cli/remote/http_client.hpp"
#include "cli/remote/rest_requests.hpp"
#include "wire/fields.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::cli {

/// Sends requests to a daemon, and turns its answers into records, or errors that say what to do.
class DaemonClient {
 public:
  explicit DaemonClient(std::unique_ptr<HttpClient> client) : client_(std::move(client)) {}

  [[nodiscard]] const std::string& url() const { return client_->url(); }

  /// A reader of src/wire: makes a record from the fields of an answer, and notes errors in them.
  template <class Value>
  using Read = Value (*)(wire::Fields& fields);

  template <class Value>
  Result<Value> get(const requests::Target& target, Read<Value> read) {
    return record({.target = target.str()}, read);
  }
  /// Returns nullopt if it does not exist (404).
  template <class Value>
  Result<std::optional<Value>> find(const requests::Target& target, Read<Value> read) {
    const auto answer = ask({.target = target.str()});
    if (!answer.ok()) return answer.error();
    if (answer->status == 404 && problem_of(*answer)) return std::optional<Value>();
    auto value = record_of({.target = target.str()}, *answer, read);
    if (!value.ok()) return value.error();
    return std::optional<Value>(*std::move(value));
  }
  /// Sends a request with a body.
  template <class Value>
  Result<Value> look(const requests::Target& target, std::string body, Read<Value> read) {
    return record({HttpRequest::Kind::look, target.str(), std::move(body)}, read);
  }
  template <class Value>
  Result<Value> act(const requests::Target& target, std::string body, Read<Value> read) {
    return record({HttpRequest::Kind::act, target.str(), std::move(body)}, read);
  }
  /// Reads JSON lines, without their newlines.
  Result<std::vector<std::string>> lines(const requests::Target& target);
  /// Returns why the daemon is not ready.
  Result<std::vector<spi::Finding>> readiness();

 private:
  Result<HttpAnswer> ask(const HttpRequest& request) { return client_->ask(request); }

  template <class Value>
  Result<Value> record(const HttpRequest& request, Read<Value> read) {
    const auto answer = ask(request);
    if (!answer.ok()) return answer.error();
    return record_of(request, *answer, read);
  }
  template <class Value>
  Result<Value> record_of(const HttpRequest& request, const HttpAnswer& answer, Read<Value> read) {
    if (auto refused = refusal(request, answer, "application/json")) return *std::move(refused);
    // A newer daemon may send more fields, and null for missing values.
    auto fields = wire::Fields::parse(answer.body, {}, wire::Nulls::left_out);
    if (!fields.ok()) return nonsense(request, fields.error());
    auto value = read(*fields);
    if (auto status = fields->status_of_known(); !status.ok()) {
      return nonsense(request, status.error());
    }
    return value;
  }
  /// The error in the answer; nullopt if it is not in our format.
  [[nodiscard]] static std::optional<Error> problem_of(const HttpAnswer& answer);
  /// Why the answer cannot be read as this type; nullopt if it can.
  [[nodiscard]] std::optional<Error> refusal(const HttpRequest& request, const HttpAnswer& answer,
                                             std::string_view type) const;
  [[nodiscard]] Error nonsense(const HttpRequest& request, const Error& error) const;

  std::unique_ptr<HttpClient> client_;
};

}  // namespace sagabox::cli
