#include "server/api/query.hpp"
#include "support/sqlite_database.hpp"
#include "unit/server/world.hpp"

namespace sagabox::server {
namespace {

/// What operators see of idempotency keys.
class RestIdempotencyList : public ApiTest {
 protected:
  RestIdempotencyList() {
    for (const auto* const tenant : {"acme", "default"}) {
      for (const auto* const key : {"a", "b"}) add(tenant, key);
    }
  }
  void add(const std::string& tenant, const std::string& key) {
    const spi::IdempotencyCheck check{
        .key = {tenant, "mailer", key}, .ticket = {1}, .lease = 1min, .ttl = 1h};
    ASSERT_TRUE(store_.idempotency()->check(std::span(&check, 1)).value().front().taken);
  }
  std::string keys(const std::string& query) {
    const auto answer = get("/v1/idempotency-keys" + query);
    if (answer.status != 200) return refusal(answer);
    std::string list;
    const auto page = body(answer);
    for (const auto& one : page.at("keys").as_array()) {
      list += text(one.as_object(), "tenant") + ":" + text(one.as_object(), "key") + " ";
    }
    return list;
  }
};

TEST_F(RestIdempotencyList, ListsByTenantConsumerAndKeyPageByPage) {
  EXPECT_EQ(keys(""), "acme:a acme:b default:a default:b ");
  EXPECT_EQ(keys("?tenant=acme"), "acme:a acme:b ");
  EXPECT_EQ(keys("?consumer=printer"), "");
  EXPECT_EQ(keys("?state=succeeded"), "");
  EXPECT_EQ(keys("?consumer=mailer&key=b"), "default:b ");
  EXPECT_EQ(keys("?consumer=mailer&key=b&tenant=acme"), "acme:b ");
  const auto first = body(get("/v1/idempotency-keys?limit=3"));
  EXPECT_EQ(first.at("keys").as_array().size(), 3U);
  EXPECT_EQ(keys("?limit=3&cursor=" + percent_encoded(text(first, "next"))), "default:b ");
}

TEST_F(RestIdempotencyList, SaysWhatIsWrongWithTheQuestion) {
  EXPECT_EQ(keys("?state=done"),
            "400 REQUEST.INVALID state: \"done\"; give in_flight, succeeded, failed or released");
  EXPECT_EQ(keys("?key=a"), "400 REQUEST.INVALID consumer: missing; a key is that of a consumer");
  EXPECT_EQ(keys("?cursor=x"),
            "400 REQUEST.INVALID cursor: \"x\" is not one; give `next` of the page before");
  EXPECT_EQ(keys("?store=other"),
            "400 REQUEST.INVALID store: \"other\" is not served; there are default");
}

TEST_F(RestIdempotencyList, PurgeForgetsAKeyOrWhatExpired) {
  const auto purge = [&](const std::string& order) {
    const auto answer = post("/v1/idempotency-keys/purge", order);
    return answer.status == 200 ? std::to_string(body(answer).at("purged").to_number<int>())
                                : refusal(answer);
  };
  EXPECT_EQ(purge(R"({"consumer":"mailer","key":"a","tenant":"acme","note":"why"})"), "1");
  EXPECT_EQ(purge(R"({"consumer":"mailer","key":"a","tenant":"acme"})"), "0");
  EXPECT_EQ(keys(""), "acme:b default:a default:b ");
  EXPECT_EQ(purge(R"({"expired":true})"), "0");
  clock_.advance(1h + 1ms);
  EXPECT_EQ(purge(R"({"expired":true})"), "3");
  EXPECT_EQ(purge("{}"),
            "400 REQUEST.INVALID key: give a key with its consumer, or expired: true for all whose "
            "time is over");
  EXPECT_EQ(purge(R"({"key":"a"})"),
            "400 REQUEST.INVALID consumer: missing; a key is that of a consumer");
  EXPECT_EQ(purge(R"({"expired":true,"tenant":"acme"})"),
            "400 REQUEST.INVALID expired: concerns all consumers and tenants; leave consumer and "
            "tenant out");
}

TEST_F(RestIdempotencyList, CallersBoundToATenantSeeAndForgetTheirOwn) {
  const testing::SqliteFolder folder;
  KeyFile file(folder.file("keys"));
  const auto random = seeded_random(7);
  key_ = file.create({.name = "acme", .role = Role::admin, .tenant = "acme"}, *random, clock_)
             .value()
             .secret;
  api_ = make_api(KeyRing::open(file, {.clock = &clock_, .log = &log_}).value());
  EXPECT_EQ(keys(""), "acme:a acme:b ");
  EXPECT_EQ(keys("?consumer=mailer&key=a"), "acme:a ");
  EXPECT_EQ(get("/v1/idempotency-keys?tenant=default").status, 403U);
  const auto purge = [&](const std::string& order) {
    return post("/v1/idempotency-keys/purge", order).status;
  };
  EXPECT_EQ(purge(R"({"consumer":"mailer","key":"a","tenant":"default"})"), 403U);
  EXPECT_EQ(purge(R"({"expired":true})"), 403U);
  EXPECT_EQ(purge(R"({"consumer":"mailer","key":"a"})"), 200U);
  EXPECT_EQ(keys(""), "acme:b ");
}

}  // namespace
}  // namespace sagabox::server
