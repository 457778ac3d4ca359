#include "conformance/store_conformance.hpp"

namespace sagabox::conformance {
namespace {

using JobState = ReplayJob::State;

// A plain INSERT that takes an id again leaves two messages that have it. Here a message is written
// a second time: an id that was made for its message is not looked for among those that have ended.

TEST_P(StoreConformance, MessagesThatDieTwiceWithOneIdAreBothKept) {
  const auto owner = own();
  const auto sent = message();
  const auto first = write(sent);
  end(owner, first, spi::Verdict::dead);
  const auto second = write(sent);
  ASSERT_FALSE(second.duplicate);

  end(owner, second, spi::Verdict::dead);

  EXPECT_EQ(stats().dead, 2U);
  EXPECT_EQ(stats().pending, 0U);
  const auto dead = list(MessageState::dead);
  ASSERT_EQ(dead.size(), 2U);
  EXPECT_EQ(dead[0].sequence, first.sequence);
  EXPECT_EQ(dead[1].sequence, second.sequence);
  EXPECT_EQ(record(sent->id()).sequence, second.sequence) << "the newest is meant";
}

TEST_P(StoreConformance, MessagesDeliveredTwiceWithOneIdAreBothKept) {
  const auto owner = own();
  const auto sent = message();
  const auto other = message();
  const auto first = write(sent);
  end(owner, first, spi::Verdict::done);
  const auto second = write(sent);

  EXPECT_EQ(settled(owner, {settlement(second, spi::Verdict::done),
                            settlement(write(other), spi::Verdict::done)}),
            2U);

  EXPECT_EQ(stats().done, 3U);
  EXPECT_EQ(record(sent->id()).sequence, second.sequence);
}

TEST_P(StoreConformance, QuarantineOfAnIdThatIsDeadAlready) {
  const auto owner = own();
  const auto sent = message();
  end(owner, write(sent), spi::Verdict::dead);
  const auto second = write(sent);

  EXPECT_TRUE(moved(spi::Move::quarantine, sent->id()));

  EXPECT_EQ(list(MessageState::quarantined).at(0).sequence, second.sequence);
  EXPECT_EQ(stats().dead, 1U);
  end(owner, write(sent), spi::Verdict::park);
  EXPECT_EQ(stats().quarantined, 2U);
}

TEST_P(StoreConformance, ReplayOfAnIdThatIsDeadAndDelivered) {
  const auto owner = own();
  const auto sent = message();
  const auto dead = write(sent);
  end(owner, dead, spi::Verdict::dead);
  end(owner, write(sent), spi::Verdict::done);
  const auto other = write(message());
  end(owner, other, spi::Verdict::dead);

  const auto items = move(spi::Move::replay, {sent->id(), other.id}).items;

  EXPECT_TRUE(items.at(0).moved);
  EXPECT_EQ(items.at(0).was, MessageState::dead);
  EXPECT_TRUE(items.at(1).moved);
  EXPECT_EQ(stats().dead, 0U);
  EXPECT_EQ(stats().done, 1U) << "what was delivered stays in the archive";
  EXPECT_EQ(stats().pending, 2U);
  EXPECT_EQ(record(sent->id()).replays, 1U);

  const auto again = move(spi::Move::replay, {sent->id()}).items.at(0);
  EXPECT_FALSE(again.moved);
  EXPECT_EQ(again.was, MessageState::pending);
  EXPECT_TRUE(again.id_is_pending) << "the delivered one waits until the pending one has ended";
}

TEST_P(StoreConformance, JobReplaysAnIdThatIsDeadAndDelivered) {
  const auto owner = own();
  const auto sent = message();
  end(owner, write(sent), spi::Verdict::dead);
  end(owner, write(sent), spi::Verdict::done);
  const auto replayer = own_replays();
  const auto job = control().create_job({.table = table_}).value();

  const auto reply = advance(replayer, job.id);

  EXPECT_EQ(reply.rows, 1U);
  EXPECT_EQ(reply.job.state, JobState::finished);
  EXPECT_EQ(reply.job.skipped, 0U);
  EXPECT_EQ(stats().dead, 0U);
  EXPECT_EQ(stats().done, 1U);
  EXPECT_EQ(ids_of(read_fresh()), std::vector<std::string>{sent->id().str()});
}

TEST_P(StoreConformance, JobPassesOverWhatIsPendingAgain) {
  const auto owner = own();
  const auto before = write(message());
  const auto sent = message();
  const auto dead = write(sent);
  const auto after = write(message());
  for (const auto& row : {before, dead, after}) end(owner, row, spi::Verdict::dead);
  const auto pending = write(sent);
  const auto replayer = own_replays();
  const auto job = control().create_job({.table = table_}).value();
  EXPECT_EQ(job.matched, 3U);

  const auto first = advance(replayer, job.id, 2);
  EXPECT_EQ(first.rows, 1U);
  EXPECT_EQ(first.job.replayed, 1U);
  EXPECT_EQ(first.job.skipped, 1U);
  EXPECT_EQ(first.job.cursor, dead.sequence) << "past the one that was left";
  const auto last = advance(replayer, job.id, 2);

  EXPECT_EQ(last.rows, 1U);
  EXPECT_EQ(last.job.state, JobState::finished);
  EXPECT_EQ(last.job.replayed, 2U);
  EXPECT_EQ(last.job.skipped, 1U);
  EXPECT_EQ(last.job.error, "");
  EXPECT_EQ(control().jobs(table_).value().at(0), last.job);
  ASSERT_EQ(stats().dead, 1U);
  EXPECT_EQ(list(MessageState::dead).at(0).sequence, dead.sequence);
  EXPECT_EQ(record(sent->id()).sequence, pending.sequence);
}

TEST_P(StoreConformance, JobReplaysTheFirstOfTwoDeliveredWithOneId) {
  const auto owner = own();
  const auto sent = message("k");
  const auto first = write(sent);
  end(owner, first, spi::Verdict::done);
  const auto second = write(sent);
  end(owner, second, spi::Verdict::done);
  const auto other = write(message("k"));
  end(owner, other, spi::Verdict::done);
  const auto replayer = own_replays();
  const auto job =
      control()
          .create_job(
              {.table = table_, .from = MessageState::done, .filter = {.first = first.sequence}})
          .value();
  EXPECT_EQ(job.matched, 3U);

  const auto reply = advance(replayer, job.id);

  EXPECT_EQ(reply.rows, 2U);
  EXPECT_EQ(reply.job.state, JobState::finished);
  EXPECT_EQ(reply.job.replayed, 2U);
  EXPECT_EQ(reply.job.skipped, 1U);
  EXPECT_EQ(list(MessageState::done).at(0).sequence, second.sequence);
  EXPECT_EQ(stats().done, 1U);
  EXPECT_EQ(ids_of(read_fresh()), (std::vector{sent->id().str(), other.id.str()}));
}

TEST_P(StoreConformance, ReleaseOntoAPendingIdWaits) {
  const auto owner = own();
  const auto sent = message();
  const auto parked = write(sent);
  end(owner, parked, spi::Verdict::park);
  const auto other = write(message());
  end(owner, other, spi::Verdict::park);
  const auto pending = write(sent);

  const auto items = move(spi::Move::release, {sent->id(), other.id}).items;

  EXPECT_FALSE(items.at(0).moved);
  EXPECT_TRUE(items.at(0).id_is_pending);
  EXPECT_TRUE(items.at(1).moved) << "one that cannot go holds up no other";
  EXPECT_EQ(list(MessageState::quarantined).at(0).sequence, parked.sequence);

  end(owner, pending, spi::Verdict::done);
  EXPECT_TRUE(moved(spi::Move::release, sent->id()));
  EXPECT_EQ(stats().quarantined, 0U);
}

TEST_P(StoreConformance, MoveActsOnTheRowWhoseSequenceIsGiven) {
  const auto owner = own();
  const auto sent = message();
  const auto first = write(sent);
  ASSERT_EQ(settled(owner, {settlement(first, spi::Verdict::dead, 7)}), 1U);
  const auto second = write(sent);
  end(owner, second, spi::Verdict::dead);
  const auto pending = write(sent);
  const auto before = log_end();

  const auto item = move_row(spi::Move::quarantine, sent->id(), first.sequence);

  EXPECT_TRUE(item.moved);
  EXPECT_EQ(item.was, MessageState::dead);
  EXPECT_EQ(list(MessageState::quarantined).at(0).sequence, first.sequence);
  EXPECT_EQ(list(MessageState::dead).at(0).sequence, second.sequence);
  EXPECT_EQ(list(MessageState::pending).at(0).sequence, pending.sequence);
  EXPECT_EQ(stats().quarantined, 1U);
  EXPECT_EQ(stats().dead, 1U);
  EXPECT_EQ(stats().pending, 1U);
  ASSERT_EQ(log(before).size(), 1U);
  EXPECT_EQ(log(before).at(0).event.attempt, 7U) << "the log names the row that was moved";
}

TEST_P(StoreConformance, MoveOfARowThatIsGoneMovesNoOtherOfItsId) {
  const auto owner = own();
  const auto sent = message();
  const auto dead = write(sent);
  end(owner, dead, spi::Verdict::dead);
  ASSERT_TRUE(moved(spi::Move::replay, sent->id()));

  const auto item = move_row(spi::Move::quarantine, sent->id(), dead.sequence);

  EXPECT_FALSE(item.moved);
  EXPECT_EQ(item.was, std::nullopt);
  EXPECT_EQ(stats().pending, 1U);
  EXPECT_EQ(stats().quarantined, 0U);
}

TEST_P(StoreConformance, RowThatIsNamedBySequenceDoesNotBecomeASecondPendingOne) {
  const auto owner = own();
  const auto sent = message();
  const auto parked = write(sent);
  end(owner, parked, spi::Verdict::park);
  const auto dead = write(sent);
  end(owner, dead, spi::Verdict::dead);
  const auto pending = write(sent);

  const auto released = move_row(spi::Move::release, sent->id(), parked.sequence);
  EXPECT_FALSE(released.moved);
  EXPECT_EQ(released.was, MessageState::quarantined);
  EXPECT_TRUE(released.id_is_pending);
  const auto replayed = move_row(spi::Move::replay, sent->id(), dead.sequence);
  EXPECT_FALSE(replayed.moved);
  EXPECT_EQ(replayed.was, MessageState::dead);
  EXPECT_TRUE(replayed.id_is_pending);
  const auto not_parked = move_row(spi::Move::release, sent->id(), dead.sequence);
  EXPECT_EQ(not_parked.was, MessageState::dead);
  EXPECT_FALSE(not_parked.id_is_pending) << "a dead one is never released";

  end(owner, pending, spi::Verdict::done);
  EXPECT_TRUE(move_row(spi::Move::release, sent->id(), parked.sequence).moved)
      << "though the dead one is newer";
  EXPECT_EQ(list(MessageState::pending).at(0).sequence, parked.sequence);
  EXPECT_EQ(stats().dead, 1U);
}

TEST_P(StoreConformance, FindTakesTheRowOfTheStateOrSequenceThatIsWanted) {
  const auto owner = own();
  const auto sent = message();
  const auto first = write(sent);
  end(owner, first, spi::Verdict::dead);
  const auto second = write(sent);
  end(owner, second, spi::Verdict::dead);
  const auto delivered = write(sent);
  end(owner, delivered, spi::Verdict::done);
  const auto pending = write(sent);
  const auto sequence_of = [&](spi::FindRequest request) {
    const auto found = admin().find(request).value();
    return found ? found->sequence : Sequence{};
  };
  const auto of_state = [&](MessageState state) {
    return sequence_of({.table = table_, .id = sent->id(), .state = state});
  };

  EXPECT_EQ(sequence_of({.table = table_, .id = sent->id()}), pending.sequence);
  EXPECT_EQ(of_state(MessageState::pending), pending.sequence);
  EXPECT_EQ(of_state(MessageState::dead), second.sequence) << "the newest";
  EXPECT_EQ(of_state(MessageState::done), delivered.sequence);
  EXPECT_EQ(of_state(MessageState::quarantined), Sequence{});
  EXPECT_EQ(sequence_of({.table = table_, .id = sent->id(), .sequence = first.sequence}),
            first.sequence);
}

/// Each of the states in which a message may have ended, in both orders.
TEST_P(StoreConformance, KnownIdIsAnsweredByThePendingRowElseByTheNewest) {
  const auto owner = own();
  const std::vector<std::pair<spi::Verdict, spi::Verdict>> ends{
      {spi::Verdict::dead, spi::Verdict::done},
      {spi::Verdict::done, spi::Verdict::dead},
      {spi::Verdict::dead, spi::Verdict::dead},
      {spi::Verdict::done, spi::Verdict::done},
      {spi::Verdict::park, spi::Verdict::done}};
  for (const auto& [first_end, second_end] : ends) {
    const auto sent = message();
    const auto first = write(sent);
    const auto again = build({.id = sent->id().str()});
    end(owner, first, first_end);
    const auto second = write(sent);
    EXPECT_EQ(write(again).sequence, second.sequence) << "pending, though another has ended";
    end(owner, second, second_end);

    const auto answered = write(again);

    EXPECT_TRUE(answered.duplicate);
    EXPECT_EQ(answered.sequence, second.sequence)
        << static_cast<int>(first_end) << " then " << static_cast<int>(second_end);
  }
  EXPECT_EQ(stats().pending, 0U);
}

TEST_P(StoreConformance, ReleasedRowAnswersForItsIdThoughAnotherEndedLater) {
  const auto owner = own();
  const auto sent = message();
  const auto parked = write(sent);
  end(owner, parked, spi::Verdict::park);
  end(owner, write(sent), spi::Verdict::dead);
  ASSERT_TRUE(move_row(spi::Move::release, sent->id(), parked.sequence).moved);

  const auto answered = write(build({.id = sent->id().str()}));

  EXPECT_TRUE(answered.duplicate);
  EXPECT_EQ(answered.sequence, parked.sequence);
}

}  // namespace
}  // namespace sagabox::conformance
