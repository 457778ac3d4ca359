#include "cli/remote/daemon_client.hpp"

#include "core/error_text.hpp"
#include "core/text.hpp"
#include "wire/problems.hpp"
#include "wire/readiness.hpp"

#include <algorithm>

namespace sagabox::cli {
namespace {

constexpr std::string_view problem_type = "application/problem+json";
constexpr unsigned unauthorised = 401;
constexpr unsigned not_ready = 503;
constexpr unsigned server_faults = 500;

/// The media type without parameters.
std::string_view media_of(const HttpAnswer& answer) {
  const std::string_view type = answer.content_type;
  return type.substr(0, type.find_first_of("; "));
}

std::string in_doubt(const HttpRequest& request) {
  return request.kind == HttpRequest::Kind::act
             ? "; it may have happened: look before you do it again"
             : "";
}

}  // namespace

std::optional<Error> DaemonClient::problem_of(const HttpAnswer& answer) {
  if (media_of(answer) != problem_type) return std::nullopt;
  auto fields = wire::Fields::parse(answer.body, {}, wire::Nulls::left_out);
  if (!fields.ok()) return std::nullopt;
  const auto problem = wire::read_problem(*fields);
  if (!fields->status_of_known().ok()) return std::nullopt;
  return Error{problem.code, clean_error(problem.detail)};
}

std::optional<Error> DaemonClient::refusal(const HttpRequest& request, const HttpAnswer& answer,
                                           std::string_view type) const {
  const auto media = media_of(answer);
  if (auto problem = problem_of(answer)) {
    if (answer.status == unauthorised && !client_->has_key()) {
      return Error{Code::auth_denied,
                   url() + " asks for a key; give it with --key-file FILE or in SAGABOX_KEY"};
    }
    return problem;
  }
  if (answer.status / 100 == 2 && media == type) return std::nullopt;
  const auto status = std::to_string(answer.status);
  if (answer.status >= server_faults) {
    const bool acts = request.kind == HttpRequest::Kind::act;
    return Error{
        acts ? Code::storage_in_doubt : Code::provider_unavailable,
        "what stands before the daemon at " + url() + " answered " + status + in_doubt(request)};
  }
  return Error{Code::config_invalid, url() + " is not a sagabox daemon: it answered " +
                                         request.target + " with " + status + " and " +
                                         (media.empty() ? "no type" : quoted(media)) +
                                         "; check --server"};
}

Error DaemonClient::nonsense(const HttpRequest& request, const Error& error) const {
  if (error.code != Code::request_invalid) return error;
  const bool acts = request.kind == HttpRequest::Kind::act;
  return {acts ? Code::storage_in_doubt : Code::unknown_internal,
          "the answer of " + url() + " to " + request.target +
              " is not understood: " + clean_error(error.message) +
              "; is the daemon of another version?" + in_doubt(request)};
}

Result<std::vector<std::string>> DaemonClient::lines(const requests::Target& target) {
  const HttpRequest request{.target = target.str()};
  const auto answer = ask(request);
  if (!answer.ok()) return answer.error();
  if (auto refused = refusal(request, *answer, "application/x-ndjson")) return *std::move(refused);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < answer->body.size();) {
    const auto end = std::min(answer->body.find('\n', begin), answer->body.size());
    lines.push_back(answer->body.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

Result<std::vector<spi::Finding>> DaemonClient::readiness() {
  const HttpRequest request{.target = "/health/ready"};
  auto answer = ask(request);
  if (!answer.ok()) return answer.error();
  // A daemon that is not ready tells why, in the same format.
  const bool tells = media_of(*answer) == "application/json";
  if (answer->status == not_ready && tells) answer->status = 200;
  const auto daemon = record_of(request, *answer, wire::read_readiness);
  if (!daemon.ok()) return daemon.error();
  std::vector<spi::Finding> found;
  if (daemon->hub && !daemon->hub->ready) {
    found.push_back({Severity::error, "the daemon is not ready: hub: " + daemon->hub->text,
                     "the log of the daemon with the role router"});
  }
  for (const auto& table : daemon->tables) {
    if (table.ready) continue;
    found.push_back({Severity::error,
                     "the daemon is not ready: table " + table.table + ": " + table.text,
                     "sagabox status, and the daemon's log"});
  }
  return found;
}

}  // namespace sagabox::cli
