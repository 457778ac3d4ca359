#include "assembly/switching_sink.hpp"

#include "support/dispatch_answers.hpp"
#include "support/scripted_transport.hpp"

#include <sagabox/random.hpp>

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace sagabox::assembly {
namespace {

using sagabox::testing::DispatchAnswers;
using sagabox::testing::ScriptedTransport;
using std::chrono::seconds;

class SwitchingSinkTest : public ::testing::Test {
 protected:
  void SetUp() override { sink.join(answers); }
  void TearDown() override {
    before->let_go();
    after->let_go();
    if (changing.joinable()) changing.join();
    sink.leave(answers);
  }

  static std::shared_ptr<Router> router(const std::string& topic,
                                        std::shared_ptr<ScriptedTransport> transport) {
    return Router::open({.routes = {{.topic = topic, .to = {{"test:a"}}}},
                         .transports = {{"test", std::move(transport)}}})
        .value();
  }
  std::uint64_t deliver(const std::string& topic, Shard shard = {}) {
    auto dispatch = spi::Dispatch{
        .ticket = spi::Ticket{++tickets},
        .message = std::make_shared<const Message>(
            Message::build({.topic = topic, .payload = json("{}")}, {}, ids, system_clock())
                .value()),
        .table = &table,
        .sequence = Sequence{tickets},
        .shard = shard,
        .deadline = system_clock().boot_now() + seconds(60)};
    sink.deliver({&dispatch, 1}, answers);
    return tickets;
  }
  /// Begins a change that has to wait, and gives what it waits for.
  std::uint64_t begin_change(const std::string& topic = "**") {
    before->hold("a");
    const auto under_way = deliver("t");
    while (before->held() == 0) std::this_thread::yield();
    changing = std::thread([this, topic] { sink.change(router(topic, after)); });
    // Before the change has begun they go to the old one.
    while (sink.held() == 0) {
      std::this_thread::yield();
      last_held = deliver("t");
    }
    return under_way;
  }

  UlidSource ids{system_clock(), system_random()};
  TableName table = TableName::parse("orders").value();
  DispatchAnswers answers;
  std::shared_ptr<ScriptedTransport> before = std::make_shared<ScriptedTransport>();
  std::shared_ptr<ScriptedTransport> after = std::make_shared<ScriptedTransport>();
  SwitchingSink sink{router("**", before)};
  std::thread changing;
  std::uint64_t tickets = 0;
  std::uint64_t last_held = 0;
};

TEST_F(SwitchingSinkTest, WhatComesDuringAChangeWaitsForWhatIsUnderWay) {
  const auto under_way = begin_change();
  const auto later = deliver("t");
  EXPECT_EQ(after->sent("a").size(), 0U);
  before->let_go();
  changing.join();
  EXPECT_EQ(answers.of(under_way).outcome.kind, Outcome::Kind::done);
  EXPECT_EQ(answers.of(last_held).outcome.kind, Outcome::Kind::done);
  EXPECT_EQ(answers.of(later).outcome.kind, Outcome::Kind::done);
  const auto sent = after->sent("a");
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_LT(sent[0].sequence, sent[1].sequence);
  EXPECT_GE(answers.opened_so_far(), 1);
}

TEST_F(SwitchingSinkTest, AfterAChangeTheNewRoutesCount) {
  sink.change(router("new.**", after));
  EXPECT_EQ(answers.of(deliver("new.t")).outcome.kind, Outcome::Kind::done);
  const auto unknown = answers.of(deliver("old.t"));
  EXPECT_EQ(unknown.outcome.kind, Outcome::Kind::reject);
  EXPECT_EQ(unknown.outcome.code, Code::tx_unroutable);
  EXPECT_EQ(before->sent("a").size(), 0U);
  EXPECT_EQ(after->sent("a").size(), 1U);
}

TEST_F(SwitchingSinkTest, WhatIsHeldCanBeRecalled) {
  (void)begin_change();
  const auto other = deliver("t", Shard{1});
  sink.recall(answers, Shard{0});
  const auto recalled = answers.of(last_held);
  EXPECT_TRUE(recalled.deferred);
  EXPECT_FALSE(recalled.outcome.spends_attempt);
  EXPECT_EQ(recalled.outcome.kind, Outcome::Kind::retry);
  before->let_go();
  changing.join();
  EXPECT_EQ(answers.of(other).outcome.kind, Outcome::Kind::done);
  EXPECT_EQ(after->sent("a").size(), 1U);
}

}  // namespace
}  // namespace sagabox::assembly
