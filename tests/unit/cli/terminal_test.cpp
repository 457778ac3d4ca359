#include "cli/terminal.hpp"

#include "cli/views/text_table.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sagabox::cli {
namespace {

std::vector<std::string> in_window(const TextTable& table, std::size_t columns) {
  std::vector<std::string> rows;
  for (const auto& line : table.lines()) rows.push_back(line.render(columns, false));
  return rows;
}

TEST(TextTable, WideRowsLoseTheEndsOfTheirWidestTexts) {
  TextTable table({{"ID"}, {"SEQ", TextTable::Side::right}, {"TOPIC"}, {"WHY"}});
  table.add({{"01JC9Y3B6W8QK3T5V0ZC2N7A4F"}, {"8812"}, {"orders.order.placed.v1"}, {"422 no"}});
  table.add({{"2"}, {"1"}, {"a.v1"}, {"PROVIDER.REJECTED 422 from hooks.example.com"}});
  const auto whole = in_window(table, 1000);
  EXPECT_EQ(whole[1], "01JC9Y3B6W8QK3T5V0ZC2N7A4F  8812  orders.order.placed.v1  422 no");
  const auto cut = in_window(table, 60);
  EXPECT_EQ(cut[0], "ID                           SEQ  TOPIC         WHY");
  EXPECT_EQ(cut[1], "01JC9Y3B6W8QK3T5V0ZC2N7A4F  8812  orders.orde…  422 no");
  EXPECT_EQ(cut[2], "2                              1  a.v1          PROVIDER.RE…");
  // Ids and numbers stay whole, as far as the window goes.
  EXPECT_EQ(in_window(table, 40)[1], "01JC9Y3B6W8QK3T5V0ZC2N7A4F  8812  orders");
}

TEST(Line, WithoutCellsIsCutAtItsEnd) {
  EXPECT_EQ(Line("abcdef").render(3, false), "abc");
  EXPECT_FALSE(Line("abcdef").is_row());
}

}  // namespace
}  // namespace sagabox::cli
