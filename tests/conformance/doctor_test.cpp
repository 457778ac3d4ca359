#include "conformance/store_conformance.hpp"

#include <algorithm>

namespace sagabox::conformance {
namespace {

#define SKIP_WITHOUT_DOCTOR() \
  if (store().doctor() == nullptr) GTEST_SKIP() << "this store does not tell of itself"

TEST_P(StoreConformance, DoctorNamesTheOutboxesThatWereMade) {
  SKIP_WITHOUT_DOCTOR();
  const auto before = store().doctor()->tables().value();
  const auto another = TableName::parse("another").value();
  outbox().prepare(another).value();
  const auto after = store().doctor()->tables().value();
  EXPECT_EQ(after.size(), before.size() + 1);
  EXPECT_EQ(std::ranges::count(after, another), 1);
  EXPECT_EQ(std::ranges::count(after, table_), 1);
  EXPECT_TRUE(std::ranges::is_sorted(after));
}

TEST_P(StoreConformance, LastSequenceIsThatOfTheLastWritten) {
  SKIP_WITHOUT_DOCTOR();
  EXPECT_EQ(store().doctor()->last_sequence(table_).value(), Sequence{0});
  const auto written = write(messages(3));
  EXPECT_EQ(store().doctor()->last_sequence(table_).value(), written.back().sequence);
  // Delivered or not: it was given out.
  const auto owner = own();
  settle(owner, {settlement(written.back(), spi::Verdict::done, 1)});
  EXPECT_EQ(store().doctor()->last_sequence(table_).value(), written.back().sequence);
}

TEST_P(StoreConformance, DoctorFindsNoFaultInASchemaThatWasJustMade) {
  SKIP_WITHOUT_DOCTOR();
  EXPECT_TRUE(store().doctor()->is_current().value());
  for (const auto& finding : store().doctor()->findings().value()) {
    EXPECT_EQ(finding.what.find("schema"), std::string::npos) << finding.what;
    EXPECT_EQ(finding.what.find("index"), std::string::npos) << finding.what;
    EXPECT_NE(finding.cure, "") << finding.what;
  }
}

}  // namespace
}  // namespace sagabox::conformance
