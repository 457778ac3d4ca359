#include "integration/postgres/world.hpp"
#include "support/outside_program.hpp"
#include "support/places.hpp"

#include <sagabox/router.hpp>
#include <sagabox/transports/http.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include <cstdlib>
#include <map>

namespace sagabox::integration {
namespace {

/// The example examples/node_inbox behind an outbox of ours, as a user would have it: a consumer in
/// Node with PostgreSQL transactions of its own, that loses every third answer after its commit.
class NodeInboxPostgresTest : public PostgresWorld {
 protected:
  void SetUp() override {
    if (const auto problem = testing::OutsideProgram::problem(); !problem.empty()) {
      GTEST_SKIP() << problem;
    }
    PostgresWorld::SetUp();
    if (IsSkipped()) return;
    store->inbox()->prepare().value();
    const auto packages = testing::project_folder() / "tests/outside/node_modules";
    const auto url =
        "postgres://postgres@127.0.0.1:" + std::to_string(testing::PostgresServer::shared().port) +
        "/postgres?options=-c%20search_path%3D" + database->schema();
    ::setenv("NODE_PATH", packages.c_str(), 1);
    ::setenv("DATABASE_URL", url.c_str(), 1);
    ::setenv("SAGABOX_SCHEMA", database->schema().c_str(), 1);
    ::setenv("LOST_ANSWERS", "3", 1);
    ::setenv("PORT", "0", 1);
    service.emplace(std::vector<std::string>{"node_inbox.cjs"});
    const auto said = service->line();
    ASSERT_FALSE(said.empty()) << "the service did not start";
    port = boost::json::parse(said).at("port").to_number<int>();
  }
  void TearDown() override {
    for (const auto* name :
         {"NODE_PATH", "DATABASE_URL", "SAGABOX_SCHEMA", "LOST_ANSWERS", "PORT"}) {
      ::unsetenv(name);
    }
  }

  std::optional<testing::OutsideProgram> service;
  int port = 0;
};

TEST_F(NodeInboxPostgresTest, EachMessageChangesItsAccountOnceThoughManyComeTwice) {
  constexpr int accounts = 10;
  constexpr int messages = 300;
  // The service makes its table as it starts.
  for (int account = 0; account < accounts; ++account) {
    database->sql("INSERT INTO " + database->schema() + ".accounts VALUES ('a" +
                  std::to_string(account) + "', 0)");
  }
  auto options = defaults();
  options.retry.attempts_max = 20;
  options.sink =
      Router::open(
          {.routes = {{.topic = "**", .to = {{"http://127.0.0.1:" + std::to_string(port) + "/"}}}},
           .transports = {{"http", http::open({.allow = {"127.0.0.0/8"}}).value()}}})
          .value();
  auto outbox = Outbox::several_processes(*store, std::move(options)).value();
  outbox.start().value();
  std::map<std::string, std::int64_t> expected;
  for (int number = 0; number < messages; ++number) {
    const auto account = "a" + std::to_string(number % accounts);
    expected[account] += number;
    write(outbox, {.topic = topic,
                   .key = account,
                   .payload = json(R"({"account": ")" + account + R"(", "cents": )" +
                                   std::to_string(number) + "}")});
  }
  ASSERT_TRUE(settles_to(messages));
  outbox.stop().value();

  for (const auto& [account, cents] : expected) {
    EXPECT_EQ(database
                  ->sql("SELECT cents FROM " + database->schema() + ".accounts WHERE account = '" +
                        account + "'")
                  .front(),
              std::to_string(cents))
        << account;
  }
  EXPECT_EQ(database->sql("SELECT count(*) FROM " + database->schema() + ".inbox").front(),
            std::to_string(messages));
  const auto repeated = database->sql("SELECT count(*) FROM " + database->schema() +
                                      ".orders_archive WHERE attempts > 1");
  EXPECT_NE(repeated.front(), "0") << "nothing came twice, so nothing was shown";
}

}  // namespace
}  // namespace sagabox::integration
