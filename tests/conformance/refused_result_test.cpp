#include "conformance/store_conformance.hpp"

#include <array>
#include <cstdint>

namespace sagabox::conformance {
namespace {

using State = StoredRow::State;

/// JSON that a producer can put into the column, and that is not an array of our failures.
constexpr std::array foreign_histories{
    R"(1)",
    R"("text")",
    R"({})",
    R"(null)",
    R"([1, null, "a", [2]])",
    R"([{"number": "abc"}, {"number": 1e300}, {"number": {}}, {}])",
};

spi::Settlement failing(const Written& row, spi::Verdict verdict, std::uint32_t attempts) {
  return {.sequence = row.sequence,
          .shard = row.shard,
          .id = row.id,
          .verdict = verdict,
          .attempts = attempts,
          .code = Code::tx_handler_failed,
          .error = "as always"};
}

spi::Settlement parked_instead(const Written& row, std::uint32_t attempts) {
  return {.sequence = row.sequence,
          .shard = row.shard,
          .id = row.id,
          .verdict = spi::Verdict::park,
          .attempts = attempts,
          .code = Code::schema_validation_failed,
          .note = "it WAS delivered, but its result could not be stored: because"};
}

TEST_P(StoreConformance, RowWithAForeignHistoryIsSettledWhateverItsVerdict) {
  const auto owner = own();
  for (const auto* history : foreign_histories) {
    SCOPED_TRACE(history);
    const auto rows = write(messages(5));
    for (const auto& row : rows) fixture_->put_history(table_, row.sequence, history).value();
    ASSERT_EQ(settled(owner, {failing(rows[0], spi::Verdict::retry, 1),
                              failing(rows[1], spi::Verdict::attempt, 1),
                              failing(rows[2], spi::Verdict::dead, 1),
                              failing(rows[3], spi::Verdict::park, 1),
                              settlement(rows[4], spi::Verdict::done)}),
              5U);
    EXPECT_EQ(look(rows[0].id).state, State::waiting);
    EXPECT_EQ(look(rows[1].id).state, State::pending);
    EXPECT_EQ(look(rows[2].id).state, State::dead);
    EXPECT_EQ(look(rows[3].id).state, State::quarantined);
    EXPECT_EQ(look(rows[4].id).state, State::done);
    const auto kept = record(rows[2].id).history;
    ASSERT_FALSE(kept.empty());
    EXPECT_EQ(kept.back().number, 1U) << "our own failure is there";
    EXPECT_EQ(kept.back().error, "as always");
    // And again, now that our own entry stands beside what was there.
    ASSERT_EQ(settled(owner, {failing(rows[0], spi::Verdict::dead, 2)}), 1U);
    EXPECT_EQ(record(rows[0].id).history.back().number, 2U);
    ASSERT_EQ(settled(owner, {settlement(rows[1], spi::Verdict::done)}), 1U);
  }
}

TEST_P(StoreConformance, RowWhoseResultIsRefusedIsQuarantinedWithANote) {
  const auto owner = own();
  const auto rows = write(messages(3));
  // Fresh, waiting with a history, and with one that nobody can read.
  ASSERT_EQ(settled(owner, {failing(rows[1], spi::Verdict::retry, 1)}), 1U);
  fixture_->put_history(table_, rows[2].sequence, "1").value();

  ASSERT_EQ(settled(owner, {parked_instead(rows[0], 1), parked_instead(rows[1], 2),
                            parked_instead(rows[2], 1)}),
            3U);

  EXPECT_EQ(stats().pending, 0U);
  EXPECT_EQ(stats().waiting, 0U);
  EXPECT_EQ(stats().quarantined, 3U);
  for (const auto& row : rows) {
    const auto parked = record(row.id);
    EXPECT_EQ(parked.state, MessageState::quarantined);
    EXPECT_EQ(parked.sequence, row.sequence);
    EXPECT_EQ(parked.note, "it WAS delivered, but its result could not be stored: because");
    EXPECT_EQ(parked.code, Code::schema_validation_failed);
    EXPECT_EQ(parked.error, "");
    EXPECT_TRUE(parked.history.empty()) << "nothing of the row is looked at";
  }
  EXPECT_EQ(record(rows[1].id).attempts, 2U);
  EXPECT_EQ(settled(owner, {parked_instead(rows[0], 1)}), 0U) << "it may be repeated";
}

TEST_P(StoreConformance, RowThatWasQuarantinedForARefusedResultCanBeReleasedAndReplayed) {
  const auto owner = own();
  const auto rows = write(messages(2));
  ASSERT_EQ(settled(owner, {parked_instead(rows[0], 1), parked_instead(rows[1], 1)}), 2U);
  ASSERT_TRUE(moved(spi::Move::release, rows[0].id));
  ASSERT_TRUE(moved(spi::Move::replay, rows[1].id));
  EXPECT_EQ(record(rows[0].id).note, "");
  EXPECT_EQ(stats().pending, 2U);
  EXPECT_EQ(stats().quarantined, 0U);
}

TEST_P(StoreConformance, AttemptsThatNoColumnHoldsDoNotKeepARowFromBeingSettled) {
  const auto owner = own();
  const auto rows = write(messages(3));
  ASSERT_EQ(settled(owner, {failing(rows[0], spi::Verdict::retry, UINT32_MAX),
                            failing(rows[1], spi::Verdict::dead, UINT32_MAX),
                            settlement(rows[2], spi::Verdict::done, UINT32_MAX)}),
            3U);
  EXPECT_GE(look(rows[0].id).attempts, std::uint32_t{INT32_MAX});
  EXPECT_GE(look(rows[1].id).attempts, std::uint32_t{INT32_MAX});
}

}  // namespace
}  // namespace sagabox::conformance
