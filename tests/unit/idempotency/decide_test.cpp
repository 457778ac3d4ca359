#include "idempotency/decide.hpp"

#include <gtest/gtest.h>

#include <string>

namespace sagabox::idempotency {
namespace {

using std::chrono::seconds;

spi::IdempotencyCheckReply reply_of(IdempotencyState state, bool taken = false) {
  spi::IdempotencyCheckReply reply;
  reply.taken = taken;
  reply.record.key = {"acme", "billing", "k1"};
  reply.record.state = state;
  reply.record.request_hash = sha256("payload");
  reply.record.code = Code::provider_rejected;
  return reply;
}

TEST(IdempotencyDecide, VerdictOfEveryReply) {
  using State = IdempotencyState;
  const auto same = sha256("payload");
  EXPECT_EQ(judge(reply_of(State::in_flight, true), same), Verdict::go);
  EXPECT_EQ(judge(reply_of(State::in_flight), same), Verdict::busy);
  EXPECT_EQ(judge(reply_of(State::succeeded), same), Verdict::replay);
  EXPECT_EQ(judge(reply_of(State::failed), same), Verdict::last_failed);
  for (const auto state : {State::in_flight, State::succeeded, State::failed}) {
    EXPECT_EQ(judge(reply_of(state), sha256("other")), Verdict::mismatch);
  }
}

TEST(IdempotencyDecide, RefusalsHaveTheirCodesAndSayWhatToDo) {
  const auto record = reply_of(IdempotencyState::failed).record;
  const auto busy = refusal(Verdict::busy, record);
  EXPECT_EQ(busy.code, Code::tx_idempotent_busy);
  EXPECT_NE(busy.message.find("try again shortly"), std::string::npos);
  const auto failed = refusal(Verdict::last_failed, record);
  EXPECT_EQ(failed.code, Code::tx_idempotent_last_failed);
  EXPECT_NE(failed.message.find("PROVIDER.REJECTED"), std::string::npos);
  const auto mismatch = refusal(Verdict::mismatch, record);
  EXPECT_EQ(mismatch.code, Code::tx_idempotent_mismatch);
  EXPECT_NE(mismatch.message.find("\"k1\""), std::string::npos);
}

TEST(IdempotencyDecide, LeaseIsRenewedInTimeAndGivenUpWhenItIsOver) {
  const BootTime start{seconds(100)};
  using Due = HeldLease::Due;
  HeldLease lease(seconds(15), seconds(5), start);
  EXPECT_EQ(lease.next(), start + seconds(5));
  EXPECT_EQ(lease.due(start + seconds(4)), Due::nothing);
  EXPECT_EQ(lease.due(start + seconds(5)), Due::renewal);
  lease.renewed(start + seconds(5));
  EXPECT_EQ(lease.due(start + seconds(9)), Due::nothing);
  EXPECT_EQ(lease.due(start + seconds(10)), Due::renewal);
  lease.failed(start + seconds(10));
  EXPECT_EQ(lease.due(start + seconds(11)), Due::nothing) << "not at once again";
  EXPECT_EQ(lease.due(start + seconds(12)), Due::renewal);
  EXPECT_EQ(lease.due(start + seconds(19)), Due::renewal);
  EXPECT_EQ(lease.due(start + seconds(20)), Due::stop);
  lease.failed(start + seconds(19));
  EXPECT_EQ(lease.next(), start + seconds(20));
}

TEST(IdempotencyDecide, ResultIsStoredWholeOrNotAtAll) {
  auto stored = bounded("1234", "short", 4);
  EXPECT_EQ(stored.result, "1234");
  EXPECT_EQ(stored.digest, sha256("1234"));
  stored = bounded("12345", "see", 4);
  EXPECT_EQ(stored.result, "see");
  EXPECT_EQ(stored.digest, sha256("12345")) << "of the whole result";
  EXPECT_EQ(bounded("12345", std::nullopt, 4).result, std::nullopt);
  EXPECT_EQ(bounded("12345", "too long", 4).result, std::nullopt);
  EXPECT_EQ(bounded("", std::nullopt, 4).result, "");
}

}  // namespace
}  // namespace sagabox::idempotency
