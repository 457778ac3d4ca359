#include "stores/schema_steps.hpp"

#include <gtest/gtest.h>

#include <array>

namespace sagabox::schema {
namespace {

constexpr std::array note_steps{
    Migration{1, "notes", "make 1", "drop 1", "make 1 of {table}", "drop 1 of {table}"},
    Migration{2, "authors", "make 2", "drop 2", "make 2 of {table}", "drop 2 of {table}"},
};
constexpr Engine notes{.name = "notes", .record = "note_migration", .steps = note_steps};

std::string as_is(std::string_view sql) { return std::string(sql); }

std::vector<std::string> texts(const std::vector<Part>& parts) {
  std::vector<std::string> all;
  for (const auto& part : parts) all.push_back(part.text());
  return all;
}

std::vector<TableName> named(const std::vector<std::string>& names) {
  std::vector<TableName> all;
  for (const auto& name : names) all.push_back(TableName::parse(name).value());
  return all;
}

using Strings = std::vector<std::string>;

TEST(SchemaSteps, MissingOnesComeByStepAndTheSharedPartFirst) {
  EXPECT_EQ(
      texts(missing(notes, {}, named({"b", "a"}))),
      (Strings{"step 1 (notes)", "step 1 (notes, outbox b)", "step 1 (notes, outbox a)",
               "step 2 (authors)", "step 2 (authors, outbox b)", "step 2 (authors, outbox a)"}));
  const std::vector<Applied> applied{{1, ""}, {1, "a"}, {2, ""}, {7, ""}};
  EXPECT_EQ(texts(missing(notes, applied, named({"a", "b"}))),
            (Strings{"step 1 (notes, outbox b)", "step 2 (authors, outbox a)",
                     "step 2 (authors, outbox b)"}));
  EXPECT_TRUE(missing(notes, applied, {}).empty());
}

TEST(SchemaSteps, RemovedOnesComeNewestFirstAndTheSharedPartLast) {
  const std::vector<Applied> applied{{1, ""}, {2, ""}, {1, "a"}, {2, "a"}, {1, "b"}};
  EXPECT_EQ(texts(removable(notes, applied, 0).value()),
            (Strings{"step 2 (authors, outbox a)", "step 2 (authors)", "step 1 (notes, outbox b)",
                     "step 1 (notes, outbox a)", "step 1 (notes)"}));
  EXPECT_EQ(texts(removable(notes, applied, 1).value()),
            (Strings{"step 2 (authors, outbox a)", "step 2 (authors)"}));
  EXPECT_TRUE(removable(notes, applied, 2).value().empty());
}

TEST(SchemaSteps, StepsOfANewerVersionAreLeftToIt) {
  const std::vector<Applied> applied{{1, ""}, {2, ""}, {3, ""}};
  EXPECT_EQ(removable(notes, applied, 2).error().code, Code::tx_invalid_state);
  EXPECT_TRUE(removable(notes, applied, 3).ok());
}

TEST(SchemaSteps, OutboxesAreThoseOfTheRecordOnce) {
  const std::vector<Applied> applied{{1, "b"}, {1, ""}, {2, "b"}, {1, "a"}};
  EXPECT_EQ(outboxes_of(applied).value(), named({"a", "b"}));
}

TEST(SchemaSteps, ChecksumIsComparedWhereOneWasRecorded) {
  const std::vector<Applied> applied{{1, "", WallTime{}, checksum("make 1")},
                                     {1, "a", WallTime{}, checksum("made otherwise")},
                                     {2, "", WallTime{}, ""}};
  const auto steps = status_of(notes, applied, named({"a"}), as_is);
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_FALSE(steps[0].checksum_differs);
  EXPECT_TRUE(steps[1].checksum_differs);
  EXPECT_FALSE(steps[2].checksum_differs) << "an older version recorded none";
  EXPECT_FALSE(steps[3].applied_at.has_value());
}

TEST(SchemaSteps, EnginesThatWereNotMadeAreShownOnlyWhileNothingWas) {
  const Engine others{.name = "others", .record = "other_migration", .steps = note_steps};
  const std::vector<Applied> applied{{1, ""}};
  const auto steps = [&](std::span<const Applied> of_notes) {
    auto all = status_of(notes, of_notes, {}, as_is);
    for (auto& step : status_of(others, {}, {}, as_is)) all.push_back(step);
    return shown(all).size();
  };
  EXPECT_EQ(steps({}), 4U);
  EXPECT_EQ(steps(applied), 2U);
}

TEST(SchemaSteps, OutboxIsRefusedByAnEngineThatHasNone) {
  constexpr std::array alone{Migration{1, "keys", "make", "drop"}};
  const Engine keys{.name = "keys", .record = "key_migration", .steps = alone};
  const auto orders = TableName::parse("orders").value();
  EXPECT_EQ(check_up(keys, {.outbox = orders}).error().code, Code::config_invalid);
  EXPECT_TRUE(check_up(keys, {}).ok());
  EXPECT_TRUE(check_up(notes, {.outbox = orders}).ok());
}

}  // namespace
}  // namespace sagabox::schema
