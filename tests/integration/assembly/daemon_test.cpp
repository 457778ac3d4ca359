#include "assembly/daemon.hpp"

#include "assembly/configuration_file.hpp"
#include "integration/outbox/world.hpp"
#include "support/http_server.hpp"
#include "support/server_process.hpp"
#include "support/sqlite_database.hpp"

#include <sagabox/open.hpp>
#include <sagabox/saga_admin.hpp>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>

namespace sagabox::integration {
namespace {

using assembly::Daemon;
using Paths = std::vector<std::string>;

/// A daemon made from the text of a configuration, in this process.
class DaemonTest : public ::testing::Test {
 protected:
  static assembly::Configuration read(const std::string& text) {
    auto configured = assembly::read_configuration(text, "sagabox.yaml", {});
    EXPECT_EQ(configured.problems, Paths{});
    return std::move(configured.configuration);
  }
  void open(const std::string& text) {
    daemon = Daemon::open(read(text), {.show =
                                           [this](const Delivery& delivery) {
                                             inbox.add(delivery);
                                             return done();
                                           },
                                       .log = &log})
                 .value();
    daemon->start().value();
  }
  static void write(const Daemon::Table& table, const std::string& topic, int count = 1,
                    const std::string& key = "") {
    std::vector<NewMessage> messages;
    for (int number = 0; number < count; ++number) {
      messages.push_back({.topic = topic, .key = key, .payload = json(std::to_string(number))});
    }
    table.store
        ->transaction(
            [&](OwnedTransaction& tx) { return table.outbox->write_all(tx, std::move(messages)); })
        .value();
  }
  bool arrive(std::size_t count) {
    return eventually([&] { return inbox.size() >= count; });
  }
  static std::size_t lines(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::size_t count = 0;
    for (std::string line; std::getline(file, line);) ++count;
    return count;
  }
  static bool settled(const Daemon::Table& table) {
    return eventually([&] {
      const auto stats = table.store->outbox_admin().stats(table.name);
      return stats.ok() && stats->pending == 0;
    });
  }

  testing::RecordingLogger log;
  Inbox inbox;
  std::filesystem::path folder = testing::scratch_folder("daemon");
  std::unique_ptr<Daemon> daemon;
};

constexpr auto one_table = R"(
stores: { main: { url: "memory:", tables: { orders: } } }
routes: [{ topic: "**", to: "fn:show" }]
)";

TEST_F(DaemonTest, SeveralStoresTablesAndRoutesInOneProcess) {
  open(R"(
stores:
  first: { url: "memory:", tables: [orders, billing] }
  second: { url: "memory:" }
routes:
  - { topic: to.file.v1, to: "file:)" +
       (folder / "out").string() + R"(" }
  - { topic: "**", to: "fn:show" }
)");
  const auto tables = daemon->tables();
  ASSERT_EQ(tables.size(), 3U);
  EXPECT_EQ(tables[1].store_name, "first");
  EXPECT_EQ(tables[1].name.str(), "billing");
  EXPECT_EQ(tables[2].name.str(), "default");
  EXPECT_EQ(tables[0].store, tables[1].store);
  for (const auto& table : tables) {
    write(table, "shown.v1", 10);
    write(table, "to.file.v1", 5);
  }
  ASSERT_TRUE(arrive(30));
  for (const auto& table : tables) ASSERT_TRUE(settled(table));
  EXPECT_EQ(inbox.size(), 30U);
  EXPECT_EQ(lines(folder / "out"), 15U);
  daemon->stop().value();
  EXPECT_NE(daemon->metrics().text().find("sagabox_outbox"), std::string::npos);
}

TEST_F(DaemonTest, StoresAreOpenedWithTheirOptions) {
  auto configuration = read("stores: { main: { url: \"sqlite:" + (folder / "a.db").string() +
                            "\" } }\nroutes: [{ topic: \"**\", to: \"fn:show\" }]\n");
  // What no file can say, so that the store refuses it.
  configuration.stores.front().backend.sqlite.readers_max = 0;
  const auto silent = [](const Delivery&) { return done(); };
  const auto opened = Daemon::open(configuration, {.show = silent, .log = &log});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().message, "stores.main: readers_max: give 1 or more");
}

TEST_F(DaemonTest, RoutesChangeWhileItRuns) {
  open(one_table);
  const auto table = daemon->tables().front();
  write(table, "a.v1", 10);
  ASSERT_TRUE(arrive(10));
  auto text = std::string(one_table);
  text.replace(text.find("fn:show"), 7, "file:" + (folder / "out").string());
  const auto reloaded = daemon->reload(read(text)).value();
  EXPECT_EQ(reloaded.changed, Paths{"routes[0].to[0].address"});
  EXPECT_EQ(reloaded.need_restart, Paths{});
  EXPECT_EQ(daemon->tables().front().outbox, table.outbox) << "nobody's ownership was disturbed";
  write(table, "a.v1", 10);
  ASSERT_TRUE(settled(table));
  EXPECT_EQ(lines(folder / "out"), 10U);
  EXPECT_EQ(inbox.size(), 10U);
}

TEST_F(DaemonTest, WhatHasNoRouteWaitsForTheOneThatAReloadBrings) {
  auto text = std::string(one_table);
  text.replace(text.find("\"**\""), 4, "\"a.**\"");
  open(text);
  const auto table = daemon->tables().front();
  write(table, "b.v1", 3, "k");
  write(table, "a.v1");
  ASSERT_TRUE(arrive(1));
  ASSERT_TRUE(eventually([&] { return table.outbox->snapshot().unrouted_topics == 1; }));
  EXPECT_EQ(table.outbox->unrouted().at(0).topic, "b.v1");
  ASSERT_TRUE(daemon->reload(read(one_table)).ok());
  ASSERT_TRUE(arrive(4));
  ASSERT_TRUE(settled(table));
  EXPECT_EQ(table.store->outbox_admin().stats(table.name)->dead, 0U);
  EXPECT_EQ(table.outbox->snapshot().unrouted_topics, 0U);
}

TEST_F(DaemonTest, ChangesUnderLoadLoseRepeatAndReorderNothing) {
  open(one_table);
  const auto table = daemon->tables().front();
  constexpr int count = 300;
  constexpr int keys = 7;
  std::atomic<bool> written{false};
  std::thread writer([&] {
    for (int number = 0; number < count; ++number) {
      table.store
          ->transaction([&](OwnedTransaction& tx) {
            return table.outbox->write(tx, {.topic = "a.v1",
                                            .key = "k" + std::to_string(number % keys),
                                            .payload = json(std::to_string(number))});
          })
          .value();
    }
    written = true;
  });
  int changed = 0;
  do {
    const auto limit = std::to_string(1000 + changed++);
    ASSERT_TRUE(daemon->reload(read(one_table + ("timeout: " + limit + "ms"))).ok());
  } while (!written || changed < 5);
  writer.join();
  ASSERT_TRUE(arrive(count));
  ASSERT_TRUE(settled(table));
  for (const auto& [id, times] : inbox.times_by_id()) ASSERT_EQ(times, 1U) << id;
  for (int key = 0; key < keys; ++key) {
    int last = -1;
    for (const auto& payload : inbox.payloads_of_key("k" + std::to_string(key))) {
      ASSERT_LT(last, std::stoi(payload));
      last = std::stoi(payload);
    }
  }
}

TEST_F(DaemonTest, KeysOfInboxesAreRemovedAfterTheirTime) {
  const auto file = folder / "keys.db";
  const auto store = open_store("sqlite:" + file.string()).value();
  store->inbox()->prepare().value();
  const auto take = [&](const std::string& key) {
    store
        ->transaction(
            [&](OwnedTransaction& tx) { return tx.inbox().first_time("acme", "billing", key); })
        .value();
  };
  take("old");
  take("young");
  testing::run_sql(testing::connect_sqlite(file, seconds(5)).get(),
                   "UPDATE sagabox_inbox SET taken_at = taken_at - 7200000000 WHERE key = 'old'");
  open("stores: { main: { url: \"sqlite:" + file.string() +
       "\", tables: { orders: } } }\n"
       "routes: [{ topic: \"**\", to: \"fn:show\" }]\n"
       "retention: 1h\n"
       "idempotency: { inbox_window: 1h, purge_interval: 1s }\n");
  const auto taken = [&](const std::string& key) -> bool {
    const IdempotencyKey named{"acme", "billing", key};
    return store->inbox()->taken(std::span(&named, 1)).value().front();
  };
  EXPECT_TRUE(eventually([&] { return !taken("old"); }));
  EXPECT_TRUE(taken("young"));
}

TEST_F(DaemonTest, KeysOfInboxesAreKeptAsLongAsMessagesMayComeAgain) {
  const auto with = [](const std::string& rest) { return read(std::string(one_table) + rest); };
  EXPECT_EQ(with("").inbox_window(), std::chrono::hours(8 * 24));
  EXPECT_EQ(with("retention: 30d\n").inbox_window(), std::chrono::hours(31 * 24));
  EXPECT_EQ(with("retention: 30d\nidempotency: { inbox_window: 30d }\n").inbox_window(),
            std::chrono::hours(30 * 24));
  const auto checked = Daemon::check(with("idempotency: { inbox_window: 6d }\n"));
  ASSERT_EQ(checked.size(), 1U);
  EXPECT_EQ(checked.front().code, Code::config_invalid);
  EXPECT_EQ(checked.front().message,
            "idempotency.inbox_window: 6d, but messages are kept 7d (`retention`) and may be "
            "replayed so long; give at least that, or leave it out");
}

TEST_F(DaemonTest, SagasAreKeptAsLongAsTheMessagesThatStartThem) {
  const auto with = [](const std::string& retention) {
    return read(
        "stores: { main: { url: \"memory:\", tables: { orders: } } }\n"
        "routes: [{ topic: \"**\", to: \"saga:travel\" }]\n"
        "sagas: { retention: " +
        retention + " }\n");
  };
  const auto checked = Daemon::check(with("1d"));
  ASSERT_FALSE(checked.empty());
  EXPECT_EQ(checked.front().message,
            "sagas.retention: 1d, but messages are kept 7d (`retention`), and one that is replayed "
            "after its saga was removed starts it again; give at least that");
  const auto enough = Daemon::check(with("7d"));
  for (const auto& problem : enough) {
    EXPECT_EQ(problem.message.find("retention"), std::string::npos) << problem.message;
  }
}

TEST_F(DaemonTest, AReloadDoesNotLetMessagesOutliveTheKeysOfInboxes) {
  open(one_table + std::string("idempotency: { inbox_window: 10d }\n"));
  const auto reloaded = daemon->reload(
      read(one_table + std::string("retention: 30d\nidempotency: { inbox_window: 31d }\n")));
  ASSERT_FALSE(reloaded.ok()) << "the window waits for a restart, the retention does not";
  EXPECT_EQ(reloaded.error().code, Code::config_invalid);
  EXPECT_NE(reloaded.error().message.find("restart the daemon"), std::string::npos);
  EXPECT_EQ(daemon->configuration().stores.at(0).tables.at(0).options.retention,
            std::chrono::hours(7 * 24));
}

TEST_F(DaemonTest, KeysOfInboxesAreKeptLongerFromAReloadOn) {
  const testing::SqliteFolder folder;
  const auto file = folder.file("keys.db");
  const auto store = open_store("sqlite:" + file).value();
  store->inbox()->prepare().value();
  store
      ->transaction(
          [&](OwnedTransaction& tx) { return tx.inbox().first_time("acme", "billing", "old"); })
      .value();
  const auto text = [&](const std::string& retention) {
    return "stores: { main: { url: \"sqlite:" + file +
           "\", tables: { orders: } } }\n"
           "routes: [{ topic: \"**\", to: \"fn:show\" }]\n"
           "retention: " +
           retention + "\nidempotency: { purge_interval: 1s }\n";
  };
  open(text("30d"));
  testing::run_sql(testing::connect_sqlite(file, seconds(5)).get(),
                   "UPDATE sagabox_inbox SET taken_at = taken_at - 20 * 86400000000");
  const auto taken = [&]() -> bool {
    const IdempotencyKey named{"acme", "billing", "old"};
    return store->inbox()->taken(std::span(&named, 1)).value().front();
  };
  EXPECT_TRUE(taken());
  (void)daemon->reload(read(text("7d"))).value();
  EXPECT_TRUE(eventually([&] { return !taken(); })) << "8 days are enough now";
}

TEST_F(DaemonTest, ATableGoesOnWithItsNewSettings) {
  open(one_table);
  const auto before = daemon->tables().front();
  write(before, "a.v1", 5);
  ASSERT_TRUE(arrive(5));
  const auto reloaded =
      daemon->reload(read(std::string(one_table) + "relay: {workers: 9}\nretention: 0")).value();
  EXPECT_EQ(reloaded.need_restart, Paths{});
  EXPECT_EQ(daemon->configuration().stores.at(0).tables.at(0).options.workers, 9U);
  const auto now = daemon->tables().front();
  EXPECT_NE(now.outbox, before.outbox);
  write(before, "a.v1", 5);  // by whoever still has the old one
  write(now, "a.v1", 5);
  ASSERT_TRUE(arrive(15));
  ASSERT_TRUE(settled(now));
  EXPECT_TRUE(eventually([&] {
    return now.store->outbox_admin().stats(now.name).value().done == 0;
  })) << "what is done is not kept any more";
}

TEST_F(DaemonTest, ARouteWithMoreAttemptsThanBeforeMayMakeThem) {
  open(one_table);
  const auto before = daemon->tables().front();
  const auto more = R"(
stores: { main: { url: "memory:", tables: { orders: } } }
routes: [{ topic: "**", to: "fn:show", retry: { attempts_max: 50 } }]
)";
  ASSERT_TRUE(daemon->reload(read(more)).ok());
  EXPECT_NE(daemon->tables().front().outbox, before.outbox);
  write(daemon->tables().front(), "a.v1");
  EXPECT_TRUE(arrive(1));
}

TEST_F(DaemonTest, WhatCannotChangeIsNamedAndTheRestIsTaken) {
  open(one_table);
  const auto reloaded = daemon
                            ->reload(read(R"(
listen: 127.0.0.1:9999
log: { format: json, level: debug }
stores: { main: { url: "memory:", tables: { orders: { claim: leader, retention: 1d }, more: } } }
routes: [{ topic: "**", to: "fn:show" }]
)"))
                            .value();
  const std::set<std::string> later(reloaded.need_restart.begin(), reloaded.need_restart.end());
  EXPECT_TRUE(later.contains("listen"));
  EXPECT_TRUE(later.contains("log.format"));
  EXPECT_TRUE(later.contains("stores.main.tables.more"));
  EXPECT_TRUE(later.contains("stores.main.tables.orders.claim"));
  EXPECT_EQ(reloaded.changed, (Paths{"log.level", "stores.main.tables.orders.retention"}));
  const auto made = daemon->configuration();
  EXPECT_EQ(made.listen, "127.0.0.1:8700");
  EXPECT_EQ(made.stores.at(0).tables.size(), 1U);
  EXPECT_EQ(made.stores.at(0).tables.at(0).options.claim, ClaimMode::sharded);
  EXPECT_EQ(made.stores.at(0).tables.at(0).options.retention, std::chrono::hours(24));
  write(daemon->tables().front(), "a.v1");
  EXPECT_TRUE(arrive(1));
}

TEST_F(DaemonTest, AnErrorLeavesEverythingAsItWas) {
  open(one_table);
  const auto wrong = daemon->reload(read(R"(
retention: 1d
stores: { main: { url: "memory:", tables: { orders: } } }
routes: [{ topic: "a.**", to: "fn:nobody" }]
)"));
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("routes[0] (a.**)"), std::string::npos)
      << wrong.error().message;
  EXPECT_EQ(daemon->configuration().stores.at(0).tables.at(0).options.retention,
            std::chrono::hours(24 * 7));
  write(daemon->tables().front(), "b.v1");
  EXPECT_TRUE(arrive(1));
}

TEST_F(DaemonTest, WhatIsDeliveredElsewhereIsOnlyTaken) {
  open(R"(
delivery: elsewhere
stores: { main: { url: "memory:" } }
)");
  const auto table = daemon->tables().front();
  write(table, "a.v1", 3);
  EXPECT_EQ(table.store->outbox_admin().stats(table.name).value().pending, 3U);
  EXPECT_TRUE(daemon->stop().ok());
}

TEST_F(DaemonTest, WhatIsWrongIsFoundBeforeAnythingIsOpened) {
  const auto problem = [](const std::string& text) {
    const auto checked = Daemon::check(read(text));
    return checked.empty() ? std::string() : checked.front().message;
  };
  EXPECT_EQ(problem(one_table), "");
  EXPECT_NE(
      problem("routes: [{topic: \"**\", to: \"gopher:x\"}]")
          .find("routes[0].to[0]: there is no transport \"gopher\"; this build has fn:, file:"),
      std::string::npos);
  EXPECT_NE(problem("stores: {a: {url: \"gopher://x\"}}\ndelivery: elsewhere")
                .find("stores.a.url: this build has"),
            std::string::npos);
  EXPECT_NE(problem("metrics: {prefix: \"a b\"}").find("metrics.prefix"), std::string::npos);
  EXPECT_NE(
      problem("routes: [{topic: \"**\", to: {address: \"file:x\", snyc: true}}]").find("snyc"),
      std::string::npos);
}

constexpr auto travel = R"({ saga: travel, steps: [
  { name: ticket, action: "outbox:travel.ticket.v1", compensation: none, table: orders } ] })";

TEST_F(DaemonTest, AMessageStartsASagaOfARoute) {
  std::ofstream(folder / "travel.yaml") << travel;
  open(R"(
stores: { main: { url: "memory:", tables: { orders: } } }
sagas: { definitions: [)" +
       (folder / "travel.yaml").string() + R"(], reply_secret: a secret of this test }
routes:
  - { topic: trips.asked.v1, to: "saga:travel" }
  - { topic: trips.replies.v1, to: "saga-reply:" }
  - { topic: "**", to: "fn:show" }
)");
  const auto table = daemon->tables().front();
  write(table, "trips.asked.v1");
  ASSERT_TRUE(arrive(1));
  EXPECT_EQ(inbox.all().front().payload, "0") << "the ticket's input is that of the saga";
  ASSERT_TRUE(settled(table));
}

/// A tenant's message to a route of the daemon.
void write_of(const Daemon::Table& table, const std::string& tenant) {
  table.store
      ->transaction([&](OwnedTransaction& tx) {
        return table.outbox->write(tx, {.topic = "a.b.v1", .payload = json("1"), .tenant = tenant});
      })
      .value();
}

TEST_F(DaemonTest, RoutesAndSagasBringTheCredentialsOfTheirTenant) {
  testing::HttpServer server(
      [](const testing::HttpRequest&) { return testing::HttpReply{.status = 200, .body = "{}"}; });
  std::ofstream(folder / "booking.yaml") << "{ saga: booking, steps: [{ name: book, action: \""
                                         << server.url("/book") << "\", compensation: none }] }";
  const auto text = [&](const std::string& bearer) {
    return R"(
stores: { main: { url: "memory:", tables: { orders: } } }
transports: { http: { allow: 127.0.0.1, credentials: [
  { tenant: acme, hosts: [127.0.0.1], bearer: )" +
           bearer + R"( },
  { tenant: umbrella, hosts: [127.0.0.1], header: X-Api-Key, value: key of umbrella } ] } }
sagas: { definitions: [)" +
           (folder / "booking.yaml").string() + R"(] }
routes: [{ topic: "**", to: ")" +
           server.url("/hook") + "\" }]\n";
  };
  open(text("one"));
  const auto table = daemon->tables().front();
  write_of(table, "acme");
  ASSERT_EQ(server.requests("/hook", 1).at(0).header("authorization"), "Bearer one");
  write_of(table, "umbrella");
  const auto second = server.requests("/hook", 2).at(1);
  EXPECT_EQ(second.header("x-api-key"), "key of umbrella");
  EXPECT_EQ(second.header("authorization"), "");
  write_of(table, "stranger");
  ASSERT_TRUE(eventually([&] { return table.store->outbox_admin().stats(table.name)->dead == 1; }));
  const auto dead =
      table.store->outbox_admin().list({.table = table.name, .state = MessageState::dead}).value();
  EXPECT_EQ(dead.rows.at(0).code, Code::auth_denied);
  EXPECT_EQ(server.requests("/hook", 2).size(), 2U) << "nothing was sent";

  auto admin = SagaAdmin::open(*daemon->store_of_sagas(), {.actor = "ada"}).value();
  const auto ends = [&](const std::string& tenant) {
    const auto id = admin.start({.definition = "booking", .tenant = tenant})->saga;
    EXPECT_TRUE(eventually([&] { return has_ended(admin.show(id).value()->state); }));
    return admin.show(id).value()->steps.at(0);
  };
  EXPECT_EQ(ends("acme").state, SagaStepState::succeeded);
  EXPECT_EQ(server.requests("/book", 1).at(0).header("authorization"), "Bearer one");
  EXPECT_EQ(ends("stranger").code, Code::auth_denied);
  EXPECT_EQ(server.requests("/book", 1).size(), 1U);

  daemon->reload(read(text("two"))).value();
  write_of(table, "acme");
  EXPECT_EQ(server.requests("/hook", 3).at(2).header("authorization"), "Bearer two");
  EXPECT_EQ(ends("acme").state, SagaStepState::succeeded);
  EXPECT_EQ(server.requests("/book", 2).at(1).header("authorization"), "Bearer two")
      << "sagas take new ones, too";
  for (const auto& line : log.lines()) {
    for (const auto& [name, value] : line.fields) {
      EXPECT_EQ(value.find("Bearer"), std::string::npos) << line.event;
      EXPECT_EQ(value.find("key of umbrella"), std::string::npos) << line.event;
    }
  }
}

TEST_F(DaemonTest, LimitsOfSagasNameWhatIsThere) {
  std::ofstream(folder / "booking.yaml")
      << R"({ saga: booking, steps: [{ name: book, action: "https://a.example:8443/book",
           compensation: none }] })";
  const auto problem = [&](const std::string& limits) {
    const auto checked = Daemon::check(read(R"(
stores: { main: { url: "memory:" } }
routes: [{ topic: "**", to: "fn:show" }]
sagas: { definitions: [)" + (folder / "booking.yaml").string() +
                                            "], limits: " + limits + " }\n"));
    return checked.empty() ? std::string() : checked.front().message;
  };
  EXPECT_EQ(problem(R"({ participants: { "https://a.example:8443": { rate: 1 } } })"), "");
  EXPECT_EQ(problem(R"({ participants: { "https://a.example": { rate: 1 } } })"),
            "sagas.limits.participants: nothing in sagas.definitions is called "
            "\"https://a.example\"; there are https://a.example:8443");
  EXPECT_EQ(problem("{ definitions: { bookin: { rate: 1 } } }"),
            "sagas.limits.definitions: nothing in sagas.definitions is called \"bookin\"; there "
            "are booking");
}

TEST_F(DaemonTest, ARouteToASagaThatIsNotDefinedIsAnError) {
  std::ofstream(folder / "travel.yaml") << travel;
  const auto problem = [&](const std::string& to, const std::string& sagas) {
    const auto checked = Daemon::check(read("stores: { main: { url: \"memory:\" } }\n" + sagas +
                                            "routes: [{ topic: \"**\", to: \"" + to + "\" }]\n"));
    return checked.empty() ? std::string() : checked.front().text();
  };
  const auto defined = "sagas: { definitions: [" + (folder / "travel.yaml").string() + "] }\n";
  EXPECT_EQ(problem("saga:travel", defined), "");
  EXPECT_NE(problem("saga:trvel", defined).find("no saga definition \"trvel\"; there are travel"),
            std::string::npos)
      << problem("saga:trvel", defined);
  EXPECT_NE(problem("saga:travel", "").find("sagas.definitions"), std::string::npos);
  EXPECT_NE(problem("saga-reply:", defined).find("reply_secret"), std::string::npos);
}

}  // namespace
}  // namespace sagabox::integration
