#include "saga/routed.hpp"

#include "saga/calls/reply_token.hpp"
#include "saga/commands.hpp"

#include <sagabox/random.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace sagabox::saga {
namespace {

using namespace std::chrono_literals;

using Sent = spi::SendResult::Kind;

constexpr auto traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr auto secret = "a secret of this test";

class RoutedMessage : public ::testing::Test {
 protected:
  Message message(NewMessage draft) {
    if (!draft.payload.given()) draft.payload = json(R"({"who": "Ada"})");
    draft.topic = Topic("travel.trip.asked.v1");
    return Message::build(std::move(draft), {}, ids, clock).value();
  }
  Result<SagaCommand> start(NewMessage draft, RoutedKey key = RoutedKey::message_id) {
    return routed_start(message(std::move(draft)), "travel", key, ids);
  }
  [[nodiscard]] Headers with_token(const std::string& tenant = "acme") const {
    return {{"saga-reply-token", reply_token({.saga = SagaId::parse("s1").value(),
                                              .definition = "travel",
                                              .tenant = tenant,
                                              .step = "hotel",
                                              .round = 3,
                                              .expires_at = clock.wall_now() + 60s},
                                             secret)}};
  }
  Result<SagaCommand> reply(Headers headers, Payload payload = json(R"({"room": 7})"),
                            const std::string& id = "m-1") {
    return routed_reply(message({.payload = std::move(payload),
                                 .tenant = "acme",
                                 .headers = std::move(headers),
                                 .id = id}),
                        orders, secrets, clock.wall_now());
  }

  sagabox::testing::FakeClock clock;
  std::unique_ptr<Random> random = seeded_random(1);
  UlidSource ids{clock, *random};
  ReplySecrets secrets{.newest = secret};
  TableName orders = TableName::parse("orders").value();
};

TEST_F(RoutedMessage, StartsTheSagaOfItsIdWithItsPayloadTenantAndTrace) {
  const auto draft = [] {
    return NewMessage{.tenant = "acme", .trace = {.traceparent = traceparent}, .id = "m-1"};
  };
  const auto first = start(draft()).value();
  EXPECT_EQ(first.saga, saga_id_of("acme", "travel", "m-1"));
  EXPECT_EQ(first.definition, "travel");
  EXPECT_EQ(first.tenant, "acme");
  const auto request = read_start(first).value();
  EXPECT_EQ(request.input, R"({"who": "Ada"})");
  EXPECT_EQ(request.key, "m-1");
  EXPECT_EQ(request.traceparent, traceparent);
  const auto again = start(draft()).value();
  EXPECT_EQ(again.saga, first.saga);
  EXPECT_NE(again.id, first.id) << "so that a replayed message is asked about again";
}

TEST_F(RoutedMessage, ItsKeyMayNameTheSaga) {
  const auto by_key = [&](NewMessage draft) {
    return start(std::move(draft), RoutedKey::message_key).value().saga;
  };
  EXPECT_EQ(by_key({.key = "trip-7", .id = "m-1"}), saga_id_of("default", "travel", "trip-7"));
  EXPECT_EQ(by_key({.id = "m-1"}), saga_id_of("default", "travel", "m-1"));
}

TEST_F(RoutedMessage, ThatCanNeverBeAnInputIsRefused) {
  EXPECT_EQ(start({.payload = bytes("raw")}).error().code, Code::schema_validation_failed);
  const std::string large(300 * 1024, 'x');
  EXPECT_EQ(start({.payload = json('"' + large + '"')}).error().code,
            Code::schema_validation_failed);
}

TEST_F(RoutedMessage, IsTheReplyThatItsTokenAllows) {
  const auto command = reply(with_token()).value();
  EXPECT_EQ(command.saga.str(), "s1");
  EXPECT_EQ(command.definition, "travel");
  EXPECT_EQ(command.tenant, "acme");
  const auto request = read_reply(command).value();
  EXPECT_EQ(request.step, "hotel");
  EXPECT_EQ(request.round, 3U);
  EXPECT_EQ(request.result.kind, CallResult::Kind::ok);
  EXPECT_EQ(request.result.output, R"({"room": 7})");
  EXPECT_EQ(reply(with_token()).value().id, command.id) << "it counts once";
  EXPECT_NE(reply(with_token(), json("1"), "m-2").value().id, command.id);
}

TEST_F(RoutedMessage, SaysThatTheStepFailedOrIsTriedAgain) {
  auto headers = with_token();
  headers.emplace_back("Saga-Result", "retry");
  headers.emplace_back("Saga-Error", "the desk is closed");
  headers.emplace_back("Retry-After", "90");
  const auto retry = read_reply(reply(headers, bytes("")).value()).value();
  EXPECT_EQ(retry.result.kind, CallResult::Kind::retry);
  EXPECT_EQ(retry.result.error, "the desk is closed");
  EXPECT_EQ(retry.result.retry_after, std::chrono::seconds(90));
  EXPECT_TRUE(retry.result.output.empty());
  headers.back().second = "soon";
  EXPECT_EQ(reply(headers).error().code, Code::schema_validation_failed);
  headers = with_token();
  headers.emplace_back("Saga-Result", "perhaps");
  EXPECT_EQ(reply(headers).error().code, Code::schema_validation_failed);
}

TEST_F(RoutedMessage, WithoutATokenOfItsTenantIsRefused) {
  EXPECT_EQ(reply({}).error().code, Code::schema_validation_failed);
  EXPECT_EQ(reply(with_token("other")).error().code, Code::auth_denied);
  auto forged = with_token();
  forged.front().second.back() ^= 1;
  EXPECT_EQ(reply(forged).error().code, Code::auth_denied);
  const auto token = with_token();
  clock.advance(60s);
  EXPECT_EQ(reply(token).error().code, Code::auth_denied) << "it has expired";
}

TEST(RoutedResult, ARefusedStartIsRejectedWithTheOwnersCode) {
  const auto said = [](SagaCommandKind kind, const std::string& reason) {
    return routed_result(kind, {.applied = reason.empty(), .reason = reason});
  };
  using Command = SagaCommandKind;
  EXPECT_EQ(said(Command::start, "").kind, Sent::delivered);
  const auto mismatch = said(Command::start, "TX.IDEMPOTENT_MISMATCH: another input");
  EXPECT_EQ(mismatch.kind, Sent::rejected);
  EXPECT_EQ(mismatch.code, Code::tx_idempotent_mismatch);
  EXPECT_EQ(mismatch.error, "another input");
  const auto isolated = said(Command::start, "saga s1 runs for this key");
  EXPECT_EQ(isolated.kind, Sent::rejected);
  EXPECT_EQ(isolated.code, Code::tx_invalid_state);
  EXPECT_EQ(said(Command::start, "STORAGE.CONFLICT: too often").kind, Sent::later);
  EXPECT_EQ(said(Command::reply, "TX.INVALID_STATE: it does not wait").kind, Sent::delivered);
  EXPECT_EQ(said(Command::reply, "AUTH.DENIED: another tenant").kind, Sent::rejected);
}

TEST(RoutedResult, AStoreThatIsDownCostsNoAttempt) {
  const auto kind_of = [](Code code) { return routed_failure({code, "why"}).kind; };
  EXPECT_EQ(kind_of(Code::storage_unavailable), Sent::unreachable);
  EXPECT_EQ(kind_of(Code::storage_in_doubt), Sent::unreachable);
  EXPECT_EQ(kind_of(Code::storage_conflict), Sent::later);
  EXPECT_EQ(kind_of(Code::schema_validation_failed), Sent::rejected);
  EXPECT_EQ(kind_of(Code::unknown_internal), Sent::failed);
}

}  // namespace
}  // namespace sagabox::saga
