#include "wire/sagas.hpp"

#include "core/http_status.hpp"
#include "core/text.hpp"
#include "server/api/arguments.hpp"
#include "server/api/json_response.hpp"
#include "server/api/operations.hpp"
#include "server/api/problem.hpp"
#include "server/api/query.hpp"
#include "server/api/store_choice.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

namespace sagabox::server::operations {
namespace {

constexpr std::uint32_t wait_ms_max = 5000;

Response no_saga(const Call& call) {
  return not_found("saga " + quoted(call.names.at(0)) + " is not there");
}

Result<SagaId> saga_id_from(const Call& call) {
  auto id = SagaId::parse(call.names.at(0));
  if (!id.ok()) return Error{Code::request_invalid, "id: " + id.error().message};
  return id;
}

Result<SagaAdmin> admin_of_sagas(const Call& call, Store& store) {
  return SagaAdmin::open(store, {.actor = call.caller.actor,
                                 .tenant = call.caller.tenant,
                                 .metrics = call.options.metrics,
                                 .audit = call.options.audit,
                                 .log = call.options.log,
                                 .clock = call.options.clock});
}

/// The store named by the request, after everything else of it was read.
template <class Given>
Result<SagaAdmin> admin_for(const Call& call, Given& given) {
  const auto store = store_of(call, given);
  if (auto status = given.status(); !status.ok()) return status.error();
  if (!store.ok()) return store.error();
  return admin_of_sagas(call, **store);
}

std::optional<SagaLabel> label_from(Query& query) {
  const auto text = query.maybe_text("label");
  if (!text) return std::nullopt;
  const auto equals = text->find('=');
  if (equals == 0 || equals == std::string::npos) {
    query.wrong("label", quoted(*text) + "; give NAME=VALUE");
    return std::nullopt;
  }
  return SagaLabel{text->substr(0, equals), text->substr(equals + 1)};
}

std::optional<bool> flag_from(Query& query, std::string_view name) {
  const auto text = query.maybe_text(name);
  if (!text) return std::nullopt;
  if (*text != "true" && *text != "false")
    query.wrong(name, quoted(*text) + "; give true or false");
  return *text == "true";
}

/// How long the answer may wait for the owner of the saga.
Duration wait_from(Query& query) {
  const auto wait = query.count("wait_ms", 0, wait_ms_max);
  return wait ? std::chrono::milliseconds(*wait) : SagaAdmin::answer_wait;
}

/// How long a request waits for the owner of a saga: not at all if the maximum of requests waits
/// already.
class OwnerWait {
 public:
  static OwnerWait of_act(const Call& call, Duration wanted) {
    return OwnerWait(call.saga_waits, call.options.saga_waits_max, wanted);
  }
  static OwnerWait of_reply(const Call& call, Duration wanted) {
    return OwnerWait(call.reply_waits, call.options.reply_waits_max, wanted);
  }
  ~OwnerWait() { --waits_; }
  OwnerWait(const OwnerWait&) = delete;
  OwnerWait& operator=(const OwnerWait&) = delete;

  [[nodiscard]] Duration duration() const noexcept { return duration_; }

 private:
  OwnerWait(std::atomic<std::uint32_t>& waits, std::uint32_t waits_max, Duration wanted)
      : waits_(waits), duration_(waits_++ < waits_max ? wanted : Duration{}) {}

  std::atomic<std::uint32_t>& waits_;
  const Duration duration_;
};

/// The same id for the same key of the same caller on the same path, so that a repeated command is
/// applied once.
CommandId command_of(const Call& call, const std::string& key) {
  constexpr std::size_t digits = 32;
  std::string text;
  const auto path = call.request.target.substr(0, call.request.target.find('?'));
  for (const auto& part : {call.caller.key_id, call.caller.tenant.value_or(""), path, key}) {
    text += std::to_string(part.size()) + ":" + part;
  }
  return CommandId::parse("k" + hex(sha256(text)).substr(0, digits)).value();
}

Response answered(const SagaReceipt& answer, unsigned status_applied) {
  auto response = ok_with(answer);
  response.status = answer.applied ? status_applied : 202;
  return response;
}

/// The same id for the same key, call and answer: attempts of a call share its token, and
/// participants may use its Idempotency-Key for different answers.
CommandId reply_command_of(const saga::ReplyClaim& claim, const std::string& key,
                           std::string_view body) {
  constexpr std::size_t digits = 32;
  std::string text;
  for (const auto& part :
       {claim.saga.str(), claim.step, std::string(barrier_direction_name(claim.direction)),
        std::to_string(claim.round), key, hex(sha256(body))}) {
    text += std::to_string(part.size()) + ":" + part;
  }
  return CommandId::parse("t" + hex(sha256(text)).substr(0, digits)).value();
}

/// The result of a reply, for callers without an API key: a step that is no longer current is not
/// an error, and its saga may be gone.
Response taken(const Call& call, const Result<SagaReceipt>& receipt) {
  const auto said = [](std::string_view result, unsigned status) {
    auto response = ok_with(wire::SagaReplyTaken{result});
    response.status = status;
    return response;
  };
  if (receipt.ok()) return receipt->applied ? said("applied", 200) : said("pending", 202);
  const auto code = receipt.error().code;
  const bool late = code == Code::tx_invalid_state || code == Code::request_not_found;
  if (late) return said("ignored", 200);
  if (http_status_of(code) >= 500) {
    call.options.log->log(LogLevel::error, "request failed",
                          {{"operation", "replyToSaga"},
                           {"code", code_name(code)},
                           {"error", std::string_view(receipt.error().message)}});
  }
  return problem(receipt.error(), Detail::own_faults);
}

template <class Value>
Result<Response> page_of(const Result<std::vector<Value>>& all) {
  if (!all.ok()) return all.error();
  return ok_with(std::span<const Value>(*all));
}

}  // namespace

Result<Response> list_sagas(const Call& call) {
  Query query(call.request.target);
  SagaQuery wanted{.tenant = query.maybe_text("tenant"),
                   .definition = query.maybe_text("definition"),
                   .quarantined = flag_from(query, "quarantined"),
                   .label = label_from(query),
                   .key = query.maybe_text("key"),
                   .started_from = query.time("from"),
                   .started_to = query.time("until")};
  if (const auto name = query.maybe_text("state")) {
    wanted.state = saga_state_from_name(*name);
    if (!wanted.state) {
      query.wrong("state", quoted(*name) +
                               "; give running, compensating, paused, completed, cancelled or "
                               "failed");
    }
  }
  wanted.rows_max = static_cast<std::uint32_t>(
      query.count("limit", 1, SagaAdmin::rows_max).value_or(wanted.rows_max));
  wanted.cursor = query.text("cursor");
  const auto admin = admin_for(call, query);
  if (!admin.ok()) return admin.error();
  const auto page = admin->list(wanted);
  if (!page.ok()) return page.error();
  return ok_with(*page);
}

Result<Response> count_sagas(const Call& call) {
  Query query(call.request.target);
  const auto admin = admin_for(call, query);
  if (!admin.ok()) return admin.error();
  return page_of(admin->count());
}

Result<Response> get_saga(const Call& call) {
  Query query(call.request.target);
  const bool payload = query.flag("payload");
  const auto id = saga_id_from(call);
  if (!id.ok()) return id.error();
  const auto admin = admin_for(call, query);
  if (!admin.ok()) return admin.error();
  if (payload && !call.caller.payloads) {
    return Error{Code::auth_denied,
                 "this key may not see payloads; leave payload=true out, or use a key that was "
                 "made with --payloads"};
  }
  const auto found = admin->show(*id, payload ? Admin::PayloadToo::yes : Admin::PayloadToo::no);
  if (!found.ok()) return found.error();
  if (!*found) return no_saga(call);
  return ok_with(**found);
}

Result<Response> get_saga_history(const Call& call) {
  Query query(call.request.target);
  const auto after = query.count("after", 0, std::numeric_limits<std::uint32_t>::max()).value_or(0);
  const auto limit = query.count("limit", 1, SagaAdmin::rows_max).value_or(100);
  const bool verify = query.flag("verify");
  const auto id = saga_id_from(call);
  if (!id.ok()) return id.error();
  const auto admin = admin_for(call, query);
  if (!admin.ok()) return admin.error();
  const auto found = admin->history(*id, static_cast<std::uint32_t>(after),
                                    static_cast<std::uint32_t>(limit), verify);
  if (!found.ok()) return found.error();
  if (!*found) return no_saga(call);
  return ok_with(**found);
}

namespace {

/// What this process found when it looked at the saga goes first: the store does not know it.
void add_finding(const Call& call, const SagaId& id, SagaExplanation& explanation) {
  std::vector<SagaFinding> findings;
  for (const auto& table : call.options.tables) {
    if (findings.empty() && call.options.saga_findings) {
      findings = call.options.saga_findings(*table.store);
    }
  }
  for (const auto& finding : findings) {
    if (finding.saga != id) continue;
    std::erase_if(explanation.reasons,
                  [](const SagaReason& reason) { return reason.why == SagaWhy::with_owner; });
    const auto why =
        finding.code == Code::config_invalid ? SagaWhy::definition_gone : SagaWhy::unreadable;
    explanation.reasons.insert(explanation.reasons.begin(), {why, {}, finding.text});
    return;
  }
}

}  // namespace

Result<Response> explain_saga(const Call& call) {
  Query query(call.request.target);
  const auto id = saga_id_from(call);
  if (!id.ok()) return id.error();
  const auto admin = admin_for(call, query);
  if (!admin.ok()) return admin.error();
  auto explanation = admin->explain(*id);
  if (!explanation.ok()) return explanation.error();
  if (!*explanation) return no_saga(call);
  add_finding(call, *id, **explanation);
  return ok_with(**explanation);
}

Result<Response> list_saga_commands(const Call& call) {
  Query query(call.request.target);
  const auto limit = query.count("limit", 1, SagaAdmin::rows_max).value_or(100);
  const auto id = saga_id_from(call);
  if (!id.ok()) return id.error();
  const auto admin = admin_for(call, query);
  if (!admin.ok()) return admin.error();
  return page_of(admin->pending(*id, static_cast<std::uint32_t>(limit)));
}

Result<Response> list_saga_definitions(const Call& call) {
  Query query(call.request.target);
  const auto name = query.maybe_text("name");
  if (name && name->empty()) query.wrong("name", "is empty; give one, or leave it out");
  const auto admin = admin_for(call, query);
  if (!admin.ok()) return admin.error();
  auto definitions = admin->definitions(name.value_or(""));
  if (!definitions.ok()) return definitions.error();
  // Addresses of participants are only for operators.
  if (call.caller.tenant) {
    for (auto& definition : *definitions) definition.text.clear();
  }
  return page_of(definitions);
}

Result<Response> define_saga(const Call& call) {
  auto fields = Fields::parse(call.request.body);
  if (!fields.ok()) return fields.error();
  const auto text = fields->raw("definition");
  if (!text) fields->wrong("definition", "missing; give the definition as a JSON object");
  auto admin = admin_for(call, *fields);
  if (!admin.ok()) return admin.error();
  const auto definition = SagaDefinition::from_json(*text, "definition");
  if (!definition.ok()) return Error{Code::request_invalid, definition.error().message};
  const auto stored = admin->define(*definition);
  if (!stored.ok()) {
    const bool wrong = stored.error().code == Code::config_invalid;
    return wrong ? Error{Code::request_invalid, stored.error().message} : stored.error();
  }
  auto response = ok_with(*stored);
  response.status = 201;
  return response;
}

Result<Response> start_saga(const Call& call) {
  Query query(call.request.target);
  const auto wait = wait_from(query);
  if (auto status = query.status(); !status.ok()) return status.error();
  auto fields = Fields::parse(call.request.body);
  if (!fields.ok()) return fields.error();
  auto order = wire::read_saga_start(*fields);
  auto admin = admin_for(call, *fields);
  if (!admin.ok()) return admin.error();
  const auto key = idempotency_key_of(call.request);
  if (!key.ok()) return key.error();
  if (!key->empty() && !order.key.empty() && *key != order.key) {
    return Error{Code::request_invalid,
                 "key: differs from the header Idempotency-Key; give one of them"};
  }
  if (!key->empty()) order.key = *key;
  if (order.traceparent.empty()) order.traceparent = call.request.header("traceparent");
  const auto waiting = OwnerWait::of_act(call, wait);
  const auto answer = admin->start(order, waiting.duration());
  if (!answer.ok()) return answer.error();
  auto response = answered(*answer, 201);
  response.headers.emplace_back("Location", "/v1/sagas/" + percent_encoded(answer->saga.view()));
  return response;
}

Result<Response> command_saga(const Call& call) {
  Query query(call.request.target);
  const auto wait = wait_from(query);
  if (auto status = query.status(); !status.ok()) return status.error();
  const auto id = saga_id_from(call);
  if (!id.ok()) return id.error();
  auto fields = Fields::parse(call.request.body);
  if (!fields.ok()) return fields.error();
  auto order = wire::read_saga_order(*fields);
  order.saga = *id;
  auto admin = admin_for(call, *fields);
  if (!admin.ok()) return admin.error();
  const auto key = idempotency_key_of(call.request);
  if (!key.ok()) return key.error();
  if (!key->empty() && !order.command) order.command = command_of(call, *key);
  const auto waiting = OwnerWait::of_act(call, wait);
  const auto answer = admin->act(order, waiting.duration());
  if (!answer.ok()) return answer.error();
  return answered(*answer, 200);
}

Result<Response> reply_to_saga(const Call& call) {
  Query query(call.request.target);
  const auto wait = wait_from(query);
  if (auto status = query.status(); !status.ok()) return status.error();
  const auto claim = call.replies.claim(call.request.header(reply_token_header));
  if (!claim.ok()) return claim.error();
  const auto& body = call.request.body;
  auto fields = Fields::parse(body.empty() ? std::string_view("{}") : std::string_view(body));
  if (!fields.ok()) return fields.error();
  SagaOrder order{.saga = claim->saga,
                  .kind = SagaCommandKind::reply,
                  .reply = wire::read_saga_result(*fields)};
  if (auto status = fields->status(); !status.ok()) return status.error();
  const auto key = idempotency_key_of(call.request);
  if (!key.ok()) return key.error();
  if (!call.replies.enter(*claim)) {
    return problem(429, {Code::server_busy, "too many replies at once; come back"});
  }
  order.reply.step = claim->step;
  order.reply.compensation = claim->direction == BarrierDirection::compensation;
  order.reply.round = claim->round;
  if (!key->empty()) order.command = reply_command_of(*claim, *key, body);
  auto admin = SagaAdmin::open(*call.replies.options().store, {.actor = "reply token",
                                                               .tenant = claim->tenant,
                                                               .metrics = call.options.metrics,
                                                               .audit = call.options.audit,
                                                               .log = call.options.log,
                                                               .clock = call.options.clock});
  if (!admin.ok()) return admin.error();
  const auto waiting = OwnerWait::of_reply(call, wait);
  return taken(call, admin->act(order, waiting.duration()));
}

Result<Response> purge_sagas(const Call& call) {
  constexpr std::uint64_t age_max = 100ULL * 366 * 24 * 3600;
  auto fields = Fields::parse(call.request.body);
  if (!fields.ok()) return fields.error();
  const auto definition = fields->text("definition");
  const auto age = fields->count("older_than_seconds", 0, age_max);
  if (definition.empty()) fields->wrong("definition", "missing; say whose sagas are removed");
  if (!age)
    fields->wrong("older_than_seconds", "missing; 0 is all that completed or were cancelled");
  auto admin = admin_for(call, *fields);
  if (!admin.ok()) return admin.error();
  const auto purged = admin->purge(definition, std::chrono::seconds(*age));
  if (!purged.ok()) return purged.error();
  return ok_with(wire::SagasPurged{*purged});
}

}  // namespace sagabox::server::operations
