#include <sagabox/hub_record.hpp>

#include <gtest/gtest.h>

namespace sagabox {
namespace {

TEST(HubRecord, DeliveryIdIsTheSameForTheSameThree) {
  const auto event = EventId::parse("e1").value();
  const auto subscription = SubscriptionId::parse("s1").value();
  const auto id = delivery_id_of(event, subscription, 0);
  EXPECT_EQ(id, delivery_id_of(event, subscription, 0));
  EXPECT_NE(id, delivery_id_of(event, subscription, 1));
  EXPECT_NE(id, delivery_id_of(event, SubscriptionId::parse("s2").value(), 0));
  EXPECT_NE(id, delivery_id_of(EventId::parse("e2").value(), subscription, 0));
  // Stored for ever: it must not change from version to version.
  EXPECT_EQ(id.view(), "d3cbf019a96cf16e4190e6f7bda64e125");
}

TEST(HubRecord, StatesHaveNames) {
  for (std::size_t n = 0; n < subscription_state_count; ++n) {
    const auto state = static_cast<SubscriptionState>(n);
    EXPECT_EQ(subscription_state_from_name(subscription_state_name(state)), state);
  }
  for (std::size_t n = 0; n < delivery_state_count; ++n) {
    const auto state = static_cast<DeliveryState>(n);
    EXPECT_EQ(delivery_state_from_name(delivery_state_name(state)), state);
  }
  for (std::size_t n = 0; n < hub_job_state_count; ++n) {
    const auto state = static_cast<HubJobState>(n);
    EXPECT_EQ(hub_job_state_from_name(hub_job_state_name(state)), state);
  }
  EXPECT_FALSE(delivery_state_from_name("lost").has_value());
}

}  // namespace
}  // namespace sagabox
