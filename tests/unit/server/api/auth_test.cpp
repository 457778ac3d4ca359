#include "support/sqlite_database.hpp"
#include "unit/server/world.hpp"

#include <filesystem>
#include <fstream>

namespace sagabox::server {
namespace {

class RestAuth : public ApiTest {
 protected:
  RestAuth() {
    reader_ = create({.name = "dashboard"});
    operator_ = create({.name = "ann", .role = Role::operate, .payloads = true});
    admin_ = create({.name = "root", .role = Role::admin});
    tenant_ = create({.name = "acme app", .role = Role::admin, .tenant = "acme"});
    api_ = make_api(KeyRing::open(file_, {.clock = &clock_, .log = &log_}).value());
  }

  std::string create(NewKey key) {
    return file_.create(std::move(key), *random_, clock_).value().secret;
  }

  testing::SqliteFolder folder_;
  KeyFile file_{folder_.file("keys")};
  std::unique_ptr<Random> random_ = seeded_random(7);
  std::string reader_;
  std::string operator_;
  std::string admin_;
  std::string tenant_;
};

TEST_F(RestAuth, NothingWithoutAKeyButHealthAndTheDocument) {
  EXPECT_EQ(get("/health/live").status, 200U);
  EXPECT_EQ(get("/health/ready").status, 200U);
  EXPECT_EQ(get("/openapi.json").status, 200U);
  for (const auto* path : {"/metrics", "/v1/tables", "/v1/tables/orders/messages", "/nonsense"}) {
    const auto response = get(path);
    EXPECT_EQ(refusal(response), "401 AUTH.DENIED no key given; send Authorization: Bearer sbx_…")
        << path;
    EXPECT_EQ(response.headers, (Headers{{"WWW-Authenticate", "Bearer"}}));
  }
}

TEST_F(RestAuth, WrongKeysAreRefused) {
  for (const auto& wrong : {std::string("x"), reader_ + "x", reader_.substr(0, 20),
                            std::string("sbx_") + std::string(60, 'a')}) {
    key_ = wrong;
    EXPECT_EQ(refusal(get("/v1/tables")), "401 AUTH.DENIED this key is not known, or was revoked");
  }
  EXPECT_EQ(api_->handle({.method = "GET",
                          .target = "/v1/tables",
                          .headers = {{"authorization", "Basic " + reader_}}})
                .status,
            401U);
}

TEST_F(RestAuth, RolesIncludeTheOnesBefore) {
  const auto status = [&](const std::string& key, const Route& route) {
    key_ = key;
    std::string path(route.path);
    for (const auto& [name, value] : std::map<std::string, std::string>{
             {"{table}", "orders"}, {"{id}", "m1"}, {"{job}", "1"}}) {
      if (const auto at = path.find(name); at != std::string::npos) {
        path.replace(at, name.size(), value);
      }
    }
    return send({.method = std::string(route.method), .target = path}).status;
  };
  for (const auto& route : routes()) {
    if (route.by_token) continue;  // no key is asked for
    EXPECT_EQ(status(reader_, route) == 403, route.needs > Needs::read) << route.operation;
    EXPECT_EQ(status(operator_, route) == 403, route.needs > Needs::operate) << route.operation;
    EXPECT_NE(status(admin_, route), 403U) << route.operation;
  }
  key_ = reader_;
  EXPECT_NE(refusal(post("/v1/tables/orders/pause", "")).find("needs the role operate; key \""),
            std::string::npos);
}

TEST_F(RestAuth, PayloadsAreARightOfTheirOwn) {
  key_ = operator_;
  const auto id = enqueue("");
  EXPECT_TRUE(body(get("/v1/tables/orders/messages/" + id + "?payload=true")).contains("payload"));
  key_ = admin_;
  EXPECT_EQ(get("/v1/tables/orders/messages/" + id).status, 200U);
  EXPECT_EQ(get("/v1/tables/orders/messages/" + id + "?payload=true").status, 403U);
}

TEST_F(RestAuth, TheAuditLogNamesTheKey) {
  key_ = operator_;
  EXPECT_EQ(post("/v1/tables/orders/pause", "").status, 200U);
  const auto actor = store_.audit().read(0, 10).value().back().event.actor;
  EXPECT_EQ(actor, "key " + operator_.substr(4, 8) + " (ann)");
}

TEST_F(RestAuth, ATenantSeesAndWritesItsOwnOnly) {
  key_ = operator_;
  const auto others = enqueue(R"("tenant":"other","id":"taken")");
  key_ = tenant_;
  const auto own = enqueue("");
  EXPECT_EQ(record(own).tenant, "acme");
  EXPECT_EQ(
      refusal(post("/v1/tables/orders/messages", R"({"topic":"t","payload":1,"tenant":"other"})")),
      "403 AUTH.DENIED tenant: this key is bound to tenant \"acme\" and writes for no other; "
      "leave it out");
  const auto listed = body(get("/v1/tables/orders/messages")).at("messages").as_array();
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(text(listed[0].as_object(), "id"), own);
  EXPECT_EQ(get("/v1/tables/orders/messages?tenant=other").status, 403U);
  EXPECT_EQ(get("/v1/tables/orders/messages/" + others).status, 404U);
  EXPECT_EQ(get("/v1/tables/orders/messages/" + others + "/explain").status, 404U);
  EXPECT_EQ(post("/v1/tables/orders/dead-letters/" + others + "/replay", "").status, 404U);
  // Another tenant's id is no obstacle, and so nothing tells that it is there.
  EXPECT_EQ(post("/v1/tables/orders/messages", R"({"topic":"t","payload":1,"id":"taken"})").status,
            201U);
  EXPECT_EQ(
      post("/v1/tables/orders/messages", R"({"topic":"t","payload":1,"id":")" + own + "\"}").status,
      200U);
}

TEST_F(RestAuth, ABatchTakesIdsThatAnotherTenantHas) {
  key_ = operator_;
  (void)enqueue(R"("tenant":"other","id":"taken")");
  key_ = tenant_;
  const auto own = enqueue("");
  const auto batch = post(
      "/v1/tables/orders/messages/batch",
      R"({"messages":[{"topic":"t","payload":1,"id":"taken"},{"topic":"t","payload":1,"id":"new"},
           {"topic":"t","payload":1,"id":")" +
          own + R"("}]})");
  ASSERT_EQ(batch.status, 201U) << batch.body;
  const auto answer = body(batch);
  EXPECT_EQ(answer.at("written"), 2);
  EXPECT_EQ(answer.at("duplicates"), 1);
  EXPECT_FALSE(answer.at("messages").at(0).at("duplicate").as_bool());
  EXPECT_FALSE(answer.at("messages").at(1).at("duplicate").as_bool());
  EXPECT_TRUE(answer.at("messages").at(2).at("duplicate").as_bool());
  EXPECT_EQ(record("new").tenant, "acme");
  const auto seen = get("/v1/tables/orders/messages/taken");
  ASSERT_EQ(seen.status, 200U) << "its own, though another tenant has the id too: " << seen.body;
  EXPECT_EQ(text(body(seen), "tenant"), "acme");
  EXPECT_EQ(get("/v1/tables/orders/messages/taken?tenant=other").status, 403U);
}

TEST_F(RestAuth, ATenantIsNotToldWhoRunsTheService) {
  key_ = operator_;
  EXPECT_EQ(post("/v1/tables/orders/pause", R"({"note":"acme has not paid"})").status, 200U);
  key_ = tenant_;
  EXPECT_EQ(get("/v1/tables/orders/owners").status, 403U);
  const auto pauses = get("/v1/tables/orders/pauses");
  EXPECT_EQ(pauses.status, 200U);
  EXPECT_NE(pauses.body.find("since"), std::string::npos) << "that it is paused concerns all";
  const auto explained = get("/v1/tables/orders/messages/" + enqueue("") + "/explain");
  EXPECT_NE(explained.body.find("paused"), std::string::npos) << explained.body;
  for (const auto& response : {pauses, explained}) {
    for (const auto* hidden : {"ann", "paid", "relay-b"}) {
      EXPECT_EQ(response.body.find(hidden), std::string::npos) << response.body;
    }
  }
  key_ = operator_;
  EXPECT_NE(get("/v1/tables/orders/pauses").body.find("acme has not paid"), std::string::npos);
}

TEST_F(RestAuth, TheHeaderIsEnoughToBeRefused) {
  const auto admit = [&](std::string method, std::string target, Headers headers) {
    headers.emplace_back("content-length", "1000000");
    return api_->admit(
        {.method = std::move(method), .target = std::move(target), .headers = std::move(headers)});
  };
  const std::string messages = "/v1/tables/orders/messages";
  const Headers json{{"content-type", "application/json"}};
  const auto with = [&](const std::string& key) {
    auto headers = json;
    headers.emplace_back("authorization", "Bearer " + key);
    return headers;
  };
  EXPECT_EQ(admit("POST", messages, json).refused.value().status, 401U);
  EXPECT_EQ(admit("POST", messages, with("sbx_nobody")).refused.value().status, 401U);
  EXPECT_EQ(admit("POST", messages, with(reader_)).refused.value().status, 403U);
  EXPECT_EQ(admit("POST", "/v1/nowhere", with(operator_)).refused.value().status, 404U);
  EXPECT_EQ(admit("POST", "/v1/tables/none/messages", with(operator_)).refused.value().status,
            404U);
  EXPECT_EQ(admit("PUT", messages, with(operator_)).refused.value().status, 405U);
  EXPECT_EQ(admit("POST", messages,
                  {{"content-type", "text/xml"}, {"authorization", "Bearer " + operator_}})
                .refused.value()
                .status,
            415U);
  const auto admitted = admit("POST", messages, with(operator_));
  EXPECT_FALSE(admitted.refused);
  EXPECT_EQ(admitted.operation, "enqueue");
  EXPECT_EQ(admitted.key_id, operator_.substr(4, 8));
}

TEST_F(RestAuth, ATenantDoesNothingThatConcernsOthers) {
  key_ = tenant_;
  EXPECT_EQ(post("/v1/tables/orders/pause", "").status, 403U);
  EXPECT_EQ(post("/v1/tables/orders/purge", R"({"older_than_seconds":0})").status, 403U);
  EXPECT_EQ(get("/v1/audit/verify").status, 403U);
  EXPECT_EQ(get("/metrics").status, 403U);
  EXPECT_FALSE(body(get("/v1/tables/orders")).contains("pending"));
  EXPECT_TRUE(body(get("/v1/tables/orders")).contains("now"));
  EXPECT_EQ(get("/v1/tables/orders/strays").status, 403U);
  EXPECT_EQ(get("/v1/destinations").status, 403U);
  EXPECT_EQ(get("/v1/stores/default/findings").status, 403U);
  const auto store = body(get("/v1/stores")).at("stores").as_array().at(0).as_object();
  EXPECT_FALSE(store.contains("database"));
}

TEST_F(RestAuth, ATenantIsNotToldWhatIsWrongWithTheStore) {
  key_ = tenant_;
  store_.set_faults([](memory::Operation) { return memory::Fault::refused; });
  EXPECT_EQ(refusal(get("/v1/tables/orders/messages")),
            "503 STORAGE.UNAVAILABLE " + std::string(public_message(Code::storage_unavailable)));
}

TEST_F(RestAuth, ARevokedKeyEndsWithinASecond) {
  key_ = reader_;
  EXPECT_EQ(get("/v1/tables").status, 200U);
  ASSERT_TRUE(file_.revoke(reader_.substr(4, 8), clock_).ok());
  clock_.advance(1s);
  EXPECT_EQ(get("/v1/tables").status, 401U);
  key_ = create({.name = "new"});
  clock_.advance(1s);
  EXPECT_EQ(get("/v1/tables").status, 200U);
  std::ofstream(file_.path()) << "nonsense\n";
  clock_.advance(1s);
  EXPECT_EQ(get("/v1/tables").status, 200U) << "a broken file leaves the keys as they were";
  EXPECT_EQ(log_.count("key file kept as it was"), 1U);
}

using RestOpen = ApiTest;

TEST_F(RestOpen, WebPagesCannotUseIt) {
  const auto status = [&](Headers headers) {
    return api_->handle({.method = "GET", .target = "/v1/tables", .headers = std::move(headers)})
        .status;
  };
  EXPECT_EQ(status({{"host", "localhost:8700"}}), 200U);
  EXPECT_EQ(status({{"host", "127.0.0.1:8700"}}), 200U);
  EXPECT_EQ(status({{"host", "[::1]:8700"}}), 200U);
  EXPECT_EQ(status({{"host", "localhost:8700"}, {"origin", "http://localhost:8700"}}), 200U);
  EXPECT_EQ(status({}), 403U);
  EXPECT_EQ(status({{"host", "evil.example"}}), 403U) << "DNS rebinding";
  EXPECT_EQ(status({{"host", "127.evil.example"}}), 403U);
  EXPECT_EQ(status({{"host", "localhost.evil.example"}}), 403U);
  EXPECT_EQ(status({{"host", "localhost:8700"}, {"origin", "http://evil.example"}}), 403U);
  EXPECT_EQ(status({{"host", "localhost:8700"}, {"origin", "null"}}), 403U);
  EXPECT_EQ(status({{"host", "localhost:8700"}, {"origin", "x"}}), 403U) << "no origin at all";
  EXPECT_EQ(status({{"host", "localhost:8700"}, {"origin", "http://localhost:3000"}}), 403U);
  EXPECT_EQ(status({{"host", "localhost:8700"}, {"sec-fetch-site", "cross-site"}}), 403U);
}

TEST_F(RestOpen, PathsAndMethodsThatAreNotThere) {
  EXPECT_EQ(refusal(get("/v2")),
            "404 REQUEST.NOT_FOUND \"/v2\" is not a path of this API; /openapi.json has "
            "them all");
  EXPECT_EQ(get("/v1/tables/").status, 404U);
  EXPECT_EQ(get("/v1/tables/%zz").status, 404U);
  EXPECT_EQ(get("*").status, 404U);
  const auto response = send({.method = "DELETE", .target = "/v1/tables/orders/messages?x=1"});
  EXPECT_EQ(refusal(response),
            "405 REQUEST.METHOD_NOT_ALLOWED \"DELETE\" is not allowed on "
            "\"/v1/tables/orders/messages\"; allowed: GET, HEAD, POST");
  EXPECT_EQ(response.headers, (Headers{{"Allow", "GET, HEAD, POST"}}));
  EXPECT_EQ(send({.method = "HEAD", .target = "/v1/tables"}).status, 200U);
}

TEST_F(RestOpen, AllowHasTheMethodsOfThePathAndNotOfTheOneWithAnIdInItsPlace) {
  for (const std::string path : {"messages/batch", "dead-letters/replay", "dead-letters/quarantine",
                                 "dead-letters/release", "replays/preview"}) {
    for (const std::string method : {"GET", "DELETE"}) {
      const auto response = send({.method = method, .target = "/v1/tables/orders/" + path});
      EXPECT_EQ(response.status, 405U) << path;
      EXPECT_EQ(response.headers, (Headers{{"Allow", "POST"}})) << path;
    }
  }
  const auto of_a_message = send({.method = "POST", .target = "/v1/tables/orders/messages/m1"});
  EXPECT_EQ(of_a_message.headers, (Headers{{"Allow", "GET, HEAD"}}));
}

}  // namespace
}  // namespace sagabox::server
