#include "core/same_id.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sagabox {
namespace {

using enum MessageState;

std::optional<std::size_t> chosen(const std::vector<RowOfId>& rows,
                                  const std::optional<std::string>& tenant = {}) {
  return choose_row(rows, tenant).row;
}

TEST(SameId, NothingFitsWhereThereIsNoRow) {
  EXPECT_EQ(chosen({}), std::nullopt);
  EXPECT_EQ(chosen({{"acme", dead, Sequence{1}}}, "other"), std::nullopt);
  EXPECT_TRUE(choose_row({}, std::nullopt).tenants.empty());
}

TEST(SameId, PendingComesBeforeEndedBeforeDelivered) {
  EXPECT_EQ(chosen({{"a", done, Sequence{9}}, {"a", dead, Sequence{5}}, {"a", pending, {}}}), 2U);
  EXPECT_EQ(chosen({{"a", done, Sequence{9}}, {"a", quarantined, Sequence{5}}}), 1U);
  EXPECT_EQ(chosen({{"a", done, Sequence{9}}}), 0U);
}

TEST(SameId, NewestOfOneTableIsMeant) {
  EXPECT_EQ(chosen({{"a", dead, Sequence{3}}, {"a", dead, Sequence{8}}, {"a", dead, Sequence{5}}}),
            1U);
  EXPECT_EQ(chosen({{"a", quarantined, Sequence{3}}, {"a", dead, Sequence{8}}}), 1U);
  EXPECT_EQ(chosen({{"a", done, Sequence{8}}, {"a", done, Sequence{3}}}), 0U);
}

TEST(SameId, StateOrSequenceLeavesOutOtherRows) {
  const std::vector<RowOfId> rows{{"a", pending, Sequence{9}},
                                  {"a", dead, Sequence{3}},
                                  {"a", dead, Sequence{5}},
                                  {"b", done, Sequence{7}}};
  EXPECT_EQ(choose_row(rows, {}, dead).row, 2U);
  EXPECT_TRUE(choose_row(rows, {}, dead).tenants.empty()) << "only one tenant has a dead one";
  EXPECT_EQ(choose_row(rows, {}, quarantined).row, std::nullopt);
  EXPECT_EQ(choose_row(rows, {}, {}, Sequence{3}).row, 1U);
  EXPECT_EQ(choose_row(rows, "b", {}, Sequence{3}).row, std::nullopt);
  EXPECT_EQ(choose_row(rows, {}, {}, Sequence{4}).row, std::nullopt);
}

TEST(SameId, SeveralTenantsAreNeverGuessed) {
  const std::vector<RowOfId> rows{
      {"b", pending, Sequence{1}}, {"a", dead, Sequence{2}}, {"b", done, Sequence{3}}};

  const auto unclear = choose_row(rows, std::nullopt);
  EXPECT_EQ(unclear.row, std::nullopt);
  EXPECT_EQ(unclear.tenants, (std::vector<std::string>{"a", "b"}));

  EXPECT_EQ(chosen(rows, "a"), 1U);
  EXPECT_EQ(chosen(rows, "b"), 0U);
  EXPECT_TRUE(choose_row(rows, "b").tenants.empty()) << "a caller of one tenant learns of no other";
}

TEST(SameId, ErrorNamesTheTenantsAndTheCure) {
  const auto error =
      several_tenants(MessageId::parse("o-7").value(), std::vector<std::string>{"acme", "other"});
  EXPECT_EQ(error.code, Code::request_invalid);
  EXPECT_EQ(error.message,
            "id \"o-7\" exists for several tenants (\"acme\", \"other\"); say which with --tenant, "
            "or with tenant= in a request");
  const std::vector<std::string> many{"a", "b", "c", "d", "e", "f"};
  EXPECT_NE(several_tenants_text(many).find("\"e\" …)"), std::string::npos);
}

}  // namespace
}  // namespace sagabox
