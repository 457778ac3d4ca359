#include "unit/server/world.hpp"

namespace sagabox::server {
namespace {

/// Two tenants have a message of one id.
class RestTenants : public ApiTest {
 protected:
  RestTenants() {
    enqueue(R"("id":"o-7","tenant":"acme")");
    settle("o-7", spi::Verdict::dead);
    enqueue(R"("id":"o-7","tenant":"other")");
  }
  const std::string unclear_ =
      "400 REQUEST.INVALID id \"o-7\" exists for several tenants (\"acme\", \"other\"); "
      "say which with --tenant, or with tenant= in a request";
  const std::string messages_ = "/v1/tables/orders/messages/o-7";
  const std::string letters_ = "/v1/tables/orders/dead-letters";
};

TEST_F(RestTenants, MessageIsShownForTheTenantThatIsNamed) {
  EXPECT_EQ(text(body(get(messages_ + "?tenant=acme")), "state"), "dead");
  EXPECT_EQ(text(body(get(messages_ + "?tenant=other")), "state"), "pending");
  EXPECT_EQ(get(messages_ + "?tenant=third").status, 404U);
  EXPECT_EQ(refusal(get(messages_)), unclear_);
  EXPECT_EQ(get(letters_ + "/o-7?tenant=acme").status, 200U);
  EXPECT_EQ(get(letters_ + "/o-7?tenant=other").status, 404U) << "that one is pending";
}

TEST_F(RestTenants, MessageIsExplainedForTheTenantThatIsNamed) {
  EXPECT_EQ(get(messages_ + "/explain?tenant=acme").status, 200U);
  EXPECT_EQ(refusal(get(messages_ + "/explain")), unclear_);
}

TEST_F(RestTenants, DeadLetterIsReplayedForTheTenantThatIsNamed) {
  EXPECT_EQ(refusal(post(letters_ + "/o-7/replay", "")), unclear_);
  EXPECT_EQ(post(letters_ + "/o-7/replay?tenant=acme", "").status, 200U);
  EXPECT_EQ(text(body(get(messages_ + "?tenant=acme")), "state"), "pending");
}

TEST_F(RestTenants, UnclearIdsAreToldAndTheOthersAreMoved) {
  const auto clear = dead();
  const auto ids = R"({"ids":["o-7",")" + clear + R"("])";

  const auto moved = body(post(letters_ + "/quarantine", ids + R"(,"note":"why"})"));

  EXPECT_EQ(moved.at("moved"), 1);
  const auto& first = moved.at("results").at(0).as_object();
  EXPECT_TRUE(first.at("unclear").as_bool());
  EXPECT_FALSE(first.contains("was"));
  EXPECT_EQ(text(first, "text"),
            "exists for several tenants (\"acme\", \"other\"); say which with --tenant, or with "
            "tenant= in a request");
  const auto named =
      body(post(letters_ + "/quarantine", R"({"ids":["o-7"],"tenant":"other","note":"why"})"));
  EXPECT_EQ(named.at("moved"), 1);
  EXPECT_EQ(text(body(get(messages_ + "?tenant=other")), "state"), "quarantined");
  EXPECT_EQ(body(post(letters_ + "/release", R"({"ids":["o-7"],"tenant":"other"})")).at("moved"),
            1);
  EXPECT_EQ(body(post(letters_ + "/replay", R"({"ids":["o-7"],"tenant":"acme"})")).at("moved"), 1);
}

TEST_F(RestTenants, SameIdIsWrittenForEachTenantAndADuplicateOfItsOwnOnly) {
  const auto again =
      post("/v1/tables/orders/messages", R"({"topic":"t","payload":1,"id":"o-7","tenant":"acme"})");
  EXPECT_EQ(again.status, 200U);
  EXPECT_TRUE(body(again).at("duplicate").as_bool());
  EXPECT_EQ(post("/v1/tables/orders/messages", R"({"topic":"t","payload":1,"id":"o-7"})").status,
            201U);
}

}  // namespace
}  // namespace sagabox::server
