#include "cli/views/hub_view.hpp"

#include "support/noon.hpp"
#include "unit/cli/plain_lines.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <span>
#include <string>

namespace sagabox::cli {
namespace {

using namespace std::chrono_literals;

using testing::noon;

std::string drawn_hub(std::span<const Line> lines) {
  std::string text;
  for (const auto& line : lines) text += plain(line) + "\n";
  return text;
}

DeliveryRecord dead_delivery() {
  return {.id = DeliveryId::parse("d1").value(),
          .event = EventId::parse("e1").value(),
          .subscription = SubscriptionId::parse("s1").value(),
          .tenant = "acme",
          .type = "shop.order.placed.v1",
          .state = DeliveryState::dead,
          .attempt = 2,
          .created_at = noon - 5min,
          .ended_at = noon,
          .code = Code::provider_rejected,
          .error = "422 no such shop",
          .status = 422};
}

JobRecord failed_attempt() {
  JobRecord attempt;
  attempt.attempt = 1;
  attempt.state = HubJobState::failed;
  attempt.attempt_at = noon - 1min;
  attempt.result = {.code = Code::provider_rejected,
                    .error = "422 no such shop",
                    .status = 422,
                    .answer = "\x1b[31mno\n",
                    .took = 120ms};
  return attempt;
}

TEST(HubView, ADeliveryHasALineForEachAttemptAndNothingActsOnTheTerminal) {
  DeliveryView view{.delivery = dead_delivery(),
                    .subscription_name = "shop",
                    .target = "https://hooks.example.com/",
                    .attempts = {failed_attempt()},
                    .seen_at = noon};
  EXPECT_EQ(drawn_hub(delivery_details(view)),
            "shop.order.placed.v1 to shop · dead · made 5m00s ago\n"
            "  id        d1\n"
            "  event     e1\n"
            "  endpoint  s1  https://hooks.example.com/\n"
            "  tenant    acme\n"
            "  ✗  1  2026-01-01T11:59:00.000Z  120 ms  422  PROVIDER.REJECTED 422 no such shop\n"
            "        answer \"\\u001b[31mno\\u000a\"\n"
            "  its event is gone\n");
}

TEST(HubView, DeliveriesAreALineEach) {
  const auto delivery = dead_delivery();
  EXPECT_EQ(drawn_hub(delivery_list(std::span(&delivery, 1), noon)),
            "id  state  type                  subscription  attempts   made  last failure\n"
            "d1  dead   shop.order.placed.v1  s1                   2  5m00s  PROVIDER.REJECTED 422 "
            "no such shop\n");
  EXPECT_EQ(drawn_hub(delivery_list({}, noon)), "no delivery\n");
}

TEST(HubView, HealthSaysRateTimesAndTheLastError) {
  const SubscriptionHealth health{.id = SubscriptionId::parse("s1").value(),
                                  .name = "shop",
                                  .since = 24h,
                                  .attempts = {.completed = 3,
                                               .failed = 1,
                                               .p50 = 40ms,
                                               .p95 = 120ms,
                                               .last_completed_at = noon - 1min,
                                               .last_failed_at = noon - 2min,
                                               .last_error = "slow"},
                                  .open = 2,
                                  .dead = 1,
                                  .oldest_open = noon - 3min};
  EXPECT_EQ(drawn_hub(health_lines(health, noon)),
            "shop · active\n"
            "  attempts  3 completed, 1 failed: 75.0 % in 1d00h\n"
            "  answers   p50 40 ms, p95 120 ms\n"
            "  success   1m00s ago\n"
            "  failure   2m00s ago: slow\n"
            "  open      2 deliveries, the oldest 3m00s ago\n"
            "  dead      1 delivery\n");
}

TEST(HubView, ASubscriptionSaysItsStateAndNeverASecret) {
  SubscriptionView view;
  view.record.id = SubscriptionId::parse("s1").value();
  view.record.tenant = "acme";
  view.record.name = "shop";
  view.record.state = SubscriptionState::paused;
  view.record.types = {"shop.order.*.v1", "shop.item.**"};
  view.record.target = "https://hooks.example.com/";
  view.record.reason = "their release";
  view.record.version = 3;
  view.record.changed_at = noon - 1h;
  view.secrets = {{2, noon, std::nullopt}};
  EXPECT_EQ(drawn_hub(subscription_details(view, noon)),
            "shop · paused · changed 1h00m ago\n"
            "  id        s1\n"
            "  tenant    acme\n"
            "  types     shop.order.*.v1, shop.item.**\n"
            "  target    https://hooks.example.com/\n"
            "  reason    their release\n"
            "  version   3\n"
            "  secret    2, made 2026-01-01T12:00:00.000Z\n");
}

}  // namespace
}  // namespace sagabox::cli
