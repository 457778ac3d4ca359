#include "cli/remote/server_operations.hpp"

#include "cli/exit_codes.hpp"
#include "unit/server/world.hpp"

#include <deque>

namespace sagabox::cli {
namespace {

using namespace std::chrono_literals;

/// Hands what is asked to the API of a daemon, without a socket between them.
class DirectClient final : public HttpClient {
 public:
  explicit DirectClient(server::Api& api) : api_(api) {}
  [[nodiscard]] const std::string& url() const override { return url_; }
  [[nodiscard]] bool has_key() const override { return false; }
  Result<HttpAnswer> ask(const HttpRequest& request) override {
    server::Request sent{.method = request.kind == HttpRequest::Kind::get ? "GET" : "POST",
                         .target = request.target,
                         .body = request.body};
    sent.headers = {{"host", "localhost"}, {"content-type", "application/json"}};
    auto answer = api_.handle(sent);
    return HttpAnswer{answer.status, answer.content_type, std::move(answer.body)};
  }

 private:
  server::Api& api_;
  std::string url_ = "http://localhost";
};

class ServerOperations : public server::ApiTest {
 protected:
  const TableName& table() const { return tables_[0].table; }
  static MessageId id(const std::string& text) { return MessageId::parse(text).value(); }

  std::unique_ptr<Operations> daemon_ = operate_over(std::make_unique<DirectClient>(*api_), {});
};

TEST_F(ServerOperations, TablesAreThoseOfTheDaemon) {
  const auto tables = daemon_->tables().value();
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].str(), "events") << "by name";
  EXPECT_TRUE(daemon_->is_current().value());
  EXPECT_EQ(daemon_->name(), "http://localhost");
  EXPECT_EQ(daemon_->now(table()).value(), store_.outbox_admin().stats(table()).value().now);
}

TEST_F(ServerOperations, MessagesComeBackAsTheyAre) {
  const auto written = daemon_
                           ->enqueue(table(), {.topic = "a.b.v1",
                                               .key = "k&=/ü",
                                               .payload = bytes(std::string("\0\1", 2)),
                                               .tenant = "",
                                               .headers = {{"x", "y"}},
                                               .id = "m/1"})
                           .value();
  EXPECT_EQ(written.id.str(), "m/1");
  EXPECT_FALSE(written.duplicate);
  const auto shown =
      daemon_->inspect(table(), id("m/1"), Admin::PayloadToo::yes, {}, {}).value().value();
  const auto kept = record("m/1");
  EXPECT_EQ(shown.key, kept.key);
  EXPECT_EQ(shown.tenant, "default");
  EXPECT_EQ(shown.digest, kept.digest);
  EXPECT_EQ(shown.written_at, kept.written_at);
  EXPECT_EQ(shown.message->payload().view(), kept.message->payload().view());
  EXPECT_EQ(shown.message->headers(), kept.message->headers());
  EXPECT_FALSE(daemon_->inspect(table(), id("m2"), Admin::PayloadToo::no, {}, {}).value());
  const auto page =
      daemon_->list(table(), {.state = MessageState::pending, .filter = {.key = "k&=/ü"}}).value();
  EXPECT_EQ(page.rows.size(), 1U);
  EXPECT_EQ(daemon_->count(table(), MessageState::pending, {.topic = "a.b.v1"}).value(), 1U);
  EXPECT_EQ(daemon_->count(table(), MessageState::pending, {.retrying = true}).value(), 0U);
}

TEST_F(ServerOperations, APayloadCannotPassForFields) {
  const auto refused = daemon_->enqueue(
      table(), {.topic = "t", .payload = sagabox::json(R"(1,"tenant":"other")"), .tenant = ""});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::schema_validation_failed);
  EXPECT_EQ(store_.outbox_admin().stats(table()).value().pending, 0U);
}

TEST_F(ServerOperations, MessagesAreNamedForATenant) {
  enqueue(R"("id":"o-7","tenant":"acme")");
  settle("o-7", spi::Verdict::dead);
  enqueue(R"("id":"o-7","tenant":"other")");

  const auto unclear = daemon_->inspect(table(), id("o-7"), Admin::PayloadToo::no, {}, {});
  ASSERT_FALSE(unclear.ok());
  EXPECT_NE(unclear.error().message.find("--tenant"), std::string::npos);
  EXPECT_EQ(daemon_->inspect(table(), id("o-7"), Admin::PayloadToo::no, "acme", {}).value()->state,
            MessageState::dead);
  EXPECT_EQ(daemon_->explain(table(), id("o-7"), "acme").value().reasons.at(0).why, Why::dead);
  EXPECT_FALSE(daemon_->explain(table(), id("o-7"), {}).ok());
  const std::vector ids{id("o-7")};
  const auto refused =
      daemon_->move(table(), spi::Move::replay, ids, "", {}, {}, false).value().at(0);
  EXPECT_TRUE(refused.unclear);
  EXPECT_FALSE(refused.moved);
  EXPECT_TRUE(
      daemon_->move(table(), spi::Move::replay, ids, "", "acme", {}, false).value().at(0).moved);
}

TEST_F(ServerOperations, RowsAreNamedByStateAndSequence) {
  const auto text = dead();
  const auto sequence = record(text).sequence;
  write_again(text);
  const auto shown = [&](std::optional<MessageState> state) {
    return daemon_->inspect(table(), id(text), Admin::PayloadToo::no, {}, state).value();
  };
  EXPECT_EQ(shown(MessageState::dead)->sequence, sequence);
  EXPECT_EQ(shown({})->state, MessageState::pending);
  EXPECT_FALSE(shown(MessageState::quarantined));
  const std::vector ids{id(text)};
  const std::vector sequences{sequence};
  const auto moved =
      daemon_->move(table(), spi::Move::quarantine, ids, "why", {}, sequences, false).value().at(0);
  EXPECT_TRUE(moved.moved);
  EXPECT_EQ(moved.was, MessageState::dead);
  EXPECT_EQ(shown({})->state, MessageState::pending);
  EXPECT_EQ(shown(MessageState::quarantined)->sequence, sequence);
}

TEST_F(ServerOperations, JobTellsHowManyItSkipped) {
  dead();
  auto job = daemon_->start_replay(table(), {}).value();
  EXPECT_EQ(daemon_->job(table(), job.id).value().skipped, 0U);
}

TEST_F(ServerOperations, LooksAndActsGoThrough) {
  const auto first = dead();
  const auto second = dead();
  EXPECT_EQ(daemon_->stats(table()).value().dead, 2U);
  EXPECT_EQ(daemon_->last_sequence(table()).error().code, Code::tx_invalid_state)
      << "a store in memory does not tell";
  EXPECT_EQ(daemon_->owners(table()).value().relays.shards.size(), 16U);
  const std::vector ids{id(first), id("nobody")};
  const auto moved =
      daemon_->move(table(), spi::Move::quarantine, ids, "why", {}, {}, false).value();
  EXPECT_TRUE(moved.at(0).moved);
  EXPECT_FALSE(moved.at(1).was);
  EXPECT_EQ(record(first).note, "why");
  EXPECT_TRUE(daemon_->set_pause(table(), "t", true, "note").value());
  EXPECT_FALSE(daemon_->set_pause(table(), "t", true, "").value());
  EXPECT_EQ(daemon_->pauses(table()).value().at(0).note, "note");
  EXPECT_TRUE(daemon_->set_pause(table(), "t", false, "").value());
  const ReplayOrder order{.from = MessageState::dead, .filter = {.code = Code::provider_rejected}};
  EXPECT_EQ(daemon_->preview_replay(table(), order).value().first.at(0).id.str(), second);
  const auto job = daemon_->start_replay(table(), order).value();
  EXPECT_EQ(job.filter, order.filter);
  EXPECT_EQ(daemon_->change_job(table(), job.id, ReplayJob::State::stopped).value().state,
            ReplayJob::State::stopped);
  EXPECT_EQ(daemon_->jobs(table()).value().size(), 1U);
  EXPECT_EQ(daemon_->strays(table()).value().size(), 0U);
  EXPECT_EQ(daemon_->blocked_keys(table(), 10).value().keys.size(), 0U);
  EXPECT_EQ(daemon_->verify_audit({}).value().problems_found, 0U);
  std::string lines;
  const auto count = daemon_->export_audit(
      [&](std::string_view line) {
        lines += line;
        return true;
      },
      0);
  EXPECT_EQ(count.value(), daemon_->verify_audit({}).value().entries);
  EXPECT_TRUE(daemon_->findings().ok());
  EXPECT_TRUE(daemon_->destinations().value()->empty());
}

TEST_F(ServerOperations, APurgeAsksUntilNothingIsLeft) {
  for (int count = 0; count < 3; ++count) dead();
  const PurgeOrder order{.state = MessageState::dead, .older_than = 0s};
  auto counted = order;
  counted.dry_run = true;
  EXPECT_EQ(daemon_->purge(table(), counted, {}).value().rows, 3U);
  std::uint64_t seen = 0;
  const auto purged = daemon_->purge(table(), order, [&](std::uint64_t rows) {
    seen = rows;
    return true;
  });
  EXPECT_EQ(purged.value().rows, 3U);
  EXPECT_EQ(seen, 3U);
  EXPECT_FALSE(purged.value().stopped);
}

TEST_F(ServerOperations, ErrorsHaveTheirCode) {
  const auto wrong = daemon_->preview_replay(table(), {.from = MessageState::done});
  EXPECT_EQ(wrong.error().code, Code::request_invalid);
  EXPECT_EQ(daemon_->job(table(), ReplayJobId{9}).error().text(),
            "REQUEST.NOT_FOUND: replay \"9\" is not in table \"orders\"");
}

/// Says what the test has prepared, one after the other.
class ScriptedClient final : public HttpClient {
 public:
  explicit ScriptedClient(std::deque<HttpAnswer> said) : said_(std::move(said)) {}
  [[nodiscard]] const std::string& url() const override { return url_; }
  [[nodiscard]] bool has_key() const override { return false; }
  Result<HttpAnswer> ask(const HttpRequest&) override {
    auto next = said_.front();
    said_.pop_front();
    return next;
  }

 private:
  std::deque<HttpAnswer> said_;
  std::string url_ = "http://host";
};

std::unique_ptr<Operations> scripted(std::deque<HttpAnswer> said, std::string store = {}) {
  return operate_over(std::make_unique<ScriptedClient>(std::move(said)), std::move(store));
}

const HttpAnswer two_stores{200, "application/json; charset=utf-8",
                            R"({"stores":[{"store":"a","current":true,"tables":[]},)"
                            R"({"store":"b","current":true,"tables":[]}]})"};

TEST(ServerOperationsAudit, OfSeveralStoresOneIsNamed) {
  EXPECT_THROW((void)scripted({two_stores})->verify_audit({}), WrongUse);
  EXPECT_THROW((void)scripted({two_stores}, "c")->verify_audit({}), WrongUse);
  const HttpAnswer report{200, "application/json",
                          R"({"intact":true,"entries":1,"head":{"number":1,"hash":")" +
                              std::string(64, '0') + R"("},"problems_found":0,"problems":[]})"};
  EXPECT_EQ(scripted({two_stores, report}, "b")->verify_audit({}).value().entries, 1U);
}

TEST(ServerOperationsAnswers, WhatIsNoDaemonIsTold) {
  const auto told = [](HttpAnswer answer) {
    return scripted({std::move(answer)})->tables().error().text();
  };
  EXPECT_EQ(
      told({200, "text/html", "hello"}),
      "CONFIG.INVALID: http://host is not a sagabox daemon: it answered /v1/stores with 200 and "
      "\"text/html\"; check --server");
  EXPECT_EQ(told({502, "text/html", "bad"}),
            "PROVIDER.UNAVAILABLE: what stands before the daemon at http://host answered 502");
  EXPECT_EQ(told({401, "application/problem+json", R"({"code":"AUTH.DENIED","detail":"no key"})"}),
            "AUTH.DENIED: http://host asks for a key; give it with --key-file FILE or in "
            "SAGABOX_KEY");
  EXPECT_EQ(told({403, "application/problem+json", R"({"code":"AUTH.DENIED","detail":"not you"})"}),
            "AUTH.DENIED: not you");
  EXPECT_EQ(told({200, "application/json", "{}"}).substr(0, 100),
            "UNKNOWN.INTERNAL: the answer of http://host to /v1/stores is not understood: stores: "
            "is missing; is ");
}

TEST(ServerOperationsAnswers, AnActThatAGatewayGaveUpOnIsInDoubt) {
  const auto table = TableName::parse("orders").value();
  const auto paused = scripted({{504, "text/html", "late"}})->set_pause(table, {}, true, {});
  EXPECT_EQ(paused.error().code, Code::storage_in_doubt);
  EXPECT_NE(paused.error().message.find("it may have happened"), std::string::npos);
}

}  // namespace
}  // namespace sagabox::cli
