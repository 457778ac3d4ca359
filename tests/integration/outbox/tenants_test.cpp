#include "integration/outbox/world.hpp"

namespace sagabox::integration {
namespace {

using TenantsTest = OutboxWorld;

NewMessage of(std::string tenant, std::string id) {
  auto message = placed("{}", "customer-7");
  message.tenant = std::move(tenant);
  message.id = std::move(id);
  return message;
}

TEST_F(TenantsTest, FailingKeyOfOneTenantDoesNotHoldUpTheOthers) {
  auto options = defaults();
  options.retry.backoff_min = std::chrono::hours(1);
  options.retry.backoff_max = std::chrono::hours(2);
  auto outbox = running(
      [this](const Delivery& d) {
        if (d.tenant() == "acme") return retry("refused");
        inbox.add(d);
        return done();
      },
      options);
  (void)write(outbox, of("acme", "a-1"));
  ASSERT_TRUE(eventually([&] { return stats().waiting == 1; }));
  (void)write(outbox, of("acme", "a-2"));

  for (const auto* id : {"o-1", "o-2", "o-3"}) (void)write(outbox, of("other", id));

  ASSERT_TRUE(eventually([&] { return stats().done == 3; }));
  const auto got = inbox.all();
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0].id + got[1].id + got[2].id, "o-1o-2o-3") << "in the order of their own key";
  EXPECT_EQ(stats().pending, 2U) << "the tenant's own second one waits";
}

TEST_F(TenantsTest, SameIdOfTwoTenantsIsDeliveredTwice) {
  auto outbox = running(into_inbox(), defaults());
  EXPECT_FALSE(write(outbox, of("acme", "same")).duplicate);
  EXPECT_FALSE(write(outbox, of("other", "same")).duplicate);
  EXPECT_TRUE(write(outbox, of("acme", "same")).duplicate);
  ASSERT_TRUE(settles_to(2));
  EXPECT_EQ(inbox.times_by_id().at("same"), 2U);
}

}  // namespace
}  // namespace sagabox::integration
