#include "server/api/openapi_document.hpp"
#include "wire/filters.hpp"
#include "wire/hub.hpp"
#include "wire/idempotency.hpp"
#include "wire/messages.hpp"
#include "wire/problems.hpp"
#include "wire/readiness.hpp"
#include "wire/replays.hpp"
#include "wire/sagas.hpp"
#include "wire/stores.hpp"
#include "wire/tables.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace sagabox::wire {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr WallTime noon{12h};

/// The schemas of the OpenAPI document, held against what is written.
class Schemas {
 public:
  Schemas() {
    const auto text = server::openapi_document();
    document_ = json::parse({text.data(), text.size()});
  }

  /// What is wrong with `text` by the schema of that name; empty: nothing.
  [[nodiscard]] std::string problem(std::string_view schema, const std::string& text) const {
    return problem_of(json::parse(text), named(schema), std::string(schema));
  }
  [[nodiscard]] std::set<std::string> members_of(std::string_view schema) const {
    return keys(named(schema).at("properties").as_object());
  }
  [[nodiscard]] std::set<std::string> required_by(std::string_view schema) const {
    std::set<std::string> names;
    for (const auto& name : named(schema).at("required").as_array()) {
      names.emplace(name.as_string());
    }
    return names;
  }
  static std::set<std::string> keys(const json::object& object) {
    std::set<std::string> names;
    for (const auto& member : object) names.emplace(member.key());
    return names;
  }

 private:
  [[nodiscard]] const json::object& named(std::string_view schema) const {
    return document_.at("components").at("schemas").at({schema.data(), schema.size()}).as_object();
  }

  static bool is(const json::value& value, std::string_view type) {
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_bool();
    if (type == "integer") return value.is_int64() || value.is_uint64();
    if (type == "number") return value.is_number();
    if (type == "array") return value.is_array();
    if (type == "object") return value.is_object();
    return type == "null" && value.is_null();
  }
  static bool is_one_of(const json::value& value, const json::value& types) {
    if (types.is_string()) return is(value, types.as_string());
    return std::ranges::any_of(types.as_array(),
                               [&](const auto& type) { return is(value, type.as_string()); });
  }

  [[nodiscard]] std::string problem_of(const json::value& value, const json::object& schema,
                                       const std::string& where) const {
    if (const auto* ref = schema.if_contains("$ref")) {
      const std::string_view path = ref->as_string();
      return problem_of(value, named(path.substr(path.rfind('/') + 1)), where);
    }
    const auto* const type = schema.if_contains("type");
    if (type != nullptr && !is_one_of(value, *type)) return where + " is of another type";
    if (const auto* const choice = schema.if_contains("enum")) {
      const auto& all = choice->as_array();
      if (std::find(all.begin(), all.end(), value) == all.end()) return where + " is none of enum";
    }
    if (value.is_array()) return problem_of_elements(value.as_array(), schema, where);
    return value.is_object() ? problem_of_members(value.as_object(), schema, where) : "";
  }
  [[nodiscard]] std::string problem_of_elements(const json::array& array,
                                                const json::object& schema,
                                                const std::string& where) const {
    if (!schema.contains("items")) return {};
    for (const auto& element : array) {
      auto problem = problem_of(element, schema.at("items").as_object(), where + "[]");
      if (!problem.empty()) return problem;
    }
    return {};
  }
  [[nodiscard]] std::string problem_of_members(const json::object& object,
                                               const json::object& schema,
                                               const std::string& where) const {
    const auto* const properties = schema.if_contains("properties");
    if (properties == nullptr) return {};
    for (const auto& member : object) {
      const auto name = where + "." + std::string(member.key());
      const auto* const described = properties->as_object().if_contains(member.key());
      if (described == nullptr) return name + " is not described";
      auto problem = problem_of(member.value(), described->as_object(), name);
      if (!problem.empty()) return problem;
    }
    const auto* const required = schema.if_contains("required");
    if (required == nullptr) return {};
    for (const auto& name : required->as_array()) {
      if (!object.contains(name.as_string())) {
        return where + "." + std::string(name.as_string()) + " is required and missing";
      }
    }
    return {};
  }

  json::value document_;
};

template <class... Parts>
std::string written(const Parts&... parts) {
  JsonOut json;
  put(json, parts...);
  return std::move(json).take();
}

/// What is read from `text`, written again.
template <class Record, class Write>
std::string again(const std::string& text, Record (*read)(Fields&), Write write) {
  auto fields = Fields::parse(text).value();
  const auto record = read(fields);
  EXPECT_TRUE(fields.status_of_known().ok()) << text;
  return write(record);
}
template <class Record>
std::string again(const std::string& text, Record (*read)(Fields&)) {
  return again(text, read, [](const Record& record) { return written(record); });
}

class WireSchema : public ::testing::Test {
 protected:
  /// `full` has all that the record may have, `least` nothing that it may leave out: everything
  /// written is described with its type, everything described is written, and what is required is
  /// what is always there. `apart`: members that stand there instead of others.
  void expect_described(std::string_view schema, const std::string& full, const std::string& least,
                        const std::set<std::string>& apart = {}) {
    EXPECT_EQ(schemas_.problem(schema, full), "") << full;
    EXPECT_EQ(schemas_.problem(schema, least), "") << least;
    auto members = Schemas::keys(json::parse(full).as_object());
    members.insert(apart.begin(), apart.end());
    EXPECT_EQ(members, schemas_.members_of(schema)) << schema;
    EXPECT_EQ(Schemas::keys(json::parse(least).as_object()), schemas_.required_by(schema))
        << schema;
  }
  void expect_described(std::string_view schema, const std::string& always) {
    expect_described(schema, always, always);
  }

  static MessageRecord full_record() {
    MessageRecord record{.state = MessageState::quarantined,
                         .id = id("m1"),
                         .sequence = Sequence{7},
                         .shard = Shard{3},
                         .tenant = "acme",
                         .topic = "orders.order.placed.v1",
                         .aggregate_type = "order",
                         .aggregate_id = "17",
                         .key = "customer-17",
                         .payload_bytes = 2,
                         .decode_error = "broken",
                         .attempts = 2,
                         .replays = 1,
                         .written_at = noon,
                         .due = noon,
                         .retrying = true,
                         .ended_at = noon,
                         .code = Code::provider_rejected,
                         .error = "422",
                         .note = "ask the shop"};
    record.history.push_back({1, noon, Code::tx_timeout, "slow"});
    StoredMessage stored{.id = record.id};
    stored.fields = {
        .topic = Topic(record.topic),
        .payload = sagabox::json("{}"),
        .content_type = "application/json",
        .headers = {{"a", "b"}},
        .occurred_at = noon,
        .not_before = noon,
        .trace = {
            .traceparent = "00-1", .tracestate = "a=1", .request_id = "r", .correlation_id = "c"}};
    record.message = std::make_shared<const Message>(Message::restore(std::move(stored)));
    return record;
  }
  static MessageId id(std::string_view text) { return MessageId::parse(text).value(); }

  const Schemas schemas_;
  const TableName orders_ = TableName::parse("orders").value();
  const WorkerId relay_ = WorkerId::parse("relay-a").value();
};

TEST_F(WireSchema, Messages) {
  const auto full = full_record();
  const MessageRecord least{.id = id("m1")};
  expect_described("Message", written(orders_, full), written(orders_, least), {"payload_base64"});
  auto as_bytes = full;
  StoredMessage stored{.id = full.id};
  stored.fields.payload = bytes(std::string("\0\x01", 2));
  as_bytes.message = std::make_shared<const Message>(Message::restore(std::move(stored)));
  EXPECT_EQ(schemas_.problem("Message", written(orders_, as_bytes)), "");
  expect_described("FailedAttempt", written(full.history.front()));
  const auto of_orders = [&](const auto& record) { return written(orders_, record); };
  EXPECT_EQ(again(written(orders_, full), read_message, of_orders), written(orders_, full));
  EXPECT_EQ(again(written(orders_, least), read_message, of_orders), written(orders_, least));
  expect_described("MessagePage", written(orders_, MessagePage{{full, least}, "next"}));
  EXPECT_EQ(schemas_.problem("MessagePage", written(orders_, MessagePage{})), "");
  const BlockedKey key{.key = "k", .head = full, .behind = 3, .more_behind = true};
  expect_described("BlockedKey", written(orders_, key));
  const auto keys = written(orders_, BlockedKeyPage{{key}, "next"});
  expect_described("BlockedKeys", keys);
  EXPECT_EQ(again(keys, read_blocked_keys, of_orders), keys);
}

TEST_F(WireSchema, Explanations) {
  Explanation full{.state = "pending", .owner = "nobody", .next = "start a relay"};
  for (std::size_t why = 0; why < why_count; ++why) {
    full.reasons.push_back({static_cast<Why>(why), "because"});
  }
  const Explanation least{.state = "done", .reasons = {{Why::done, "it is delivered"}}};
  expect_described("Explanation", written(full), written(least));
  expect_described("Reason", written(least.reasons.front()));
}

TEST_F(WireSchema, WhatBecameOfMessages) {
  const Moved full{.id = id("m1"),
                   .was = MessageState::dead,
                   .moved = true,
                   .unclear = true,
                   .text = "is pending again"};
  const Moved least{.id = id("m2"), .text = "is not there"};
  expect_described("Moved", written(full), written(least));
  const auto many = written(std::vector{full, least});
  expect_described("MovedMany", many);
  auto fields = Fields::parse(many).value();
  EXPECT_EQ(written(read_moved(fields)), many);
  const Written message{.id = id("m1"), .sequence = Sequence{7}, .duplicate = true};
  EXPECT_EQ(schemas_.problem("Written", written(orders_, message)), "");
  EXPECT_EQ(schemas_.problem("Written", written(orders_, suppressed)), "");
  auto members = Schemas::keys(json::parse(written(orders_, message)).as_object());
  members.emplace("suppressed");
  EXPECT_EQ(members, schemas_.members_of("Written"));
  const std::vector messages{message};
  expect_described("WrittenBatch",
                   written(orders_, WrittenBatch{.messages = messages, .suppressed = 1}));
}

TEST_F(WireSchema, Replays) {
  const MessageFilter filter{.tenant = "acme",
                             .topic = "t",
                             .aggregate_type = "order",
                             .key = "k",
                             .code = Code::tx_timeout,
                             .from = noon,
                             .until = noon,
                             .first = Sequence{1},
                             .last = Sequence{9}};
  EXPECT_EQ(schemas_.problem("Filter", written(filter)), "");
  EXPECT_EQ(Schemas::keys(json::parse(written(filter)).as_object()), schemas_.members_of("Filter"));
  EXPECT_EQ(written(MessageFilter{}), "{}");
  const ReplayJob least{.table = "orders"};
  auto full = least;
  full.filter = filter;
  full.error = "a batch failed";
  for (const auto state : {ReplayJob::State::running, ReplayJob::State::stopped,
                           ReplayJob::State::finished, ReplayJob::State::failed}) {
    full.state = state;
    expect_described("Replay", written(full), written(least));
  }
  expect_described("Replays", written(std::vector{full, least}));
  EXPECT_EQ(again(written(full), read_job), written(full));
  expect_described("Preview", written(orders_, ReplayPreview{1, 1, {full_record()}}));
}

TEST_F(WireSchema, Tables) {
  const spi::TableStats stats{.oldest_pending = noon,
                              .done_estimated = true,
                              .now = noon,
                              .oldest_transaction = 1500ms,
                              .slot_transactions = 7};
  const RefusedResult refused{.id = id("m1"), .code = Code::storage_conflict, .error = "23505"};
  const TableState least{.table = "orders", .store = "default", .now = noon};
  auto full = least;
  full.stats = stats;
  full.last_sequence = Sequence{9};
  const UnroutedTopic unrouted{
      .aggregate_type = "Order", .topic = "a.b", .since = noon, .until = noon + 1h};
  full.here = {.snapshot = {}, .refused = {refused}, .unrouted = {unrouted}};
  expect_described("Table", written(full), written(least));
  expect_described("Tables", written(std::vector{full, least}));
  expect_described("RefusedResult", written(refused));
  expect_described("UnroutedTopic", written(unrouted));
  EXPECT_EQ(again(written(full), read_table), written(full));
  EXPECT_EQ(again(written(least), read_table), written(least));
  expect_described("TableWork", written(*full.here));
}

TEST_F(WireSchema, OwnersAndWhatIsWrongInATable) {
  const spi::ShardOwner free{.shard = Shard{1}};
  const spi::ShardOwner owned{.owner = relay_, .epoch = Epoch{4}, .lease_left = 2500ms};
  expect_described("ShardOwner", written(owned), written(free));
  const admin::TableOwners full{
      .relays = {{relay_}, {owned, free}}, .replayer = owned, .purger = owned};
  expect_described("Owners", written(full), written(admin::TableOwners{}));
  EXPECT_EQ(again(written(full), read_owners), written(full));
  const spi::Stray stray{.sequence = Sequence{1}, .id = id("m1"), .why = "no shard"};
  expect_described("Stray", written(stray));
  expect_described("Strays", written(std::vector{stray}));
  EXPECT_EQ(again(written(std::vector{stray}), read_strays), written(std::vector{stray}));
  const Pause pause{.topic = "t", .actor = "ann", .note = "deploy", .since = noon};
  expect_described("Pause", written(pause), written(Pause{.since = noon}));
  expect_described("Pauses", written(std::vector{pause}));
  EXPECT_EQ(again(written(std::vector{pause}), read_pauses), written(std::vector{pause}));
  const PauseChange change{.table = orders_, .topic = "t", .paused = true, .changed = true};
  expect_described("PauseChange", written(change), written(PauseChange{.table = orders_}));
  expect_described("Purged", written(orders_, PurgeOrder{}, Purged{}));
  expect_described("Count", written(orders_, MessageState::dead, std::uint64_t{7}));
}

TEST_F(WireSchema, Stores) {
  const StoreState full{.store = "default",
                        .database = "sqlite:a.db",
                        .current = true,
                        .error = "away",
                        .tables = {orders_}};
  expect_described("Store", written(full), written(StoreState{.store = "default"}));
  expect_described("Stores", written(std::vector{full}));
  EXPECT_EQ(again(written(std::vector{full}), read_stores), written(std::vector{full}));
  for (const auto severity :
       {Severity::info, Severity::warning, Severity::error, Severity::critical}) {
    expect_described("Finding", written(spi::Finding{severity, "what", "cure"}));
  }
  expect_described("Findings", written(std::vector<spi::Finding>{{}}));
  const DestinationState down{.target = "bus:b", .down = true, .last_error = "refused"};
  expect_described("Destination", written(down), written(DestinationState{.target = "bus:a"}));
  expect_described("Destinations", written(std::vector{down}));
  EXPECT_EQ(again(written(std::vector{down}), read_destinations), written(std::vector{down}));
  const AuditReport report{.entries = 3, .problems_found = 1, .problems = {"entry 2 is missing"}};
  expect_described("AuditReport", written(report));
}

TEST_F(WireSchema, IdempotencyKeys) {
  IdempotencyRecord full{.key = {.tenant = "acme", .consumer = "mailer", .key = "k-1"},
                         .request_hash = sha256("a"),
                         .state = IdempotencyState::succeeded,
                         .attempts = 2,
                         .created_at = noon,
                         .changed_at = noon,
                         .lease_until = noon,
                         .expires_at = noon,
                         .result = "secret",
                         .result_digest = sha256("secret"),
                         .code = Code::tx_handler_failed,
                         .error = "refused"};
  auto failed = full;
  failed.state = IdempotencyState::failed;
  failed.error.clear();
  EXPECT_EQ(again(written(failed), read_idempotency_record), written(failed));
  const IdempotencyRecord least{.key = {.consumer = "mailer", .key = "k-1"}};
  expect_described("IdempotencyRecord", written(full), written(least));
  EXPECT_EQ(written(full).find("\"secret\""), std::string::npos) << "it may hold a payload";
  EXPECT_EQ(again(written(full), read_idempotency_record), written(full));
  EXPECT_EQ(again(written(least), read_idempotency_record), written(least));
  const IdempotencyPage page{.rows = {full, least}, .next = "abc"};
  expect_described("IdempotencyPage", written(page), written(IdempotencyPage{}));
  EXPECT_EQ(again(written(page), read_idempotency_page), written(page));
  expect_described("IdempotencyPurged", written(IdempotencyPurged{3}));
}

SagaView full_saga() {
  SagaView full{.id = SagaId::parse("s1").value(),
                .tenant = "acme",
                .definition = "travel",
                .definition_version = 3,
                .quarantined = true,
                .version = 7,
                .key = "trip-77",
                .isolate = "customer-1",
                .labels = {{"order", "77"}},
                .started_at = noon,
                .changed_at = noon,
                .ended_at = noon,
                .deadline = noon,
                .due = noon,
                .paused_at = noon,
                .undo = "failure",
                .input = R"({"customer":1})",
                .unreadable = "a newer version wrote it",
                .definition_stored = false,
                .seen_at = noon};
  full.steps.push_back({.name = "flight",
                        .wait = SagaWait::signal,
                        .waits_for = "paid",
                        .tag = "bookings",
                        .pivot = true,
                        .has_action = false,
                        .attempts = 2,
                        .attempts_max = 8,
                        .started_at = noon,
                        .ended_at = noon,
                        .undo_started_at = noon,
                        .undone_at = noon,
                        .due = noon,
                        .deadline = noon,
                        .code = Code::tx_timeout,
                        .error = "slow",
                        .output = "[1]"});
  return full;
}

TEST_F(WireSchema, Sagas) {
  auto full = full_saga();
  const SagaView least{.id = full.id};
  for (std::size_t state = 0; state < saga_state_count; ++state) {
    full.state = static_cast<SagaState>(state);
    expect_described("Saga", written(full), written(least));
  }
  const SagaStepView least_step{.name = "hotel"};
  auto step = full.steps.front();
  for (std::size_t state = 0; state < saga_step_state_count; ++state) {
    step.state = static_cast<SagaStepState>(state);
    expect_described("SagaStep", written(step), written(least_step));
    full.steps.push_back(step);
  }
  for (std::size_t wait = 0; wait < saga_wait_count; ++wait) {
    full.steps.push_back({.name = "w", .wait = static_cast<SagaWait>(wait)});
  }
  EXPECT_EQ(schemas_.problem("Saga", written(full)), "");
  EXPECT_EQ(again(written(full), read_saga), written(full));
  EXPECT_EQ(again(written(least), read_saga), written(least));
  const SagaPage page{.rows = {full, least}, .next = "s1"};
  expect_described("SagaPage", written(page), written(SagaPage{}));
  EXPECT_EQ(again(written(page), read_saga_page), written(page));

  const SagaHistoryEntry entry{.number = 3,
                               .at = noon,
                               .event = "StepFailed",
                               .step = "hotel",
                               .detail = R"({"code":"PROVIDER.REJECTED"})",
                               .hash = sha256("3")};
  expect_described("SagaHistoryEntry", written(entry), written(SagaHistoryEntry{.at = noon}));
  const SagaHistory history{.entries = {entry}, .more = true, .problem = "entry 2 is missing"};
  expect_described("SagaHistory", written(history), written(SagaHistory{}));
  EXPECT_EQ(again(written(history), read_saga_history), written(history));
  const auto intact = written(SagaHistory{.problem = ""});
  EXPECT_EQ(again(intact, read_saga_history), intact);
}

TEST_F(WireSchema, WhatIsKnownOfSagas) {
  SagaExplanation full{.state = "running", .owner = "nobody", .next = "approve it"};
  for (std::size_t why = 0; why < saga_why_count; ++why) {
    full.reasons.push_back({static_cast<SagaWhy>(why), "approve", "its approval"});
  }
  const SagaExplanation least{.state = "done", .reasons = {{.text = "it has completed"}}};
  expect_described("SagaExplanation", written(full), written(least));
  expect_described("SagaReason", written(full.reasons.front()), written(least.reasons.front()));
  EXPECT_EQ(again(written(full), read_saga_explanation), written(full));

  std::vector<SagaCommand> commands;
  for (std::size_t kind = 0; kind < saga_command_kind_count; ++kind) {
    commands.push_back({.id = CommandId::parse("c1").value(),
                        .saga = SagaId::parse("s1").value(),
                        .definition = "travel",
                        .tenant = "acme",
                        .kind = static_cast<SagaCommandKind>(kind),
                        .written_at = noon});
    expect_described("SagaCommand", written(commands.back()));
  }
  expect_described("SagaCommands", written(commands));
  EXPECT_EQ(again(written(commands), read_saga_commands), written(commands));

  const SagaCounted counted{.definition = "travel", .sagas = 3, .oldest = noon};
  expect_described("SagaCount", written(counted), written(SagaCounted{}));
  const std::vector counts{counted};
  expect_described("SagaCounts", written(counts));
  EXPECT_EQ(again(written(counts), read_saga_counts), written(counts));

  const SagaDefinitionRecord definition{.name = "travel",
                                        .version = 3,
                                        .digest = sha256("{}"),
                                        .text = R"({"saga":"travel"})",
                                        .registered_at = noon};
  auto without_text = definition;
  without_text.text.clear();
  expect_described("SagaDefinition", written(definition), written(without_text));
  const std::vector definitions{definition, without_text};
  expect_described("SagaDefinitions", written(definitions));
  EXPECT_EQ(again(written(definitions), read_saga_definitions), written(definitions));

  SagaReceipt answer{.command = commands.front().id, .saga = commands.front().saga};
  for (const bool applied : {true, false}) {
    answer.applied = applied;
    expect_described("SagaReceipt", written(answer));
    EXPECT_EQ(again(written(answer), read_saga_receipt), written(answer));
  }
  expect_described("SagasPurged", written(SagasPurged{3}));
  EXPECT_EQ(again(written(SagasPurged{3}), read_sagas_purged), written(SagasPurged{3}));
}

TEST_F(WireSchema, WhatSagasAreTold) {
  const SagaStartOrder start{.definition = "travel",
                             .tenant = "acme",
                             .key = "trip-77",
                             .input = R"({"a":[1]})",
                             .isolate = "customer-1",
                             .labels = {{"order", "77"}},
                             .timeout = 90s,
                             .version = 3,
                             .traceparent = "00-1",
                             .command = CommandId::parse("c1").value()};
  EXPECT_EQ(schemas_.problem("SagaStart", written(start)), "");
  EXPECT_EQ(again(written(start), read_saga_start), written(start));
  const SagaStartOrder least{.definition = "travel"};
  EXPECT_EQ(schemas_.problem("SagaStart", written(least)), "");
  EXPECT_EQ(again(written(least), read_saga_start), written(least));

  SagaOrder order{.note = "by hand",
                  .step = "approve",
                  .state = SagaStepState::succeeded,
                  .output = "[1]",
                  .into_compensation = true,
                  .signal = "paid",
                  .payload = R"({"sum":1})",
                  .reply = {.step = "ticket",
                            .compensation = true,
                            .round = 2,
                            .kind = SagaReplyOrder::Kind::fail,
                            .output = "{}",
                            .error = "no seats",
                            .retry_after = 90s},
                  .command = CommandId::parse("c1").value()};
  std::set<std::string> members{"store"};
  const auto check = [&] {
    const auto text = written(order);
    EXPECT_EQ(schemas_.problem("SagaOrder", text), "");
    EXPECT_EQ(again(text, read_saga_order), text);
    members.merge(Schemas::keys(json::parse(text).as_object()));
  };
  for (std::size_t kind = 1; kind < saga_command_kind_count; ++kind) {
    order.kind = static_cast<SagaCommandKind>(kind);
    check();
  }
  order.kind = SagaCommandKind::approve;
  order.approved = false;
  check();
  EXPECT_EQ(members, schemas_.members_of("SagaOrder"));
}

TEST_F(WireSchema, WhatAParticipantSaysAndIsAnswered) {
  constexpr auto said =
      R"({"result":"retry","error":"closed","retry_after_seconds":90,"output":{}})";
  EXPECT_EQ(schemas_.problem("SagaResult", said), "");
  EXPECT_EQ(Schemas::keys(json::parse(said).as_object()), schemas_.members_of("SagaResult"));
  auto fields = Fields::parse(said).value();
  const auto result = read_saga_result(fields);
  ASSERT_TRUE(fields.status().ok()) << fields.status().error().text();
  EXPECT_EQ(result.kind, SagaReplyOrder::Kind::retry);
  EXPECT_EQ(result.retry_after, Duration(90s));
  for (const auto* name : {"applied", "pending", "ignored"}) {
    EXPECT_EQ(schemas_.problem("SagaReplyTaken", written(SagaReplyTaken{name})), "");
  }
}

TEST_F(WireSchema, HealthAndErrors) {
  const TableReadiness full{.table = "orders",
                            .ready = false,
                            .text = "its store does not answer",
                            .oldest_pending = 1s,
                            .last_success = 2s};
  expect_described("TableReadiness", written(full),
                   written(TableReadiness{.table = "orders", .ready = true}));
  const HubReadiness hub{.ready = false, .text = "its store is away", .oldest_unrouted = 3s};
  expect_described("HubReadiness", written(hub), written(HubReadiness{.ready = true}));
  const DaemonReadiness daemon{.tables = {full}, .hub = hub};
  expect_described("Ready", written(daemon), written(DaemonReadiness{}));
  EXPECT_EQ(again(written(daemon), read_readiness), written(daemon));
  EXPECT_FALSE((DaemonReadiness{.tables = {}, .hub = hub}.ready()));
  for (std::size_t code = 0; code < code_count; ++code) {
    const Problem problem{
        .status = 400, .code = static_cast<Code>(code), .detail = "topic: empty", .field = "topic"};
    auto least = problem;
    least.field.clear();
    expect_described("Problem", written(problem), written(least));
  }
}

EventView full_event() {
  return {.id = EventId::parse("e1").value(),
          .tenant = "acme",
          .type = "shop.order.placed.v1",
          .key = "k",
          .source = "erp",
          .external_id = "17",
          .sequence = Sequence{7},
          .published_at = noon,
          .occurred_at = noon,
          .content_type = "application/json",
          .correlation_id = "c-1",
          .digest = sha256("{}"),
          .payload_bytes = 2,
          .headers = {{"a", "b"}},
          .payload = sagabox::json("{}")};
}

TEST_F(WireSchema, HubEvents) {
  const auto full = full_event();
  const EventView least{.id = full.id};
  expect_described("HubEvent", written(full), written(least), {"payload_base64"});
  auto in_bytes = full;
  in_bytes.payload = bytes(std::string("\0\1", 2));
  EXPECT_EQ(schemas_.problem("HubEvent", written(in_bytes)), "");
  for (const auto& event : {full, least, in_bytes}) {
    EXPECT_EQ(again(written(event), read_event), written(event));
  }
  const EventPage page{.rows = {full, least}, .next = "7"};
  expect_described("HubEventPage", written(page), written(EventPage{}));
  EXPECT_EQ(again(written(page), read_event_page), written(page));
  const EventOrder order{.tenant = "acme",
                         .type = "shop.order.placed.v1",
                         .key = "k",
                         .source = "erp",
                         .external_id = "17",
                         .payload = sagabox::json("{}"),
                         .content_type = "application/json",
                         .headers = {{"a", "b"}},
                         .occurred_at = noon,
                         .trace = {"00-1", "s", "r-1", "c-1"}};
  expect_described("HubEventOrder", written(order), R"({"type":"t"})", {"payload_base64"});
  EXPECT_EQ(again(written(order), read_event_order), written(order));
  const std::vector published{Published{full.id, true}};
  expect_described("Published", written(published.front()));
  expect_described("PublishedEvents", written(std::span<const Published>(published)));
  EXPECT_EQ(again(written(published.front()), read_published), written(published.front()));
}

SubscriptionView full_subscription() {
  SubscriptionView full{.record = {.id = SubscriptionId::parse("s1").value(),
                                   .tenant = "acme",
                                   .name = "shop",
                                   .types = {"shop.**"},
                                   .target = "https://hooks.example.com/",
                                   .settings = R"({"order":"key"})",
                                   .reason = "by hand",
                                   .active_since = noon,
                                   .version = 3,
                                   .created_at = noon,
                                   .changed_at = noon},
                        .problem = "a newer version wrote it"};
  full.secrets = {{2, noon, std::nullopt}, {1, noon, noon}};
  return full;
}

TEST_F(WireSchema, Subscriptions) {
  auto full = full_subscription();
  SubscriptionView least;
  least.record.id = full.record.id;
  for (std::size_t state = 0; state < subscription_state_count; ++state) {
    full.record.state = static_cast<SubscriptionState>(state);
    expect_described("Subscription", written(full), written(least));
    EXPECT_EQ(again(written(full), read_subscription), written(full));
  }
  const SubscriptionPage page{.rows = {full, least}, .next = "s1"};
  expect_described("SubscriptionPage", written(page), written(SubscriptionPage{}));
  EXPECT_EQ(again(written(page), read_subscription_page), written(page));
  const NewSecret secret{.number = 2, .secret = "whsec_x", .overlap_until = noon};
  expect_described("NewSecret", written(secret), written(NewSecret{}));
  EXPECT_EQ(again(written(secret), read_new_secret), written(secret));
  const CreatedSubscription created{.subscription = full, .secret = secret, .duplicate = true};
  expect_described("CreatedSubscription", written(created),
                   written(CreatedSubscription{.subscription = least}));
  EXPECT_EQ(again(written(created), read_created_subscription), written(created));
  const SubscriptionOrder order{.tenant = "acme",
                                .name = "shop",
                                .types = {"shop.**"},
                                .target = "https://hooks.example.com/",
                                .settings = "{}",
                                .verify = false};
  expect_described("SubscriptionOrder", written(order), R"({"target":"a:b","types":["**"]})");
  EXPECT_EQ(again(written(order), read_subscription_order), written(order));
  const SubscriptionChange change{.name = "shop",
                                  .types = std::vector<std::string>{"shop.**"},
                                  .target = "https://hooks.example.com/",
                                  .settings = "{}",
                                  .version = 3};
  expect_described("SubscriptionChange", written(change), "{}");
  EXPECT_EQ(again(written(change), read_subscription_change), written(change));
}

TEST_F(WireSchema, HealthOfEndpoints) {
  const ProbeReport report{
      .passed = true, .status = 204, .error = "e", .answer = "a", .took = 250ms};
  expect_described("ProbeReport", written(report), written(ProbeReport{}));
  EXPECT_EQ(again(written(report), read_probe_report), written(report));
  const Verified verified{.subscription = full_subscription(), .report = report};
  expect_described("Verified", written(verified),
                   written(Verified{.subscription = verified.subscription}));
  EXPECT_EQ(again(written(verified), read_verified), written(verified));
  SubscriptionHealth health{.id = SubscriptionId::parse("s1").value(), .since = 60s};
  const auto least = written(health);
  health.name = "shop";
  health.reason = "by hand";
  health.attempts = {.completed = 3,
                     .failed = 1,
                     .p50 = 250ms,
                     .p95 = 500ms,
                     .last_completed_at = noon,
                     .last_failed_at = noon,
                     .last_error = "slow"};
  health.open = 2;
  health.dead = 1;
  health.oldest_open = noon;
  health.attempts.sampled_from = noon;
  health.more_open = health.more_dead = true;
  expect_described("SubscriptionHealth", written(health), least);
  EXPECT_EQ(again(written(health), read_subscription_health), written(health));
}

DeliveryRecord full_delivery() {
  return {.id = DeliveryId::parse("d1").value(),
          .event = EventId::parse("e1").value(),
          .subscription = SubscriptionId::parse("s1").value(),
          .generation = 1,
          .tenant = "acme",
          .type = "shop.order.placed.v1",
          .key = "k",
          .shard = Shard{3},
          .sequence = Sequence{7},
          .attempt = 2,
          .failures = 1,
          .next_attempt_at = noon,
          .created_at = noon,
          .ended_at = noon,
          .correlation_id = "c-1",
          .code = Code::provider_rejected,
          .error = "422",
          .status = 422};
}

TEST_F(WireSchema, Deliveries) {
  auto full = full_delivery();
  DeliveryRecord least;
  least.id = full.id;
  least.event = full.event;
  least.subscription = full.subscription;
  for (std::size_t state = 0; state < delivery_state_count; ++state) {
    full.state = static_cast<DeliveryState>(state);
    expect_described("Delivery", written(full), written(least));
    EXPECT_EQ(again(written(full), read_delivery_record), written(full));
  }
  const DeliveryPage page{.rows = {full, least}, .next = "7"};
  expect_described("DeliveryPage", written(page), written(DeliveryPage{}));
  EXPECT_EQ(again(written(page), read_delivery_page), written(page));
  JobRecord attempt;
  const auto least_attempt = written(attempt);
  attempt.attempt = 2;
  attempt.state = HubJobState::failed;
  attempt.attempt_at = noon;
  attempt.resets = 1;
  attempt.worker = "w";
  attempt.lease_until = noon;
  attempt.ended_at = noon;
  attempt.result = {.code = Code::provider_rejected,
                    .error = "422",
                    .status = 422,
                    .answer = "no\x1b",
                    .retry_after = 60s,
                    .took = 250ms};
  expect_described("DeliveryAttempt", written(attempt), least_attempt);
  DeliveryView view{.delivery = full,
                    .subscription_name = "shop",
                    .target = "https://hooks.example.com/",
                    .attempts = {attempt, JobRecord{}},
                    .event = full_event(),
                    .seen_at = noon};
  expect_described("DeliveryDetails", written(view), written(DeliveryView{.delivery = least}));
  EXPECT_EQ(again(written(view), read_delivery), written(view));
  const std::vector counts{
      spi::DeliveryCount{full.subscription, DeliveryState::dead, 3, noon, true}};
  expect_described("DeliveryCount", written(counts.front()),
                   written(spi::DeliveryCount{.subscription = full.subscription}));
  const std::span<const spi::DeliveryCount> all(counts);
  expect_described("DeliveryCounts", written(all));
  const auto write_all = [](const std::vector<spi::DeliveryCount>& read) {
    return written(std::span<const spi::DeliveryCount>(read));
  };
  EXPECT_EQ(again(written(all), read_delivery_counts, write_all), written(all));
}

TEST_F(WireSchema, WhatBecomesOfDeliveries) {
  DeliveryExplanation full{.state = "pending", .owner = "hub-a", .next = "nothing"};
  for (std::size_t why = 0; why < delivery_why_count; ++why) {
    full.reasons.push_back({static_cast<DeliveryWhy>(why), "because"});
    expect_described("DeliveryReason", written(full.reasons.back()));
  }
  expect_described("DeliveryExplanation", written(full), written(DeliveryExplanation{}));
  EXPECT_EQ(again(written(full), read_delivery_explanation), written(full));
  const auto id = DeliveryId::parse("d1").value();
  using Outcome = spi::Requeued::Outcome;
  std::vector<spi::Requeued> requeued;
  for (const auto outcome :
       {Outcome::made, Outcome::repeated, Outcome::not_dead, Outcome::not_newest}) {
    requeued.push_back({id, outcome, id});
    expect_described("Requeued", written(requeued.back()), written(spi::Requeued{.from = id}));
  }
  const std::span<const spi::Requeued> all(requeued);
  expect_described("RequeuedMany", written(all));
  const auto write_all = [](const std::vector<spi::Requeued>& read) {
    return written(std::span<const spi::Requeued>(read));
  };
  EXPECT_EQ(again(written(all), read_requeued, write_all), written(all));
  const RequeueOrder order{.tenant = "acme",
                           .subscription = SubscriptionId::parse("s1").value(),
                           .type = "shop.order.placed.v1",
                           .code = Code::provider_rejected,
                           .failed_from = noon,
                           .failed_to = noon,
                           .dry_run = true};
  expect_described("RequeueOrder", written(order), "{}", {"all", "note"});
  EXPECT_EQ(again(written(order), read_requeue_order), written(order));
  const RequeueReport report{.matched = 3, .requeued = 2, .already = 1, .first = {full_delivery()}};
  expect_described("RequeueReport", written(report));
  EXPECT_EQ(again(written(report), read_requeue_report), written(report));
}

}  // namespace
}  // namespace sagabox::wire
