#include "stores/sql/statement.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::sql {
namespace {

Result<Sections> parsed(std::string_view text) {
  const std::array files{File{"some.sql", text}};
  return Sections::parse(files, "app");
}

std::string problem_of(std::string_view text) {
  auto sections = parsed(text);
  return sections.ok() ? "" : sections.error().message;
}

constexpr std::string_view two_sections = R"sql(-- What this is for.

-- name: pause
-- $1 outbox.
INSERT INTO "{schema}".pause
VALUES ($1, 'a;b');

-- name: drop
DELETE FROM "{table}" WHERE id = $1;
SELECT '{scope}';
)sql";

TEST(SqlSections, ASectionIsOneStatementOrSeveral) {
  auto sections = parsed(two_sections).value();
  const auto pause = sections.take("pause");
  ASSERT_EQ(pause.parts().size(), 1U);
  EXPECT_EQ(pause.parts()[0].sql, "INSERT INTO \"app\".pause\nVALUES ($1, 'a;b')");
  const auto drop = sections.take("drop").for_table(TableName::parse("orders").value());
  ASSERT_EQ(drop.parts().size(), 2U);
  EXPECT_EQ(drop.parts()[0].sql, "DELETE FROM \"orders\" WHERE id = $1");
  EXPECT_EQ(drop.parts()[1].sql, "SELECT 'outbox:orders'");
  EXPECT_TRUE(sections.check().ok());
}

TEST(SqlSections, PreparedNamesDifferBySchemaTableAndPart) {
  auto one = parsed(two_sections).value().take("drop");
  const std::array files{File{"some.sql", two_sections}};
  auto other = Sections::parse(files, "other").value().take("drop");
  const auto orders = one.for_table(TableName::parse("orders").value());
  const auto bills = one.for_table(TableName::parse("bills").value());
  EXPECT_NE(one.parts()[0].name, other.parts()[0].name);
  EXPECT_NE(orders.parts()[0].name, bills.parts()[0].name);
  EXPECT_NE(orders.parts()[0].name, orders.parts()[1].name);
  EXPECT_LE(orders.parts()[1].name.size(), 63U);
}

/// The statements of one section.
std::vector<std::string> statements_of(const std::string& text) {
  std::vector<std::string> all;
  auto sections = parsed("-- name: a\n" + text + "\n");
  if (!sections.ok()) return {sections.error().message};
  const auto section = sections->take("a");
  for (const auto& part : section.parts()) all.push_back(part.sql);
  return all;
}

using Texts = std::vector<std::string>;

TEST(SqlSections, QuotesHideEndsAndCommentsAndNames) {
  EXPECT_EQ(statements_of("SELECT ';\n-- name: b\n';\nSELECT 1;"),
            (Texts{"SELECT ';\n-- name: b\n'", "SELECT 1"}));
  EXPECT_EQ(statements_of("SELECT 'it''s;\n /* ' || \"a;\nb\";"),
            (Texts{"SELECT 'it''s;\n /* ' || \"a;\nb\""}));
  EXPECT_EQ(statements_of("DO $do$ BEGIN\n  PERFORM '--', $$;\n$$;\n\nEND $do$;"),
            (Texts{"DO $do$ BEGIN\n  PERFORM '--', $$;\n$$;\n\nEND $do$"}));
  EXPECT_EQ(statements_of("SELECT E'\\';\n', 1;\nSELECT 'a\\';\nSELECT 2;"),
            (Texts{"SELECT E'\\';\n', 1", "SELECT 'a\\'", "SELECT 2"}));
  EXPECT_EQ(statements_of("SELECT $1, a$b, x$1$;\nSELECT $2;"),
            (Texts{"SELECT $1, a$b, x$1$", "SELECT $2"}));
}

TEST(SqlSections, CommentsAreTakenOut) {
  EXPECT_EQ(statements_of("SELECT 1, -- one; 'two\n  -- all of it\n  2; -- that's it\nSELECT 3;"),
            (Texts{"SELECT 1,\n  2", "SELECT 3"}));
  EXPECT_EQ(statements_of("SELECT/* a;\n -- name: b\n ; it's */1;"), (Texts{"SELECT \n\n1"}));
}

TEST(SqlSections, AQuoteThatIsNotClosedIsRefused) {
  EXPECT_EQ(problem_of("-- name: a\nSELECT 'x;\n-- name: b\nSELECT 1;\n"),
            "some.sql:4: a quote or a comment is not closed");
  EXPECT_EQ(problem_of("-- name: a\nSELECT $x$1;\n"),
            "some.sql:2: a quote or a comment is not closed");
}

TEST(SqlSections, AWrongFileIsRefusedWithItsLine) {
  EXPECT_EQ(problem_of("SELECT 1;\n"), "some.sql:1: give the statement a name: -- name: …");
  EXPECT_EQ(problem_of("-- name: A b\nSELECT 1;\n"),
            "some.sql:1: a name has only lower-case letters, digits and _");
  EXPECT_EQ(problem_of("-- name: a\nSELECT 1\n"), "some.sql:2: end the statement with ;");
  EXPECT_EQ(problem_of("-- name: a\nSELECT 1\n-- name: b\nSELECT 2;\n"),
            "some.sql:3: end the statement with ;");
  EXPECT_EQ(problem_of("-- name: a\n-- nothing\n"), "some.sql:2: \"a\" has no statement");
  EXPECT_EQ(problem_of("-- name: a\nSELECT 1;\n\n-- name: a\nSELECT 2;\n"),
            "some.sql:4: the name \"a\" is used twice");
  EXPECT_EQ(problem_of(two_sections), "");
}

TEST(SqlSections, ANameInTwoFilesIsRefused) {
  const std::array files{File{"one.sql", "-- name: a\nSELECT 1;\n"},
                         File{"two.sql", "\n-- name: a\nSELECT 1;\n"}};
  EXPECT_EQ(Sections::parse(files).error().message, "two.sql:2: the name \"a\" is used twice");
}

TEST(SqlSections, WhatDoesNotFitTogetherIsFoundEarly) {
  auto unused = parsed(two_sections).value();
  (void)unused.take("pause");
  EXPECT_EQ(unused.check().error().message, "nothing uses these statements: drop");
  auto unknown = parsed(two_sections).value();
  EXPECT_TRUE(unknown.take("resume").parts().empty());
  EXPECT_EQ(unknown.check().error().message, "no .sql file has: resume");
}

struct NativeStatements {
  template <class Call>
  void each(Call&& call) {
    call(pause, "pause");
    call(drop, "drop");
  }
  Part pause;
  Statement drop;
};

TEST(SqlSections, NativeCodeHasTheOneStatementOfItsSectionForEachTable) {
  auto sections = parsed(two_sections).value();
  PerTable<NativeStatements> all(sections);
  EXPECT_TRUE(sections.check().ok());
  const auto& orders = all.of(TableName::parse("orders").value());
  EXPECT_EQ(orders.pause.sql, "INSERT INTO \"app\".pause\nVALUES ($1, 'a;b')");
  EXPECT_EQ(orders.drop.parts()[0].sql, "DELETE FROM \"orders\" WHERE id = $1");
  EXPECT_EQ(&all.of(TableName::parse("orders").value()), &orders);
  EXPECT_NE(all.of(TableName::parse("bills").value()).pause.name, orders.pause.name);
}

TEST(SqlSections, NativeCodeIsRefusedASectionOfSeveralStatements) {
  auto sections = parsed(two_sections).value();
  (void)sections.take("pause");
  (void)sections.take_only("drop");
  EXPECT_EQ(sections.check().error().message, "these must have one statement each: drop");
}

}  // namespace
}  // namespace sagabox::sql
