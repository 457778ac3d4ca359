#include "core/ascii.hpp"
#include "core/http_status.hpp"
#include "core/text.hpp"
#include "idempotency/repeats.hpp"
#include "observe/metric_names.hpp"

#include <sagabox/idempotency_http.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace sagabox {
namespace {

constexpr std::string_view what_a_key_is =
    "give 1 to 255 printable ASCII characters, for instance a UUID, with or without quotes";

Error wrong_key(std::string_view problem) {
  return {Code::request_invalid,
          "Idempotency-Key: " + std::string(problem) + "; " + std::string(what_a_key_is)};
}

constexpr bool is_printable(char c) noexcept { return c > ' ' && c <= '~'; }

/// Each part with its length, so that no two requests are the same text.
void put_part(std::string& text, std::string_view part) {
  text += std::to_string(part.size());
  text += ':';
  text += part;
}

Digest hash_of(const HttpKeyedRequest& request) {
  std::string text;
  text.reserve(request.method.size() + request.target.size() + request.body.size() + 32);
  put_part(text, request.method);
  put_part(text, request.target);
  put_part(text, request.body);
  return sha256(text);
}

/// The status, a line a header, an empty line, the body.
std::string kept_text(const HttpAnswer& answer) {
  std::string text = std::to_string(answer.status) + "\n";
  for (const auto& [name, value] : answer.headers) {
    text += name;
    text += ": ";
    text += value;
    text += '\n';
  }
  text += '\n';
  text += answer.body;
  return text;
}

std::optional<HttpAnswer> answer_from(std::string_view text) {
  const auto take_line = [&]() -> std::optional<std::string_view> {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const auto line = text.substr(0, end);
    text.remove_prefix(end + 1);
    return line;
  };
  HttpAnswer answer;
  const auto status = take_line();
  if (!status) return std::nullopt;
  const auto* const end = status->data() + status->size();
  const auto [read_to, error] = std::from_chars(status->data(), end, answer.status);
  if (error != std::errc() || read_to != end) return std::nullopt;
  for (;;) {
    const auto line = take_line();
    if (!line) return std::nullopt;
    if (line->empty()) break;
    const auto colon = line->find(": ");
    if (colon == std::string_view::npos) return std::nullopt;
    answer.headers.emplace_back(line->substr(0, colon), line->substr(colon + 2));
  }
  answer.body = text;
  return answer;
}

/// "Not now": another try may be answered otherwise.
bool is_for_now(unsigned status) noexcept {
  constexpr std::array repeatable{408U, 409U, 425U, 429U};
  return status >= 500 || std::ranges::find(repeatable, status) != repeatable.end();
}

bool fits_a_line(const HttpAnswer& answer) {
  return std::ranges::all_of(answer.headers, [](const auto& header) {
    return header.first.find_first_of("\n:") == std::string::npos &&
           header.second.find('\n') == std::string::npos;
  });
}

/// Says how long the body is, what form, part or version of something it is, or what it hashes to.
bool describes_the_body(std::string_view header) {
  constexpr std::array<std::string_view, 15> names{
      "content-digest",    "content-disposition",
      "content-encoding",  "content-language",
      "content-length",    "content-location",
      "content-md5",       "content-range",
      "content-type",      "etag",
      "last-modified",     "digest",
      "repr-digest",       "trailer",
      "transfer-encoding",
  };
  return std::ranges::any_of(
      names, [&](std::string_view name) { return std::ranges::equal(header, name, {}, lower); });
}

/// Without what is too large, for those who ask again.
HttpAnswer shortened(const HttpAnswer& answer) {
  HttpAnswer kept{.status = answer.status};
  for (const auto& header : answer.headers) {
    if (!describes_the_body(header.first)) kept.headers.push_back(header);
  }
  kept.headers.emplace_back("Content-Type", "application/json");
  kept.body = R"({"detail":"done before; the answer was too large to be kept"})";
  return kept;
}

/// nullopt: it cannot be kept.
std::optional<std::string> kept_within(const HttpAnswer& answer, std::size_t bytes_max) {
  if (!fits_a_line(answer)) return std::nullopt;
  auto text = kept_text(answer);
  if (text.size() > bytes_max) text = kept_text(shortened(answer));
  if (text.size() > bytes_max) return std::nullopt;
  return text;
}

constexpr bool is_of_a_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

}  // namespace

Status HttpIdempotencyOptions::check() const {
  const auto wrong = [](std::string_view what) {
    return Error{Code::config_invalid, std::string(what)};
  };
  if (service.empty() || service.size() > 32 || !std::ranges::all_of(service, is_of_a_name)) {
    return wrong("service must have 1 to 32 letters, digits, _ and -; it is part of every key");
  }
  if (lease <= Duration::zero()) return wrong("lease must be more than 0; give for instance 2m");
  if (ttl < lease) return wrong("ttl must be at least as long as lease; give for instance 24h");
  if (metrics == nullptr) return wrong("metrics must not be null; leave it out for none");
  return {};
}

HttpIdempotency::HttpIdempotency(spi::IdempotencyStore& store, HttpIdempotencyOptions options,
                                 Random& random)
    : store_(store),
      options_((options.check().value(), std::move(options))),
      random_(random),
      hits_(options_.metrics->counter(metric::idempotency_hits_total,
                                      {{"consumer", options_.service}})),
      busy_(conflicts("busy")),
      mismatch_(conflicts("mismatch")),
      runs_succeeded_(runs("succeeded")),
      runs_released_(runs("released")),
      runs_lost_(runs("lost")) {}

Counter& HttpIdempotency::conflicts(std::string_view reason) {
  return options_.metrics->counter(metric::idempotency_conflicts_total,
                                   {{"consumer", options_.service}, {"reason", reason}});
}

Counter& HttpIdempotency::runs(std::string_view result) {
  return options_.metrics->counter(metric::idempotency_runs_total,
                                   {{"consumer", options_.service}, {"result", result}});
}

Error HttpIdempotency::refused(const IdempotencyRecord& record, const Digest& hash) {
  if (record.request_hash != hash) {
    mismatch_.increment();
    return {Code::tx_idempotent_mismatch,
            "Idempotency-Key: it was used for another request; give each request a key of its own"};
  }
  if (record.state == IdempotencyState::in_flight) {
    busy_.increment();
    return {Code::tx_idempotent_busy,
            "this request is being worked on; ask again with the same key"};
  }
  hits_.increment();
  return {Code::tx_idempotent_hit,
          "this request was done before, but its answer could not be kept; look at what it did"};
}

Result<HttpIdempotency::Begun> HttpIdempotency::begin(const HttpKeyedRequest& request) {
  if (request.keys.empty()) {
    if (!options_.required) return Begun(Pass{});
    return wrong_key("missing, and this request needs one");
  }
  if (request.keys.size() > 1) return wrong_key("given more than once");
  auto key = parse_idempotency_key(request.keys.front());
  if (!key.ok()) return key.error();

  spi::IdempotencyCheck check{.key = {.tenant = request.tenant,
                                      .consumer = options_.service + ":" + request.caller,
                                      .key = std::move(*key)},
                              .request_hash = hash_of(request),
                              // Databases count up to 2^63.
                              .ticket = {random_.next() >> 1U},
                              .lease = options_.lease,
                              .ttl = options_.ttl};
  if (auto valid = check.key.check(); !valid.ok()) return valid.error();
  const auto replies = idempotency::with_repeats(
      *options_.clock, [&] { return store_.check(std::span(&check, 1)); });
  if (!replies.ok()) return replies.error();
  const auto& reply = replies->front();
  if (reply.taken) {
    return Begun(Pass{.key = std::move(check.key),
                      .ticket = check.ticket,
                      .request_hash = check.request_hash,
                      .first_at = reply.record.created_at});
  }
  const auto& record = reply.record;
  if (record.request_hash == check.request_hash && record.result) {
    if (auto answer = answer_from(*record.result)) {
      hits_.increment();
      return Begun(std::move(*answer));
    }
  }
  return refused(record, check.request_hash);
}

Status HttpIdempotency::finish(const Pass& pass, const HttpAnswer& answer) {
  const Answered one{pass, answer};
  return finish(std::span(&one, 1)).front();
}

std::vector<Status> HttpIdempotency::finish(std::span<const Answered> answered) {
  std::vector<Status> statuses(answered.size());
  std::vector<spi::IdempotencyFinish> finished;
  std::vector<spi::IdempotencyFail> released;
  std::vector<std::size_t> finished_at;
  std::vector<std::size_t> released_at;
  for (std::size_t at = 0; at < answered.size(); ++at) {
    const auto& [pass, answer] = answered[at];
    if (!pass.key) continue;
    if (is_for_now(answer.status)) {
      released.push_back({.key = *pass.key,
                          .ticket = pass.ticket,
                          .final = false,
                          .code = Code::tx_handler_failed,
                          .error = "status " + std::to_string(answer.status)});
      released_at.push_back(at);
    } else {
      auto kept = kept_within(answer, options_.answer_bytes_max);
      const auto digest = sha256(answer.body);
      finished.push_back({.key = *pass.key,
                          .ticket = pass.ticket,
                          .result = std::move(kept),
                          .result_digest = digest});
      finished_at.push_back(at);
    }
  }
  const auto note = [&](const Result<std::vector<bool>>& kept,
                        const std::vector<std::size_t>& places, Counter& counted) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!kept.ok()) {
        statuses[places[i]] = kept.error();
      } else if ((*kept)[i]) {
        counted.increment();
      } else {
        runs_lost_.increment();
        statuses[places[i]] =
            Error{Code::tx_lease_lost,
                  "the lease of " + duration_text(options_.lease) +
                      " ran out before the answer was there, and the request was let through "
                      "again; give a longer lease"};
      }
    }
  };
  using idempotency::with_repeats;
  if (!finished.empty()) {
    note(with_repeats(*options_.clock, [&] { return store_.finish(finished); }), finished_at,
         runs_succeeded_);
  }
  if (!released.empty()) {
    note(with_repeats(*options_.clock, [&] { return store_.fail(released); }), released_at,
         runs_released_);
  }
  return statuses;
}

HttpAnswer http_problem(const Error& error) {
  const auto status = http_status_of(error.code);
  HttpAnswer answer{.status = status, .headers = {{"Content-Type", "application/problem+json"}}};
  if (error.code == Code::tx_idempotent_busy || status == 503) {
    answer.headers.emplace_back("Retry-After", "1");
  }
  const auto detail = status < 500 ? std::string_view(error.message) : public_message(error.code);
  answer.body =
      boost::json::serialize(boost::json::object{{"title", public_message(error.code)},
                                                 {"status", status},
                                                 {"code", code_name(error.code)},
                                                 {"detail", detail},
                                                 {"retryable", is_retry_safe(error.code)}});
  return answer;
}

Result<std::string> parse_idempotency_key(std::string_view value) {
  std::string key;
  if (value.starts_with('"')) {
    if (value.size() < 2 || !value.ends_with('"')) return wrong_key("its closing quote is missing");
    value = value.substr(1, value.size() - 2);
    for (std::size_t at = 0; at < value.size(); ++at) {
      if (value[at] == '"') return wrong_key("something follows its closing quote");
      if (value[at] == '\\' && (++at == value.size() || (value[at] != '"' && value[at] != '\\'))) {
        return wrong_key("a backslash in it must be followed by a quote or a backslash");
      }
      key += value[at];
    }
  } else {
    key = value;
  }
  if (key.empty()) return wrong_key("empty");
  if (key.size() > IdempotencyKey::key_length_max) {
    return wrong_key(std::to_string(key.size()) + " characters");
  }
  const auto bad = std::ranges::find_if_not(key, is_printable);
  if (bad != key.end()) {
    return wrong_key("character " + std::to_string(bad - key.begin() + 1) + " is not allowed");
  }
  return key;
}

}  // namespace sagabox
