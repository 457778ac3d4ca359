#include "assembly/saga_file.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace sagabox::assembly {
namespace {

using namespace std::chrono_literals;

constexpr auto travel = R"(saga: travel
version: 3
timeout: 2h
steps:
  - { name: flight, action: https://flights/book, compensation: https://flights/cancel, tag: bookings }
  - { name: hotel,  action: https://hotels/book,  compensation: https://hotels/cancel,  tag: bookings }
  - { name: approve, wait: approval, timeout: 1h }
  - { name: charge, action: https://pay/charge, pivot: true, retry: { attempts_max: 8 } }
  - { name: ticket, action: "outbox:travel.ticket.issue.v1", compensation: none }
)";

TEST(SagaFile, ReadsYaml) {
  const auto definition = read_saga_text(travel, "travel.yaml");
  ASSERT_TRUE(definition.ok()) << definition.error().message;
  EXPECT_EQ(definition->name, "travel");
  EXPECT_EQ(definition->version, 3U);
  EXPECT_EQ(definition->timeout, Duration(2h));
  ASSERT_EQ(definition->steps.size(), 5U);
  EXPECT_EQ(definition->steps[2].wait, SagaWait::approval);
  EXPECT_EQ(definition->steps[3].retry.attempts_max, 8U);
}

TEST(SagaFile, JsonMeansTheSame) {
  const auto yaml = read_saga_text(travel, "travel.yaml");
  ASSERT_TRUE(yaml.ok()) << yaml.error().message;
  const auto json = read_saga_text(yaml->text(), "travel.json");
  ASSERT_TRUE(json.ok()) << json.error().message;
  EXPECT_EQ(json->digest(), yaml->digest());
}

TEST(SagaFile, TemplatesAreNoVariables) {
  const auto definition = read_saga_text(R"(saga: travel
steps:
  - name: flight
    action: fn:book
    compensation: none
    input: { who: "${input.customer}", class: "2" }
)",
                                         "travel.yaml");
  ASSERT_TRUE(definition.ok()) << definition.error().message;
  EXPECT_NE(definition->steps[0].input.find("${input.customer}"), std::string::npos);
  EXPECT_NE(definition->steps[0].input.find("\"2\""), std::string::npos)
      << "what stands in quotes is a text: " << definition->steps[0].input;
}

TEST(SagaFile, MistakesNameTheLine) {
  const auto wrong = read_saga_text(R"(saga: travel
steps:
  - name: flight
    action: fn:book
    compensation: none
    retry: { atempts_max: 3 }
)",
                                    "travel.yaml");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, Code::config_invalid);
  EXPECT_NE(wrong.error().message.find("travel.yaml:6"), std::string::npos)
      << wrong.error().message;
  EXPECT_NE(wrong.error().message.find("attempts_max"), std::string::npos) << wrong.error().message;
  const auto no_yaml = read_saga_text("saga: [", "travel.yaml");
  ASSERT_FALSE(no_yaml.ok());
  EXPECT_EQ(no_yaml.error().message.substr(0, 12), "travel.yaml:");
  EXPECT_FALSE(read_saga_file("/nowhere/travel.yaml").ok());
}

}  // namespace
}  // namespace sagabox::assembly
