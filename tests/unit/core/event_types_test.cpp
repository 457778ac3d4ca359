#include <sagabox/event_types.hpp>
#include <sagabox/random.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace sagabox {
namespace {

HubEvent event_of(std::string type, Payload payload) {
  static testing::FakeClock clock;
  static const auto random = seeded_random(1);
  static UlidSource ids(clock, *random);
  HubEvent event;
  event.message = Message::build_shared({.topic = std::move(type), .payload = std::move(payload)},
                                        {}, ids, clock)
                      .value();
  return event;
}

TEST(HubEventTypes, WithoutACatalogueEverythingIsTaken) {
  EXPECT_TRUE(EventTypes{}.check(event_of("any", bytes("x"))).ok());
}

TEST(HubEventTypes, PayloadFitsTheSchemaOfItsType) {
  EventTypes types;
  types.known["shop.order.v1"].schema =
      JsonSchema::parse(R"({"type": "object", "required": ["total"]})").value();
  types.known["shop.note.v1"].description = "any text";
  EXPECT_TRUE(types.check(event_of("shop.order.v1", json(R"({"total": 1})"))).ok());
  EXPECT_TRUE(types.check(event_of("shop.note.v1", bytes("x"))).ok());
  EXPECT_TRUE(types.check(event_of("unknown", json("1"))).ok());
  for (const auto& payload : {json(R"({"secret": 1})"), bytes("{\"total\": 1}")}) {
    const auto refused = types.check(event_of("shop.order.v1", payload));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::schema_validation_failed);
    EXPECT_EQ(refused.error().message.find("secret"), std::string::npos);
  }
}

TEST(HubEventTypes, OtherTypesMayBeRefused) {
  EventTypes types{.known_only = true};
  types.known["a"] = {};
  EXPECT_TRUE(types.check(event_of("a", json("1"))).ok());
  EXPECT_FALSE(types.check(event_of("b", json("1"))).ok());
}

}  // namespace
}  // namespace sagabox
