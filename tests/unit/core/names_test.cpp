#include <sagabox/message.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <regex>
#include <string>

namespace sagabox {
namespace {

std::string because(const std::string& topic, const std::string& what) {
  return "topic \"" + topic + "\": " + what +
         "; it must read <module>.<aggregate>.<event>.vN, for instance orders.order.placed.v1";
}

TEST(StrictTopic, AcceptsTheRule) {
  for (const auto* topic : {"orders.order.placed.v1", "a.b.c.v27", "my-module.x-1.done-2.v10"}) {
    EXPECT_EQ(strict_topic_problem(topic), "");
  }
}

TEST(StrictTopic, SaysWhatIsWrong) {
  for (const auto& [topic, what] : std::vector<std::pair<std::string, std::string>>{
           {"", "part 1 is empty"},
           {"orders", "1 part instead of 4"},
           {"orders.order.placed", "3 parts instead of 4"},
           {"a.b.c.d.v1", "5 parts instead of 4"},
           {"orders..placed.v1", "part 2 is empty"},
           {"orders.order.placed.", "part 4 is empty"},
           {"Orders.order.placed.v1", "only a-z, 0-9, . and - are allowed"},
           {"orders.order_x.placed.v1", "only a-z, 0-9, . and - are allowed"},
           {"orders.order.placed.1", "the last part is not v1, v2 …"},
           {"orders.order.placed.v", "the last part is not v1, v2 …"},
           {"orders.order.placed.v0", "the last part is not v1, v2 …"},
           {"orders.order.placed.v01", "the last part is not v1, v2 …"},
           {"orders.order.placed.v1x", "the last part is not v1, v2 …"},
       }) {
    EXPECT_EQ(strict_topic_problem(topic), because(topic, what));
  }
}

TEST(StrictTopic, HasABound) {
  const std::string tail = ".b.c.v1";
  EXPECT_EQ(strict_topic_problem(std::string(128 - tail.size(), 'a') + tail), "");
  EXPECT_EQ(strict_topic_problem(std::string(129 - tail.size(), 'a') + tail),
            because(std::string(64, 'a') + "…", "129 characters, at most 128 are allowed"));
}

RC_GTEST_PROP(StrictTopic, AgreesWithTheRegularExpression, ()) {
  static const std::regex rule(R"([a-z0-9-]+\.[a-z0-9-]+\.[a-z0-9-]+\.v[1-9][0-9]*)");
  const auto part =
      rc::gen::element<std::string>("orders", "a-1", "v1", "v0", "v12", "", "A", "_", "7", "é");
  const auto parts =
      *rc::gen::container<std::vector<std::string>>(*rc::gen::inRange<std::size_t>(1, 6), part);
  std::string topic;
  for (const auto& p : parts) topic += (topic.empty() ? "" : ".") + p;
  RC_ASSERT(strict_topic_problem(topic).empty() == std::regex_match(topic, rule));
}

TEST(TableName, LettersDigitsAndUnderscores) {
  EXPECT_EQ(TableName::parse("orders").value().str(), "orders");
  EXPECT_EQ(TableName::parse("_Orders_2").value().str(), "_Orders_2");
  EXPECT_EQ(TableName::parse(std::string(48, 't')).value().str(), std::string(48, 't'));
  EXPECT_EQ(TableName::parse("a").value(), TableName::parse("a").value());
}

TEST(TableName, SaysWhatIsWrong) {
  const auto problem = [](std::string_view text) { return TableName::parse(text).error(); };
  EXPECT_EQ(problem("x y").code, Code::schema_validation_failed);
  EXPECT_EQ(problem("orders outbox").message,
            "table \"orders outbox\": only letters, digits and _ are allowed");
  EXPECT_EQ(problem("orders;DROP").message,
            "table \"orders;DROP\": only letters, digits and _ are allowed");
  EXPECT_EQ(problem("bestellungen_ä").message,
            "table \"bestellungen_ä\": only letters, digits and _ are allowed");
  EXPECT_EQ(problem("a\n").message, "table \"a?\": only letters, digits and _ are allowed");
  EXPECT_EQ(problem("").message, "table \"\": empty; give 1 to 48 letters, digits and _");
  EXPECT_EQ(problem("1st").message, "table \"1st\": must not start with a digit");
  EXPECT_EQ(problem(std::string(49, 't')).message,
            "table \"" + std::string(49, 't') + "\": 49 characters, at most 48 are allowed");
}

}  // namespace
}  // namespace sagabox
