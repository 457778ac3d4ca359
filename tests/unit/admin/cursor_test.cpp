#include "admin/cursor.hpp"

#include "support/noon.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace sagabox::admin {
namespace {

const TableName& orders() {
  static const TableName table = TableName::parse("orders").value();
  return table;
}

RC_GTEST_PROP(Cursor, LeadsBackToItsPlaceInItsOwnListOnly, ()) {
  const auto mark = *rc::gen::arbitrary<std::uint32_t>();
  const auto other = *rc::gen::distinctFrom(mark);
  const Sequence place{*rc::gen::arbitrary<std::uint64_t>()};
  const std::string text = cursor_text(mark, place);
  RC_ASSERT(cursor_place(mark, text).value() == place);
  RC_ASSERT(!cursor_place(other, text).ok());
}

RC_GTEST_PROP(Cursor, AnyTextIsAPlaceOrAnError, ()) {
  const auto mark = *rc::gen::arbitrary<std::uint32_t>();
  const auto text = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  const auto place = cursor_place(mark, text);
  RC_ASSERT((!place.ok() || text.empty() || cursor_text(mark, *place) == text));
}

TEST(Cursor, SaysWhatToDoWithAWrongOne) {
  EXPECT_EQ(cursor_place(1, "").value(), Sequence{});
  for (const auto* text : {"x", "00000001", "00000001g", "00000001-1", "0000000101", "0000000201",
                           "00000001ffffffffffffffffff"}) {
    const auto place = cursor_place(1, text);
    ASSERT_FALSE(place.ok()) << text;
    EXPECT_EQ(place.error().text(),
              "REQUEST.INVALID: cursor: not one of this list; hand back what the page "
              "before said, with the same table, state and filter, or leave it out to start again");
  }
}

TEST(Cursor, EveryPartOfAListMarksIt) {
  using testing::noon;
  const auto mark = [](const MessageFilter& filter) {
    return list_mark(orders(), MessageState::dead, filter);
  };
  const std::set<std::uint32_t> marks{
      mark({}),
      mark({.tenant = "a"}),
      mark({.topic = "a"}),
      mark({.aggregate_type = "a"}),
      mark({.key = "a"}),
      mark({.key = "b"}),
      mark({.code = Code::tx_timeout}),
      mark({.code = Code::unknown_internal}),
      mark({.from = noon}),
      mark({.until = noon}),
      mark({.first = Sequence{5}}),
      mark({.last = Sequence{5}}),
      mark({.retrying = true}),
      list_mark(orders(), MessageState::done, {}),
      list_mark(TableName::parse("billing").value(), MessageState::dead, {}),
  };
  EXPECT_EQ(marks.size(), 15U);
  EXPECT_EQ(mark({.topic = "a"}), mark({.topic = "a"}));
}

}  // namespace
}  // namespace sagabox::admin
