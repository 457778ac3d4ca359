#include "integration/sagas/world.hpp"

#include <atomic>
#include <stdexcept>

/// Dead sagas, and those that wait for a person, go on when an operator says so.
namespace sagabox::integration {
namespace {

using Lines = std::vector<std::string>;

SagaRequestReply by_hand(Sagas& sagas, SagaRequest request) {
  request.actor = "ada";
  return sagas.request(request).value();
}

std::vector<std::string> events_of(const std::shared_ptr<Store>& store, const SagaId& id) {
  std::vector<std::string> events;
  for (const auto& entry : store->saga_admin()->history(id, 0, 1000).value()) {
    events.push_back(entry.event);
  }
  return events;
}

TEST_P(SagasTest, ADeadSagaIsReplayedFromItsFailedStep) {
  using State = SagaRequestReply::State;
  auto definition = travel();
  definition.steps[1].pivot = true;
  definition.steps[1].compensation.reset();
  definition.steps[2].compensation = "none";
  auto sagas = Sagas::create(*store, quick()).value();
  std::atomic<bool> mended = false;
  for (const std::string step : {"flight", "hotel"}) {
    sagas.function("book_" + step, doing("book " + step)).value();
  }
  sagas.function("cancel_flight", doing("cancel flight")).value();
  sagas
      .function("book_car",
                [&](const SagaCall& call) {
                  diary.write(call.idempotency_key().substr(call.saga().str().size()));
                  return mended ? saga_ok() : saga_fail("no car");
                })
      .value();
  sagas.define(definition).value();
  sagas.start().value();
  const auto id = sagas.start_saga({.definition = "travel"}).value();
  ASSERT_TRUE(comes_to(id, SagaState::failed));

  const auto back =
      by_hand(sagas, {.saga = id, .kind = SagaCommandKind::replay, .into_compensation = true});
  EXPECT_EQ(back.state, State::refused) << "its pivot has happened";
  EXPECT_EQ(by_hand(sagas, {.saga = id, .kind = SagaCommandKind::quarantine}).state,
            State::applied);
  EXPECT_EQ(by_hand(sagas, {.saga = id, .kind = SagaCommandKind::replay}).state, State::refused)
      << "it is quarantined";
  EXPECT_EQ(by_hand(sagas, {.saga = id, .kind = SagaCommandKind::release}).state, State::applied);

  // It may fail again, and be replayed again.
  EXPECT_EQ(by_hand(sagas, {.saga = id, .kind = SagaCommandKind::replay}).state, State::applied);
  ASSERT_TRUE(eventually_so([&] { return diary.count("/car/action/1") == 1; }));
  ASSERT_TRUE(comes_to(id, SagaState::failed));
  mended = true;
  const auto replayed = by_hand(sagas, {.saga = id, .kind = SagaCommandKind::replay});
  EXPECT_EQ(replayed.state, State::applied) << replayed.reason;
  ASSERT_TRUE(comes_to(id, SagaState::completed));
  EXPECT_EQ(diary.all(), (Lines{"book flight 1", "book hotel 1", "/car/action/0", "/car/action/1",
                                "/car/action/2"}))
      << "what was done is not done again, and each round has a key of its own";
  EXPECT_EQ(by_hand(sagas, {.saga = id, .kind = SagaCommandKind::replay}).state, State::refused)
      << "it has completed";
  const auto events = events_of(store, id);
  EXPECT_EQ(std::ranges::count(events, "TxSagaFailed"), 2);
  EXPECT_EQ(std::ranges::count(events, "Replayed"), 2);
  EXPECT_EQ(events.back(), "TxSagaCompleted");
}

TEST_P(SagasTest, ADeadCompensationIsReplayed) {
  auto definition = travel();
  definition.on_stuck = SagaOnStuck::dead;
  auto sagas = Sagas::create(*store, quick()).value();
  std::atomic<bool> mended = false;
  sagas.function("book_flight", doing("book flight")).value();
  sagas
      .function("cancel_flight",
                [&](const SagaCall& call) {
                  diary.write(call.idempotency_key().substr(call.saga().str().size()));
                  return mended ? saga_ok() : saga_fail("the airline is gone");
                })
      .value();
  sagas.function("book_hotel", doing("book hotel")).value();
  sagas.function("cancel_hotel", doing("cancel hotel")).value();
  sagas.function("book_car", doing("book car", saga_fail("no car"))).value();
  sagas.function("cancel_car", doing("cancel car")).value();
  sagas.define(definition).value();
  sagas.start().value();
  const auto id = sagas.start_saga({.definition = "travel"}).value();
  ASSERT_TRUE(comes_to(id, SagaState::failed));
  mended = true;
  const auto replayed = by_hand(sagas, {.saga = id, .kind = SagaCommandKind::replay});
  EXPECT_EQ(replayed.state, SagaRequestReply::State::applied) << replayed.reason;
  ASSERT_TRUE(comes_to(id, SagaState::cancelled));
  EXPECT_EQ(diary.all(), (Lines{"book flight 1", "book hotel 1", "book car 1", "cancel hotel 1",
                                "/flight/compensation/0", "/flight/compensation/1"}))
      << "from the compensation that failed, and only that one";
}

TEST_P(SagasTest, ASagaThatWaitsForAPersonIsReplayedStraightIntoCompensation) {
  auto definition = travel();
  definition.steps[1].idempotent = false;
  definition.steps[1].in_doubt = SagaInDoubt::wait;
  auto sagas = Sagas::create(*store, quick()).value();
  for (const std::string step : {"flight", "car"}) {
    sagas.function("book_" + step, doing("book " + step)).value();
  }
  for (const std::string step : {"flight", "hotel", "car"}) {
    sagas.function("cancel_" + step, doing("cancel " + step)).value();
  }
  sagas
      .function("book_hotel",
                [this](const SagaCall&) -> SagaAnswer {
                  diary.write("book hotel");
                  throw std::runtime_error("the line is dead");
                })
      .value();
  sagas.define(definition).value();
  sagas.start().value();
  const auto id = sagas.start_saga({.definition = "travel"}).value();
  ASSERT_TRUE(eventually_so([&] {
    const auto events = events_of(store, id);
    return std::ranges::find(events, "StepHeld") != events.end();
  }));
  EXPECT_EQ(record(id)->state, SagaState::running);
  const auto forward = by_hand(sagas, {.saga = id, .kind = SagaCommandKind::replay});
  EXPECT_EQ(forward.state, SagaRequestReply::State::refused) << "it must not run twice";
  const auto back =
      by_hand(sagas, {.saga = id, .kind = SagaCommandKind::replay, .into_compensation = true});
  EXPECT_EQ(back.state, SagaRequestReply::State::applied) << back.reason;
  ASSERT_TRUE(comes_to(id, SagaState::cancelled));
  EXPECT_EQ(diary.all(),
            (Lines{"book flight 1", "book hotel", "cancel hotel 1", "cancel flight 1"}));
}

}  // namespace
}  // namespace sagabox::integration
