#include "server/api/api.hpp"

#include "core/ascii.hpp"
#include "core/http_status.hpp"
#include "core/text.hpp"
#include "server/api/problem.hpp"
#include "server/api/query.hpp"

#include <algorithm>
#include <charconv>
#include <exception>
#include <future>
#include <set>
#include <utility>

namespace sagabox::server {
namespace {

constexpr std::string_view bearer = "Bearer ";
constexpr std::string_view form_content_type = "application/x-www-form-urlencoded";

Error denied(std::string message) { return {Code::auth_denied, std::move(message)}; }

Response unauthorised(std::string message) {
  auto response = problem(401, denied(std::move(message)));
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

bool may(Role role, Needs needs) {
  return static_cast<int>(role) + static_cast<int>(Needs::read) >= static_cast<int>(needs);
}

std::string_view needed_role(Needs needs) {
  return role_name(static_cast<Role>(static_cast<int>(needs) - static_cast<int>(Needs::read)));
}

/// The host of "[::1]:8700", "localhost:8700" or "http://localhost:8700".
std::string host_of(std::string_view authority) {
  if (const auto scheme = authority.find("://"); scheme != std::string_view::npos) {
    authority.remove_prefix(scheme + 3);
  }
  if (authority.starts_with('[')) return std::string(authority.substr(0, authority.find(']') + 1));
  return std::string(authority.substr(0, authority.find(':')));
}

bool is_loopback_name(const std::string& host) {
  if (host == "localhost" || host.ends_with(".localhost") || host == "[::1]") return true;
  if (!host.starts_with("127.")) return false;
  return host.find_first_not_of("0123456789.") == std::string::npos;
}

Response no_route(const Request& request, const RouteMatch& match) {
  const auto path = request.target.substr(0, request.target.find('?'));
  if (match.methods.empty()) {
    return not_found(quoted(path) + " is not a path of this API; /openapi.json has them all");
  }
  std::set<std::string> allowed(match.methods.begin(), match.methods.end());
  if (allowed.contains("GET")) allowed.insert("HEAD");
  std::string list;
  for (const auto& method : allowed) list += (list.empty() ? "" : ", ") + method;
  auto response =
      problem({Code::request_method_not_allowed, quoted(request.method) + " is not allowed on " +
                                                     quoted(path) + "; allowed: " + list});
  response.headers.emplace_back("Allow", list);
  return response;
}

std::string_view method_of(const Request& request) {
  return request.method == "HEAD" ? std::string_view("GET") : std::string_view(request.method);
}

/// "/v1/messages" means the first table, and the path of the metrics is configurable.
RouteMatch match(const Request& request, const ApiOptions& options) {
  const auto& tables = options.tables;
  auto segments = path_segments(request.target);
  if (!segments) return {};
  if (request.target.substr(0, request.target.find('?')) == options.metrics_path) {
    segments->assign({"metrics"});
  }
  auto found = match_route(method_of(request), *segments);
  if (!found.methods.empty() || tables.empty() || segments->front() != "v1") return found;
  segments->insert(segments->begin() + 1, {"tables", tables.front().table.str()});
  return match_route(method_of(request), *segments);
}

/// A body is read as JSON, also without a content type, or with curl's default one. Forms of web
/// pages were refused before, by their origin or for the missing key.
std::optional<Response> wrong_content(const Request& request) {
  if (request.body.empty() && !request.announces_body()) return std::nullopt;
  const auto type = request.header("content-type");
  const auto media = type.substr(0, type.find_first_of("; "));
  const auto is = [&](std::string_view known) {
    return std::ranges::equal(media, known, {}, lower);
  };
  if (media.empty() || is(json_content_type) || is(form_content_type)) {
    return std::nullopt;
  }
  return problem({Code::request_unsupported_media_type,
                  "Content-Type: " + quoted(media) + " is not taken; give application/json"});
}

}  // namespace

Status ApiOptions::check() const {
  std::set<std::string> names;
  for (const auto& served : tables) {
    if (served.store == nullptr || !served.outbox || !served.rules) {
      return Error{Code::config_invalid, "table " + quoted(served.table.str()) +
                                             ": store, outbox and rules must be given"};
    }
    if (!names.insert(served.table.str()).second) {
      return Error{Code::config_invalid, "table " + quoted(served.table.str()) +
                                             " is served twice; names in paths must differ"};
    }
  }
  if (metrics == nullptr || audit == nullptr || log == nullptr || clock == nullptr) {
    return Error{Code::config_invalid,
                 "metrics, audit, log and clock must not be null; leave them out for none"};
  }
  if (hub && hub->store == nullptr) {
    return Error{Code::config_invalid, "hub: its store must be given"};
  }
  return {};
}

Api::Api(ApiOptions options, std::unique_ptr<KeyRing> keys)
    : options_(std::move(options)),
      keys_(std::move(keys)),
      readiness_(options_.ready, *options_.clock),
      hub_watch_(options_.ready, *options_.clock),
      replies_(options_.saga_replies, *options_.clock) {
  for (const auto& table : options_.tables) {
    writers_.push_back(std::make_unique<GroupWriter>(*table.store, table.outbox, options_.writing));
    keep_keys_of(*table.store);
  }
  if (options_.hub) keep_keys_of(*options_.hub->store);
}

void Api::keep_keys_of(Store& store) {
  auto* const keys_kept = store.idempotency();
  auto& keyed = keyed_writes_[&store];
  if (options_.idempotency && keys_kept != nullptr && !keyed) {
    keyed = std::make_unique<KeyedWrites>(*keys_kept, *options_.idempotency, *options_.log);
  }
}

Api::~Api() = default;

std::optional<Response> Api::refused_to_pages(const Request& request) const {
  if (keys_) return std::nullopt;
  const auto host = host_of(request.header("host"));
  if (!is_loopback_name(host)) {
    return problem(denied("Host " + quoted(host) +
                          " is not this machine; without keys ask localhost or 127.0.0.1"));
  }
  const auto origin = request.header("origin");
  const auto site = request.header("sec-fetch-site");
  const auto scheme_end = origin.find("://");
  const bool own_page = origin.empty() || (scheme_end != std::string_view::npos &&
                                           origin.substr(scheme_end + 3) == request.header("host"));
  if (!own_page || site == "cross-site") {
    return problem(denied("web pages of other origins may not use this API"));
  }
  return std::nullopt;
}

std::variant<Caller, Response> Api::caller_of(const Request& request, Needs needs) {
  if (auto refused = refused_to_pages(request)) return std::move(*refused);
  if (needs == Needs::nothing || !keys_) return Caller{.actor = "local"};
  const auto header = request.header("authorization");
  if (header.empty()) {
    return unauthorised("no key given; send Authorization: Bearer sbx_…");
  }
  if (!header.starts_with(bearer)) {
    return unauthorised("the Authorization header must read: Bearer sbx_…");
  }
  const auto key = keys_->find(header.substr(bearer.size()));
  if (!key) return unauthorised("this key is not known, or was revoked");
  if (!may(key->role, needs)) {
    return problem(denied("this needs the role " + std::string(needed_role(needs)) + "; key " +
                          quoted(key->id) + " has " + std::string(role_name(key->role))));
  }
  return Caller{.actor = "key " + key->id + " (" + key->name + ")",
                .key_id = key->id,
                .role = key->role,
                .tenant = key->tenant,
                .payloads = key->payloads};
}

KeyedWrites* Api::keyed_writes_of(const RouteMatch& match) const {
  if (match.route->writes() && match.route->of_hub() && options_.hub) {
    if (match.route->answers_secret()) return nullptr;
    return keyed_writes_.at(options_.hub->store).get();
  }
  const auto* const table = match.route->writes() ? find_table(match) : nullptr;
  return table == nullptr ? nullptr : keyed_writes_.at(table->store).get();
}

bool Api::lacks_key(const Request& request, const RouteMatch& match) const {
  // Sagas use ids of commands instead.
  return options_.idempotency && options_.idempotency->required && match.route->writes() &&
         !match.route->path.starts_with("/v1/sagas") && request.header("idempotency-key").empty();
}

void Api::call_once(const Request& request, const RouteMatch& match, const Caller& caller,
                    const Reply& reply) {
  auto* const keyed = keyed_writes_of(match);
  if (lacks_key(request, match)) {
    return reply(problem({Code::request_invalid,
                          "Idempotency-Key: missing, and this request needs one; give 1 to 255 "
                          "printable ASCII characters, for instance a UUID, with or without "
                          "quotes"}));
  }
  if (keyed == nullptr) return call(request, match, caller, {}, reply);
  auto begun = keyed->begin(request, caller);
  if (auto* const answer = std::get_if<Response>(&begun)) return reply(std::move(*answer));
  const auto& pass = std::get<HttpIdempotency::Pass>(begun);
  const auto keeping = keyed->keeping(pass, reply);
  try {
    call(request, match, caller, pass, keeping);
  } catch (const std::exception& thrown) {
    keeping(unforeseen(match, thrown));
  }
}

void Api::call(const Request& request, const RouteMatch& match, const Caller& caller,
               const HttpIdempotency::Pass& pass, const Reply& reply) {
  Call call{.options = options_,
            .readiness = readiness_,
            .hub_watch = hub_watch_,
            .saga_waits = saga_waits_,
            .reply_waits = reply_waits_,
            .replies = replies_,
            .request = request,
            .caller = caller,
            .names = match.names,
            .pass = pass.key ? &pass : nullptr};
  if (const auto* const table = find_table(match)) {
    call.table = table;
    call.writer = writers_[static_cast<std::size_t>(table - options_.tables.data())].get();
    call.names.erase(call.names.begin());
  }
  if (match.route->begin != nullptr) return match.route->begin(call, reply);
  auto answer = match.route->answer(call);
  if (answer.ok()) return reply(std::move(*answer));
  const auto& error = answer.error();
  if (http_status_of(error.code) >= 500) {
    options_.log->log(LogLevel::error, "request failed",
                      {{"operation", match.route->operation},
                       {"code", code_name(error.code)},
                       {"error", std::string_view(error.message)}});
  }
  reply(problem(error, caller.tenant ? Detail::own_faults : Detail::full));
}

const ServedTable* Api::find_table(const RouteMatch& match) const {
  if (match.route->path.find("{table}") == std::string_view::npos) return nullptr;
  const auto found = std::ranges::find_if(options_.tables, [&](const ServedTable& table) {
    return table.table.str() == match.names.front();
  });
  return found == options_.tables.end() ? nullptr : &*found;
}

std::optional<Response> Api::refused_by_route(const Request& request,
                                              const RouteMatch& match) const {
  if (match.route == nullptr) return no_route(request, match);
  const bool of_table = match.route->path.find("{table}") != std::string_view::npos;
  if (of_table && find_table(match) == nullptr) {
    return not_found("table " + quoted(match.names.front()) +
                     " is not served here; /v1/tables lists those that are");
  }
  if (match.route->by_token) {
    if (auto refused = refused_token(request)) return refused;
  }
  return wrong_content(request);
}

std::optional<Response> Api::refused_token(const Request& request) const {
  if (auto claim = replies_.claim(request.header(reply_token_header)); !claim.ok()) {
    return problem(claim.error());
  }
  const auto length = request.header("content-length");
  std::size_t bytes = 0;
  const auto read = std::from_chars(length.data(), length.data() + length.size(), bytes);
  const auto bytes_max = replies_.options().body_bytes_max;
  // A chunked body has no length, and is measured when it is complete.
  const bool known = read.ec == std::errc() && !length.empty();
  if ((known ? bytes : request.body.size()) <= bytes_max) return std::nullopt;
  return problem(
      {Code::request_too_large, "a reply has at most " + std::to_string(bytes_max) + " bytes"});
}

Response Api::unforeseen(const RouteMatch& match, const std::exception& thrown) const {
  const auto operation = match.route == nullptr ? "none" : match.route->operation;
  options_.log->log(LogLevel::error, "request failed",
                    {{"operation", operation}, {"error", std::string_view(thrown.what())}});
  return problem({Code::unknown_internal, "something unforeseen; the log has more"});
}

Admission Api::admit(const Request& header) {
  Admission admission;
  RouteMatch matched;
  try {
    matched = match(header, options_);
    const auto* const route = matched.route;
    if (route != nullptr) admission.operation = route->operation;
    auto caller = caller_of(header, route == nullptr ? Needs::read : route->needs);
    // A caller without access is not told which paths exist, either.
    if (auto* const refused = std::get_if<Response>(&caller)) {
      admission.refused = std::move(*refused);
      return admission;
    }
    admission.key_id = std::get<Caller>(caller).key_id;
    admission.refused = refused_by_route(header, matched);
    // The store is queried for an idempotency key.
    const bool keyed = route != nullptr && !header.header("idempotency-key").empty() &&
                       !admission.refused && keyed_writes_of(matched) != nullptr;
    if (route != nullptr && !keyed && (route->brief || route->begin != nullptr)) {
      admission.brief_bytes_max = options_.brief_bytes_max;
    }
  } catch (const std::exception& thrown) {
    admission.refused = unforeseen(matched, thrown);
  }
  return admission;
}

void Api::begin(const Request& request, const Reply& reply) {
  RouteMatch matched;
  try {
    matched = match(request, options_);
    const auto needs = matched.route == nullptr ? Needs::read : matched.route->needs;
    auto caller = caller_of(request, needs);
    if (auto* const refused = std::get_if<Response>(&caller)) return reply(std::move(*refused));
    if (auto refused = refused_by_route(request, matched)) return reply(std::move(*refused));
    call_once(request, matched, std::get<Caller>(caller), reply);
  } catch (const std::exception& thrown) {
    reply(unforeseen(matched, thrown));
  }
}

Response Api::handle(const Request& request) {
  std::promise<Response> answered;
  begin(request, [&](Response response) { answered.set_value(std::move(response)); });
  return answered.get_future().get();
}

}  // namespace sagabox::server
