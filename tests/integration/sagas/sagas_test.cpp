#include "integration/sagas/world.hpp"

#include <sagabox/outbox.hpp>
#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/recording.hpp>

#include <atomic>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

namespace sagabox::integration {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Lines = std::vector<std::string>;

TEST_P(SagasTest, StepsAreDoneInOrder) {
  auto sagas = Sagas::create(*store, quick()).value();
  add_travel(sagas, doing("book hotel", saga_ok(R"({"room": 7})")));
  sagas.start().value();
  const auto id = sagas.start_saga({.definition = "travel", .input = R"({"who": "Ada"})"}).value();
  ASSERT_TRUE(comes_to(id, SagaState::completed));
  EXPECT_EQ(diary.all(), (Lines{"book flight 1", "book hotel 1", "book car 1"}));
  EXPECT_TRUE(eventually_so([&] { return sagas.snapshot().completed == 1; }));
  const auto history = store->saga_admin()->history(id, 0, 100).value();
  ASSERT_FALSE(history.empty());
  EXPECT_EQ(history.front().event, "TxSagaStarted");
  EXPECT_EQ(history.back().event, "TxSagaCompleted");
}

TEST_P(SagasTest, WhatWasDoneIsUndoneInReverse) {
  auto sagas = Sagas::create(*store, quick()).value();
  add_travel(sagas, doing("book hotel", saga_fail("no room")));
  sagas.start().value();
  const auto id = sagas.start_saga({.definition = "travel"}).value();
  ASSERT_TRUE(comes_to(id, SagaState::cancelled));
  EXPECT_EQ(diary.all(), (Lines{"book flight 1", "book hotel 1", "cancel flight 1"}));
}

TEST_P(SagasTest, ARetryIsMadeUpToItsBound) {
  auto sagas = Sagas::create(*store, quick()).value();
  add_travel(sagas, doing("book hotel", saga_retry("the desk is closed")));
  sagas.start().value();
  const auto id = sagas.start_saga({.definition = "travel"}).value();
  ASSERT_TRUE(comes_to(id, SagaState::cancelled));
  EXPECT_EQ(diary.all(), (Lines{"book flight 1", "book hotel 1", "book hotel 2", "book hotel 3",
                                "cancel flight 1"}));
}

TEST_P(SagasTest, ASecretOfTokensThatCanBeGuessedIsRefused) {
  auto options = quick();
  options.reply_secret = "fifteen letters";
  const auto refused = Sagas::create(*store, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::config_invalid);
  EXPECT_NE(refused.error().message.find("give at least 16"), std::string::npos);
}

TEST_P(SagasTest, BarriersAreRememberedAfterTheDeadlineOfTheSaga) {
  auto options = quick();
  options.remember = std::chrono::hours(240);
  auto sagas = Sagas::create(*store, options).value();
  std::mutex mutex;
  std::vector<WallTime> remembered;
  add_travel(sagas, [&](const SagaCall& call) {
    const auto barrier = call.barrier();
    const std::scoped_lock lock(mutex);
    remembered.push_back(barrier.deadline +
                         std::chrono::ceil<WallTime::duration>(barrier.retention));
    return saga_ok();
  });
  sagas.start().value();
  const auto started = system_clock().wall_now();
  const auto timed =
      sagas.start_saga({.definition = "travel", .timeout = std::chrono::hours(2)}).value();
  ASSERT_TRUE(comes_to(timed, SagaState::completed));
  const auto endless = sagas.start_saga({.definition = "travel"}).value();
  ASSERT_TRUE(comes_to(endless, SagaState::completed));
  const std::scoped_lock lock(mutex);
  ASSERT_EQ(remembered.size(), 2U);
  EXPECT_GE(remembered[0], started + std::chrono::hours(242));
  EXPECT_LE(remembered[0], started + std::chrono::hours(243));
  EXPECT_GE(remembered[1], started + std::chrono::hours(240));
  EXPECT_LE(remembered[1], started + std::chrono::hours(241));
}

TEST_P(SagasTest, NoCommitNoSaga) {
  auto sagas = Sagas::create(*store, quick()).value();
  add_travel(sagas, doing("book hotel"));
  sagas.start().value();
  auto tx = store->begin().value();
  const auto never = sagas.start_saga(*tx, {.definition = "travel"}).value();
  tx->rollback().value();
  tx.reset();
  const auto id = sagas.start_saga({.definition = "travel"}).value();
  ASSERT_TRUE(comes_to(id, SagaState::completed));
  EXPECT_FALSE(record(never));
}

TEST_P(SagasTest, TheSameKeyStartsOneSaga) {
  auto sagas = Sagas::create(*store, quick()).value();
  add_travel(sagas, doing("book hotel"));
  sagas.start().value();
  const auto first =
      sagas.start_saga({.definition = "travel", .input = "1", .key = "trip-77"}).value();
  const auto again =
      sagas.start_saga({.definition = "travel", .input = "1", .key = "trip-77"}).value();
  EXPECT_EQ(first, again);
  ASSERT_TRUE(comes_to(first, SagaState::completed));
  EXPECT_EQ(diary.count("book flight 1"), 1U);
}

TEST_P(SagasTest, AFunctionMayEndLater) {
  auto sagas = Sagas::create(*store, quick()).value();
  std::mutex mutex;
  std::optional<SagaCompletion> completion;
  add_travel(sagas, [&](const SagaCall& call) {
    const std::scoped_lock lock(mutex);
    completion = call.completion();
    return saga_later();
  });
  sagas.start().value();
  const auto id = sagas.start_saga({.definition = "travel"}).value();
  ASSERT_TRUE(eventually_so([&] {
    const std::scoped_lock lock(mutex);
    return completion.has_value();
  }));
  EXPECT_EQ(record(id)->state, SagaState::running);
  completion->complete(saga_ok());
  completion->complete(saga_fail("said too late"));
  ASSERT_TRUE(comes_to(id, SagaState::completed));
}

TEST_P(SagasTest, AReplyTokenEndsWhatWasAccepted) {
  auto sagas = Sagas::create(*store, quick()).value();
  std::mutex mutex;
  std::string token;
  add_travel(sagas, [&](const SagaCall& call) {
    const std::scoped_lock lock(mutex);
    token = call.reply_token();
    return saga_wait();
  });
  sagas.start().value();
  const auto id = sagas.start_saga({.definition = "travel"}).value();
  ASSERT_TRUE(eventually_so([&] {
    const std::scoped_lock lock(mutex);
    return !token.empty();
  }));
  EXPECT_EQ(sagas.reply(token + "0", saga_ok()).error().code, Code::auth_denied);
  EXPECT_EQ(sagas.reply(token, saga_ok())->state, SagaRequestReply::State::applied);
  ASSERT_TRUE(comes_to(id, SagaState::completed));
  const auto again = sagas.reply(token, saga_ok()).value();
  EXPECT_EQ(again.state, SagaRequestReply::State::refused) << again.reason;
}

TEST_P(SagasTest, CancelUndoesAndAnotherTenantMayNot) {
  auto sagas = Sagas::create(*store, quick()).value();
  add_travel(sagas, [](const SagaCall&) { return saga_wait(); });
  sagas.start().value();
  const auto id = sagas.start_saga({.definition = "travel"}).value();
  ASSERT_TRUE(eventually_so([&] { return record(id) && diary.count("book flight 1") == 1; }));
  const auto stranger = sagas
                            .request({.saga = id,
                                      .kind = SagaCommandKind::cancel,
                                      .tenant = "somebody-else",
                                      .actor = "eve"})
                            .value();
  EXPECT_EQ(stranger.state, SagaRequestReply::State::refused);
  EXPECT_NE(stranger.reason.find("AUTH.DENIED"), std::string::npos) << stranger.reason;
  const auto cancelled =
      sagas.request({.saga = id, .kind = SagaCommandKind::cancel, .actor = "ada"}).value();
  EXPECT_EQ(cancelled.state, SagaRequestReply::State::applied) << cancelled.reason;
  ASSERT_TRUE(comes_to(id, SagaState::cancelled));
  EXPECT_EQ(diary.count("cancel flight 1"), 1U);
}

TEST_P(SagasTest, ACommandIdIsAnsweredForItsSagaOnly) {
  auto sagas = Sagas::create(*store, quick()).value();
  add_travel(sagas, [](const SagaCall&) { return saga_wait(); });
  sagas.start().value();
  const auto saga = sagas.start_saga({.definition = "travel"}).value();
  const auto other = sagas.start_saga({.definition = "travel"}).value();
  ASSERT_TRUE(eventually_so([&] { return record(saga) && record(other); }));
  const auto pause = [&](const SagaId& id) {
    return sagas.request({.saga = id,
                          .kind = SagaCommandKind::pause,
                          .id = CommandId::parse("c1").value(),
                          .actor = "ada"});
  };
  EXPECT_EQ(pause(saga).value().state, SagaRequestReply::State::applied);
  EXPECT_EQ(pause(saga).value().state, SagaRequestReply::State::applied);
  EXPECT_EQ(pause(other).error().code, Code::tx_idempotent_mismatch);
}

TEST_P(SagasTest, ACommandOfASagaThatIsNotThereIsPending) {
  auto sagas = Sagas::create(*store, quick()).value();
  add_travel(sagas, doing("book hotel"));
  sagas.start().value();
  const auto nobody = SagaId::parse("nobody").value();
  const auto reply = sagas.request(
      {.saga = nobody, .kind = SagaCommandKind::cancel, .definition = "travel", .actor = "ada"},
      milliseconds(200));
  EXPECT_EQ(reply->state, SagaRequestReply::State::pending);
  EXPECT_EQ(sagas.request({.saga = nobody, .kind = SagaCommandKind::cancel}).error().code,
            Code::request_not_found);
}

TEST_P(SagasTest, OneOfAnIsolationKeyAtATime) {
  auto sagas = Sagas::create(*store, quick()).value();
  add_travel(sagas, [](const SagaCall&) { return saga_wait(); });
  sagas.start().value();
  const auto first = sagas.start_saga({.definition = "travel", .isolate = "ada"}).value();
  ASSERT_TRUE(eventually_so([&] { return record(first).has_value(); }));
  const auto second = sagas.start_saga({.definition = "travel", .isolate = "ada"}).value();
  const auto third = sagas.start_saga({.definition = "travel", .isolate = "bob"}).value();
  ASSERT_TRUE(eventually_so([&] { return record(third).has_value(); }));
  ASSERT_TRUE(eventually_so([&] { return store->saga_admin()->pending(second, 1)->empty(); }));
  EXPECT_FALSE(record(second));
}

TEST_P(SagasTest, ManySagasOfTwoProcessesEndOnce) {
  constexpr int many = 200;
  std::mutex mutex;
  std::multiset<std::string> booked;
  const auto book = [&](const SagaCall& call) {
    const std::scoped_lock lock(mutex);
    booked.insert(call.saga().str());
    return saga_ok();
  };
  auto one = Sagas::create(*store, quick()).value();
  auto other = Sagas::create(*store, quick()).value();
  add_travel(one, book);
  add_travel(other, book);
  one.start().value();
  std::vector<SagaId> ids;
  for (int number = 0; number < many; ++number) {
    ids.push_back(one.start_saga({.definition = "travel"}).value());
    if (number == many / 4) other.start().value();
    if (number == many / 2) (void)one.stop();
  }
  for (const auto& id : ids) ASSERT_TRUE(comes_to(id, SagaState::completed)) << id.str();
  EXPECT_TRUE(other.stop().ok());
  // Calls may be repeated after a hand-over, but none is left out.
  for (const auto& id : ids) EXPECT_GE(booked.count(id.str()), 1U);
}

TEST_P(SagasTest, AStepMayBeAMessageThatIsAnsweredLater) {
  std::mutex mutex;
  std::map<std::string, std::string> headers;
  auto outbox = Outbox::single_process(*store).value();
  outbox
      .listen("travel.ticket.issue.v1",
              [&](const Delivery& delivery) {
                const std::scoped_lock lock(mutex);
                for (const auto& [name, value] : delivery.headers()) headers[name] = value;
                diary.write(std::string(delivery.payload().view()));
                return done();
              })
      .value();
  outbox.start().value();
  auto sagas = Sagas::create(*store, quick()).value();
  auto definition = travel();
  definition.steps = {{.name = "issue",
                       .action = "outbox:travel.ticket.issue.v1",
                       .compensation = "none",
                       .wait = SagaWait::callback}};
  sagas.define(definition).value();
  sagas.start().value();
  const auto id = sagas.start_saga({.definition = "travel", .input = R"({"who":"Ada"})"}).value();
  ASSERT_TRUE(eventually_so([&] {
    const std::scoped_lock lock(mutex);
    return headers.contains("Saga-Reply-Token");
  }));
  EXPECT_EQ(diary.count(R"({"who":"Ada"})"), 1U);
  EXPECT_EQ(headers["Saga-Id"], id.str());
  EXPECT_EQ(headers["Idempotency-Key"], id.str() + "/issue/action/0");
  EXPECT_EQ(record(id)->state, SagaState::running);
  EXPECT_EQ(sagas.reply(headers["Saga-Reply-Token"], saga_ok())->state,
            SagaRequestReply::State::applied);
  ASSERT_TRUE(comes_to(id, SagaState::completed));
}

TEST_P(SagasTest, DefinitionsAreCheckedAndNeverChange) {
  auto sagas = Sagas::create(*store, quick()).value();
  EXPECT_EQ(sagas.define(travel()).error().code, Code::config_invalid) << "without functions";
  add_travel(sagas, doing("book hotel"));
  auto other = travel();
  other.steps.pop_back();
  EXPECT_EQ(sagas.define(other).error().code, Code::tx_invalid_state);
  other.version = 2;
  EXPECT_TRUE(sagas.define(other).ok());
  sagas.start().value();
  EXPECT_EQ(sagas.define(travel()).error().code, Code::tx_invalid_state);
  const auto old = sagas.start_saga({.definition = "travel", .version = 1}).value();
  const auto fresh = sagas.start_saga({.definition = "travel"}).value();
  ASSERT_TRUE(comes_to(old, SagaState::completed));
  ASSERT_TRUE(comes_to(fresh, SagaState::completed));
  EXPECT_EQ(record(old)->definition_version, 1U);
  EXPECT_EQ(record(fresh)->definition_version, 2U);
}

TEST_P(SagasTest, FiguresAreCounted) {
  testing::RecordingMetrics metrics;
  auto options = quick();
  options.metrics = &metrics;
  auto sagas = Sagas::create(*store, options).value();
  std::atomic<bool> refuses = true;
  const auto charge = [&](const SagaCall&) { return refuses ? saga_fail("no") : saga_ok(); };
  sagas.function("charge", charge).value();
  sagas.function("refund", [&](const SagaCall&) { return refuses ? saga_fail("no") : saga_ok(); })
      .value();
  sagas.function("fine", doing("fine")).value();
  const SagaStep paid{.name = "pay", .action = "fn:fine", .compensation = "fn:refund"};
  const SagaStep last{.name = "last", .action = "fn:charge", .compensation = "none"};
  sagas.define({.name = "dies", .on_stuck = SagaOnStuck::dead, .steps = {paid, last}}).value();
  sagas.define({.name = "waits", .on_stuck = SagaOnStuck::wait, .steps = {paid, last}}).value();
  sagas.start().value();
  const auto count = [&](std::string_view name, const std::string& definition) {
    return metrics.counter_value(name, {{"definition", definition}});
  };
  const auto compensations = [&](const std::string& definition, const std::string& result) {
    return metrics.counter_value("saga_compensations_total",
                                 {{"definition", definition}, {"result", result}});
  };
  const auto held = [&](const std::string& definition) {
    return metrics.counter_value("saga_held_total", {{"definition", definition}, {"step", "pay"}});
  };
  EXPECT_EQ(count("saga_failed_total", "dies"), 0);

  const auto dead = sagas.start_saga({.definition = "dies"}).value();
  ASSERT_TRUE(comes_to(dead, SagaState::failed));
  const auto waiting = sagas.start_saga({.definition = "waits"}).value();
  ASSERT_TRUE(eventually_so([&] { return held("waits") == 1; }));
  EXPECT_TRUE(eventually_so([&] { return count("saga_failed_total", "dies") == 1; }));
  EXPECT_EQ(count("saga_started_total", "dies"), 1);
  EXPECT_EQ(compensations("dies", "failed"), 1);
  EXPECT_EQ(held("dies"), 0) << "it is dead, and waits for nobody";
  EXPECT_EQ(compensations("waits", "failed"), 1);
  EXPECT_EQ(compensations("waits", "ok"), 0);

  refuses = false;
  for (const auto& id : {dead, waiting}) {
    const auto kind = SagaCommandKind::replay;
    EXPECT_EQ(sagas.request({.saga = id, .kind = kind, .actor = "ada"})->state,
              SagaRequestReply::State::applied);
    ASSERT_TRUE(comes_to(id, SagaState::cancelled));
  }
  EXPECT_TRUE(eventually_so([&] { return count("saga_compensated_total", "waits") == 1; }));
  EXPECT_EQ(compensations("dies", "ok"), 1);
  EXPECT_EQ(compensations("waits", "ok"), 1);
  EXPECT_EQ(metrics.observations("saga_compensation_seconds", {{"definition", "dies"}}).size(), 1U);
  EXPECT_EQ(metrics.counter_value("replay_total", {{"kind", "saga"}}), 2);
  const auto fine = sagas.start_saga({.definition = "waits"}).value();
  ASSERT_TRUE(comes_to(fine, SagaState::completed));
  EXPECT_TRUE(eventually_so([&] { return count("saga_completed_total", "waits") == 1; }));
  EXPECT_FALSE(
      metrics.observations("saga_step_seconds", {{"definition", "waits"}, {"step", "last"}})
          .empty());
}

TEST_P(SagasTest, WhatWaitsInTheStoreIsShown) {
  {
    auto sagas = Sagas::create(*store, quick()).value();
    add_travel(sagas, [](const SagaCall&) { return saga_wait(); });
    sagas.start().value();
    for (int number = 0; number < 3; ++number) {
      const auto id = sagas.start_saga({.definition = "travel"}).value();
      ASSERT_TRUE(eventually_so([&] { return record(id).has_value(); }));
    }
  }
  // A process looks when it starts.
  testing::RecordingMetrics metrics;
  auto options = quick();
  options.metrics = &metrics;
  auto sagas = Sagas::create(*store, options).value();
  add_travel(sagas, [](const SagaCall&) { return saga_wait(); });
  sagas.start().value();
  const auto active = [&](const char* state) {
    return metrics.gauge_value("saga_active", {{"definition", "travel"}, {"state", state}});
  };
  EXPECT_TRUE(eventually_so([&] { return active("running") == 3; }));
  EXPECT_EQ(active("compensating"), 0);
  EXPECT_TRUE(eventually_so(
      [&] { return metrics.gauge_value("saga_oldest_seconds", {{"definition", "travel"}}) > 0; }));
  EXPECT_EQ(metrics.gauge_value("saga_dead", {{"definition", "travel"}}), 0);
}

TEST_P(SagasTest, WhatWaitsForAPersonIsShown) {
  SagaId held;
  SagaId asked;
  {
    auto sagas = Sagas::create(*store, quick()).value();
    sagas.function("charge", [](const SagaCall&) -> SagaAnswer { throw std::runtime_error("?"); })
        .value();
    sagas
        .define({.name = "pay",
                 .steps = {{.name = "charge",
                            .action = "fn:charge",
                            .compensation = "none",
                            .idempotent = false,
                            .in_doubt = SagaInDoubt::wait}}})
        .value();
    sagas.define({.name = "ask", .steps = {{.name = "boss", .wait = SagaWait::approval}}}).value();
    sagas.start().value();
    held = sagas.start_saga({.definition = "pay"}).value();
    asked = sagas.start_saga({.definition = "ask"}).value();
    const auto waits = [&](const SagaId& id, SagaPersonWait wait) {
      return eventually_so([&] { return record(id) && record(id)->person == wait; });
    };
    EXPECT_TRUE(waits(held, SagaPersonWait::decision));
    EXPECT_TRUE(waits(asked, SagaPersonWait::approval));
  }
  testing::RecordingMetrics metrics;
  auto options = quick();
  options.metrics = &metrics;
  auto sagas = Sagas::create(*store, options).value();
  sagas.define({.name = "ask", .steps = {{.name = "boss", .wait = SagaWait::approval}}}).value();
  sagas.start().value();
  const auto waiting = [&](const char* kind) {
    return metrics.gauge_value("saga_waiting_person", {{"definition", "ask"}, {"kind", kind}});
  };
  EXPECT_TRUE(eventually_so([&] { return waiting("approval") == 1; }));
  EXPECT_EQ(waiting("decision"), 0);
  EXPECT_EQ(sagas.request({.saga = asked, .kind = SagaCommandKind::approve, .actor = "ada"})->state,
            SagaRequestReply::State::applied);
  EXPECT_EQ(record(asked)->person, SagaPersonWait::none);
}

TEST_P(SagasTest, ATokenOfTheSecretBeforeIsTakenWhileItIsGiven) {
  std::string token;
  auto sagas = Sagas::create(*store, quick()).value();
  add_travel(sagas, [&](const SagaCall& call) {
    token = call.reply_token();
    diary.write("asked");
    return saga_wait();
  });
  sagas.start().value();
  const auto id = sagas.start_saga({.definition = "travel"}).value();
  ASSERT_TRUE(eventually_so([&] { return diary.count("asked") == 1; }));
  auto options = quick();
  options.reply_secret_before = std::exchange(options.reply_secret, "another secret, of this year");
  auto rotated = options;
  rotated.reply_secret_before.clear();
  EXPECT_EQ(Sagas::create(*store, rotated)->reply(token, saga_ok()).error().code,
            Code::auth_denied);
  EXPECT_EQ(Sagas::create(*store, options)->reply(token, saga_ok())->state,
            SagaRequestReply::State::applied);
  ASSERT_TRUE(comes_to(id, SagaState::completed));
}

INSTANTIATE_TEST_SUITE_P(Memory, SagasTest,
                         ::testing::Values(SagaStoreCase{
                             "memory", [] { return std::make_shared<memory::MemoryStore>(); }}),
                         saga_store_name);

}  // namespace
}  // namespace sagabox::integration
