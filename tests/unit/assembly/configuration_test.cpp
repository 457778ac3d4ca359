#include "assembly/configuration_file.hpp"
#include "assembly/configuration_text.hpp"
#include "assembly/setting.hpp"
#include "assembly/setting_values.hpp"
#include "support/places.hpp"
#include "support/server_process.hpp"

#include <sagabox/json_schema.hpp>
#include <sagabox/payload.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace sagabox::assembly {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Problems = std::vector<std::string>;

Configured read(const std::string& text, const Environment& environment = {}) {
  return read_configuration(text, "sagabox.yaml", environment);
}

/// With a store and a route, so that only what is meant to be wrong is.
Configured read_more(const std::string& text, const Environment& environment = {}) {
  return read(
      "stores: {main: {url: \"memory:\"}}\nroutes: [{topic: \"**\", to: \"file:out\"}]\n" + text,
      environment);
}

Problems problems(const std::string& text, const Environment& environment = {}) {
  return read_more(text, environment).problems;
}

std::filesystem::path written(const std::string& name, const std::string& text) {
  auto path = testing::scratch_folder("configuration") / name;
  std::ofstream(path) << text;
  return path;
}

constexpr auto feel = R"(# sagabox.yaml
stores:
  orders: { url: postgres://sagabox@db/orders, tables: [orders, billing] }
routes:
  - topic: orders.order.*.v1
    to: kafka:orders            # brokers under `transports`
  - topic: billing.invoice.issued.v1
    to: [https://hooks.example.com/invoices, nats:billing.issued]
    retry: { attempts_max: 12, backoff_min: 1s, backoff_max: 5m }
retention: 7d
)";

TEST(Configuration, WhatHasNoEndIsRefused) {
  EXPECT_EQ(read("routes: &a [*a]\n").problems.at(0),
            "sagabox.yaml:1: an alias must not lead to what it stands in");
  EXPECT_EQ(read("a: &a\n  b: &b\n    c: [*a]\n").problems.at(0),
            "sagabox.yaml:3: an alias must not lead to what it stands in");
  EXPECT_EQ(read(std::string(100'000, '[')).problems.at(0),
            "sagabox.yaml:1: goes deeper than 50 levels; no setting does");
  std::string deep;
  for (int depth = 0; depth < 1000; ++depth) deep += std::string(depth, ' ') + "a:\n";
  EXPECT_EQ(read(deep).problems.at(0),
            "sagabox.yaml:51: goes deeper than 50 levels; no setting does");
  // Each line stands for forty levels of the one before.
  std::string wide = "a0: &a0 1\n";
  for (int line = 1; line < 5; ++line) {
    const auto name = std::to_string(line);
    wide += "a" + name + ": &a" + name + " " + std::string(40, '[') + "*a" +
            std::to_string(line - 1) + std::string(40, ']') + "\n";
  }
  EXPECT_EQ(read(wide).problems.at(1),
            "sagabox.yaml:2: its aliases lead deeper than 50 levels; no setting does");
}

TEST(Configuration, TheFileOfTheFirstPageIsRead) {
  const auto [made, origins, wrong, secrets] = read(feel);
  ASSERT_EQ(wrong, Problems{});
  ASSERT_EQ(made.stores.size(), 1U);
  EXPECT_EQ(made.stores[0].name, "orders");
  EXPECT_EQ(made.stores[0].url, "postgres://sagabox@db/orders");
  ASSERT_EQ(made.stores[0].tables.size(), 2U);
  EXPECT_EQ(made.stores[0].tables[1].options.table, "billing");
  EXPECT_EQ(made.stores[0].tables[1].options.retention, hours(24 * 7));
  ASSERT_EQ(made.routes.size(), 2U);
  EXPECT_EQ(made.routes[0].options.to.at(0).to, "kafka:orders");
  ASSERT_EQ(made.routes[1].options.to.size(), 2U);
  EXPECT_EQ(made.routes[1].options.retry.value().attempts_max, 12U);
  EXPECT_EQ(made.routes[1].options.retry.value().backoff_max, minutes(5));
  EXPECT_FALSE(made.routes[0].options.retry);
  EXPECT_EQ(origins.at("routes[1].retry.attempts_max"), "sagabox.yaml:9");
}

TEST(Configuration, ATypoIsNamedWithItsLineAndWhatIsMeant) {
  auto text = std::string(feel);
  text.replace(text.find("attempts_max"), 12, "atempts_max");
  EXPECT_EQ(
      read(text).problems,
      Problems{"sagabox.yaml:9: unknown key \"atempts_max\" under routes[1].retry; did you mean "
               "\"attempts_max\"?"});
}

TEST(Configuration, NothingAtAllIsASqliteFileThatShowsWhatItDelivers) {
  const auto [made, origins, wrong, secrets] = read("");
  ASSERT_EQ(wrong, Problems{});
  EXPECT_EQ(made.listen, "127.0.0.1:8700");
  ASSERT_EQ(made.stores.size(), 1U);
  EXPECT_EQ(made.stores[0].url, "sqlite:./sagabox.db");
  ASSERT_EQ(made.stores[0].tables.size(), 1U);
  EXPECT_EQ(made.stores[0].tables[0].options.table, "default");
  ASSERT_EQ(made.routes.size(), 1U);
  EXPECT_EQ(made.routes[0].options.to.at(0).to, "fn:show");
  EXPECT_TRUE(origins.empty());
}

TEST(Configuration, AStoreWithoutRoutesIsRefusedRatherThanEmptied) {
  EXPECT_EQ(
      read("stores: {a: {url: \"memory:\"}}").problems,
      Problems{"there are no routes: every message would be dead; add routes: [{ topic: \"**\", "
               "to: \"https://…\" }], or say delivery: elsewhere"});
  EXPECT_EQ(read("stores: {a: {url: \"memory:\"}}\ndelivery: elsewhere").problems, Problems{});
  EXPECT_FALSE(read("", {{"SAGABOX_STORES_A_URL", "memory:"}}).problems.empty());
}

TEST(Configuration, AllProblemsAreToldAtOnceEachWithItsLine) {
  EXPECT_EQ(
      problems("retention: 7 days\n"
               "relay:\n"
               "  workers: 0\n"
               "  workrs: 3\n"
               "  lease: [15s]\n"
               "log: { level: loud }\n"
               "listen: 8700\n"),
      (Problems{
          "sagabox.yaml:3: retention is \"7 days\"; write a number and a unit: 500ms, 1.5s, 5m, "
          "2h or 7d",
          "sagabox.yaml:5: relay.workers is \"0\"; it must be from 1 to 1024",
          "sagabox.yaml:6: unknown key \"workrs\" under relay; did you mean \"workers\"?",
          "sagabox.yaml:7: relay.lease is a list; it must be a single value",
          "sagabox.yaml:8: log.level is \"loud\"; write one of debug, info, warning, error",
          "sagabox.yaml:9: listen is \"8700\"; write host:port, such as 127.0.0.1:8700"}));
}

TEST(Configuration, WhatCannotBeMeantIsSaid) {
  EXPECT_EQ(problems("retention: 1d\nretention: 2d\n"),
            Problems{"sagabox.yaml:4: key \"retention\" is there twice; leave one of them out"});
  EXPECT_EQ(problems("relay: 5"),
            Problems{"sagabox.yaml:3: relay is a plain value; it must be a group of settings"});
  EXPECT_EQ(problems("retry: {backoff_min: 5m, backoff_max: 1s}").size(), 1U);
  EXPECT_EQ(problems("tls: {key_file: k.pem}"),
            Problems{"sagabox.yaml:3: tls: give both certificate_file and key_file"});
  EXPECT_EQ(
      problems("preset: s9"),
      Problems{"sagabox.yaml:3: preset is \"s9\"; write one of patient, single_active, polling"});
  EXPECT_EQ(problems("xyzzyplugh: 1").at(0).substr(0, 60),
            "sagabox.yaml:3: unknown key \"xyzzyplugh\"; there are listen, ");
  const auto broken = problems("relay: {workers: 1");
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_TRUE(broken[0].starts_with("sagabox.yaml:")) << broken[0];
  EXPECT_NE(broken[0].find("is not YAML"), std::string::npos) << broken[0];
  EXPECT_EQ(read("stores: {a: {url: \"memory:\", tables: [b, b]}}\ndelivery: elsewhere").problems,
            Problems{"sagabox.yaml:1: stores.a.tables has \"b\" twice"});
  EXPECT_EQ(read("stores: {a: {tables: [b]}}\ndelivery: elsewhere").problems,
            Problems{"stores.a has no url; such as sqlite:a.db"});
}

TEST(Configuration, WhatFollowsTheSettingsIsNotPassedOver) {
  for (const std::string more : {"---\nretention: 1d\n", "]\n"}) {
    const auto found = problems("watch: true\n" + more);
    ASSERT_EQ(found.size(), 1U) << more;
    EXPECT_TRUE(found[0].starts_with("sagabox.yaml:4: ")) << found[0];
  }
}

TEST(Configuration, TablesBeginWithWhatIsSaidAtTheTop) {
  const auto made = read(R"(
retention: 30d
relay: { workers: 7 }
stores:
  main:
    url: "memory:"
    lease: 40s
    tables:
      a:
      b: { retention: 1d, relay: { lease: 20s } }
      c: { preset: single_active, relay: { workers: 2 } }
routes: [{ topic: "**", to: "file:out" }]
)");
  ASSERT_EQ(made.problems, Problems{});
  const auto& tables = made.configuration.stores.at(0).tables;
  ASSERT_EQ(tables.size(), 3U);
  EXPECT_EQ(tables[0].options.retention, hours(24 * 30));
  EXPECT_EQ(tables[0].options.workers, 7U);
  EXPECT_EQ(tables[0].options.lease, seconds(40)) << "the store's";
  EXPECT_EQ(tables[1].options.retention, hours(24));
  EXPECT_EQ(tables[1].options.workers, 7U);
  EXPECT_EQ(tables[1].options.lease, seconds(20));
  EXPECT_EQ(tables[2].options.lease, seconds(60));
  EXPECT_EQ(tables[2].options.poll_interval, seconds(1));
  EXPECT_EQ(tables[2].options.workers, 2U);
  EXPECT_EQ(tables[2].options.table, "c");
}

constexpr auto two_stores = R"(
stores:
  orders:
    url: postgres://db/orders
    notify: false
    writers_max: 3
    lock_max: 2s
  files: {url: "sqlite:files.db", durability: normal, wal_bytes_max: 1MiB, lock_max: 1s}
routes: [{topic: "**", to: "file:out"}]
)";

TEST(Configuration, StoresHaveOptionsOfTheirKind) {
  const auto configured = read(two_stores, {{"SAGABOX_STORES_ORDERS_POOLED", "true"},
                                            {"SAGABOX_STORES_FILES_READERS_MAX", "9"}});
  EXPECT_EQ(configured.problems, Problems{});
  const auto& stores = configured.configuration.stores;
  ASSERT_EQ(stores.size(), 2U);
  const auto& postgres = stores[0].backend.postgres;
  EXPECT_FALSE(postgres.notify);
  EXPECT_TRUE(postgres.pooled);
  EXPECT_EQ(postgres.writers_max, 3U);
  EXPECT_EQ(postgres.lock_max, seconds(2));
  EXPECT_EQ(postgres.relay_connections_max, 4U) << "the default";
  const auto& sqlite = stores[1].backend.sqlite;
  EXPECT_EQ(sqlite.durability, sqlite::Durability::normal);
  EXPECT_EQ(sqlite.wal_bytes_max, 1024U * 1024U);
  EXPECT_EQ(sqlite.lock_max, seconds(1));
  EXPECT_EQ(sqlite.readers_max, 9U);
}

TEST(Configuration, OptionOfAnotherKindOfStoreIsToldWithItsLineAndThoseThereAre) {
  const auto configured = read(R"(stores:
  files:
    url: sqlite:files.db
    notify: false
  orders: {url: "postgres://db/orders"}
  kept: {url: "memory:", readers_max: 1}
routes: [{topic: "**", to: "file:out"}]
)",
                               {{"SAGABOX_STORES_ORDERS_DURABILITY", "full"}});
  EXPECT_EQ(
      configured.problems,
      (Problems{"sagabox.yaml:4: stores.files.notify is an option of PostgreSQL stores, and "
                "this is a SQLite store, which has lock_max, durability, readers_max, "
                "wal_bytes_max, watch_interval",
                "sagabox.yaml:6: stores.kept.readers_max is an option of SQLite stores, and "
                "this is a memory store, which has none of its own",
                "SAGABOX_STORES_ORDERS_DURABILITY: stores.orders.durability is an option of "
                "SQLite stores, and this is a PostgreSQL store, which has lock_max, "
                "writers_max, relay_connections_max, notify, pooled, vacuum_after, claim_rows_max, "
                "connection_wait_max, connect_max, statement_max"}));
}

TEST(Configuration, WrongStoreOptionsAreTold) {
  EXPECT_NE(read("stores: {a: {url: \"sqlite:a.db\", durability: fast}}")
                .problems.at(0)
                .find("write one of full, normal"),
            std::string::npos);
  EXPECT_NE(read("stores: {a: {url: \"postgres://db/a\", writers_max: 0}}")
                .problems.at(0)
                .find("it must be from 1 to 10000"),
            std::string::npos);
}

TEST(Configuration, PrintShowsTheOptionsAStoreHas) {
  const auto text = configuration_yaml(read(two_stores), Secrets::masked);
  EXPECT_NE(text.find("    notify: false  # sagabox.yaml:5\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    statement_max: 30s  # default\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    durability: normal  # sagabox.yaml:8\n"), std::string::npos) << text;
  const auto files = text.substr(text.find("  files:"));
  EXPECT_EQ(files.find("notify"), std::string::npos) << files;
  EXPECT_EQ(text.substr(0, text.find("  files:")).find("durability"), std::string::npos) << text;
}

TEST(Configuration, TargetsHaveSettingsOfTheirTransport) {
  const auto made = read(R"(
routes:
  - topic: a.b.c.v1
    to:
      - { address: "https://hooks.example.com/x", secret: whsec_1, concurrency: 16 }
      - redis:orders
    limits: { rate: 50, budget: { messages: 1000, window: 1h } }
    tenants: acme
)");
  ASSERT_EQ(made.problems, Problems{});
  const auto& route = made.configuration.routes.at(0).options;
  ASSERT_EQ(route.to.size(), 2U);
  EXPECT_EQ(route.to[0].settings,
            (spi::AddressSettings{{"secret", "whsec_1"}, {"concurrency", "16"}}));
  EXPECT_EQ(route.limits.rate, 50U);
  EXPECT_EQ(route.limits.budget.value().window, hours(1));
  EXPECT_EQ(route.tenants, std::vector<std::string>{"acme"});
}

TEST(Configuration, ValuesAreWrittenAsPeopleWriteThem) {
  const auto made = read_more(
      "relay: {poll_interval: 1.5s, queue_bytes_max: 2MiB, skip_recent: 0}\n"
      "dead_retention: 90d\nretry: {factor: 1.5}\n"
      "transports: {amqp: {heartbeat: 20s}}\n");
  ASSERT_EQ(made.problems, Problems{});
  const auto& options = made.configuration.defaults.options;
  EXPECT_EQ(options.poll_interval, milliseconds(1500));
  EXPECT_EQ(options.queue_bytes_max, 2U << 20U);
  EXPECT_EQ(options.skip_recent, Duration{});
  EXPECT_EQ(options.dead_retention, hours(24 * 90));
  EXPECT_DOUBLE_EQ(options.retry.factor, 1.5);
  EXPECT_EQ(made.configuration.transports.amqp.heartbeat, seconds(20));
}

TEST(Configuration, TheEnvironmentGoesOverTheFile) {
  const auto made = read(
      "listen: 127.0.0.1:1\nstores: {order-book: {url: \"memory:\", tables: [a]}}\n"
      "routes: [{topic: \"**\", to: \"file:out\"}]\n",
      {{"SAGABOX_LISTEN", "127.0.0.1:9000"},
       {"SAGABOX_RELAY_WORKERS", "9"},
       {"SAGABOX_STORES_ORDER_BOOK_URL", "sqlite:x.db"},
       {"SAGABOX_STORES_ORDER_BOOK_TABLES_A_RETENTION", "1d"},
       {"SAGABOX_STORES_SECOND_URL", "memory:"},
       {"SAGABOX_STORES_SECOND_TABLES", "x,y"},
       {"SAGABOX_TRANSPORTS_KAFKA_BROKERS", "k:9092"},
       {"SAGABOX_LIMITS_TENANTS_ACME_RATE", "5"},
       {"PATH", "/bin"}});
  ASSERT_EQ(made.problems, Problems{});
  const auto& c = made.configuration;
  EXPECT_EQ(c.listen, "127.0.0.1:9000");
  ASSERT_EQ(c.stores.size(), 2U);
  EXPECT_EQ(c.stores[0].name, "order-book");
  EXPECT_EQ(c.stores[0].url, "sqlite:x.db");
  ASSERT_EQ(c.stores[0].tables.size(), 1U);
  EXPECT_EQ(c.stores[0].tables[0].options.retention, hours(24));
  EXPECT_EQ(c.stores[0].tables[0].options.workers, 9U);
  EXPECT_EQ(c.stores[1].name, "second");
  EXPECT_EQ(c.stores[1].tables.size(), 2U);
  EXPECT_EQ(c.transports.kafka.brokers, "k:9092");
  EXPECT_EQ(c.traffic.limits_of_tenant.at("acme").rate, 5U);
  EXPECT_EQ(made.origins.at("listen"), "SAGABOX_LISTEN");
}

TEST(Configuration, ATableNamedAloneStaysWhenAVariableNamesAnother) {
  const auto made = read("stores: {a: {url: \"memory:\", tables: orders}}\ndelivery: elsewhere",
                         {{"SAGABOX_STORES_A_TABLES_BILLING_RETENTION", "1d"}});
  ASSERT_EQ(made.problems, Problems{});
  const auto& tables = made.configuration.stores.at(0).tables;
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].options.table, "orders");
  EXPECT_EQ(tables[1].options.table, "billing");
}

TEST(Configuration, AVariableThatMeansNothingIsAnError) {
  EXPECT_EQ(
      problems("", {{"SAGABOX_RETENTOIN", "1d"}}),
      Problems{"SAGABOX_RETENTOIN: no setting has this name; did you mean SAGABOX_RETENTION?"});
  EXPECT_EQ(problems("", {{"SAGABOX_STORES_MAIN_ULR", "x"}}),
            Problems{"SAGABOX_STORES_MAIN_ULR: no setting has this name; did you mean "
                     "SAGABOX_STORES_MAIN_URL?"});
  EXPECT_EQ(problems("", {{"SAGABOX_WORKERS_OF_THE_WORLD_UNITE_NOW", "x"}}).size(), 1U);
  EXPECT_EQ(problems("", {{"SAGABOX_RELAY_WORKERS", "many"}}),
            Problems{"SAGABOX_RELAY_WORKERS: relay.workers is \"many\"; write a whole number"});
}

TEST(Configuration, SecretsComeFromFilesAndVariables) {
  const auto file = written("password", "geheim\n").string();
  const auto made = read_more(
      "transports:\n  redis: { password_file: " + file +
          " }\n"
          "  mqtt: { username: \"${NAME}\", password: \"a${SAGABOX_PASS}b\" }\n",
      {{"NAME", "me"}, {"SAGABOX_PASS", "x"}, {"SAGABOX_TRANSPORTS_AMQP_PASSWORD_FILE", file}});
  ASSERT_EQ(made.problems, Problems{});
  EXPECT_EQ(made.configuration.transports.redis.password, "geheim");
  EXPECT_EQ(made.configuration.transports.amqp.password, "geheim");
  EXPECT_EQ(made.configuration.transports.mqtt.username, "me");
  EXPECT_EQ(made.configuration.transports.mqtt.password, "axb");
  EXPECT_EQ(problems("listen: \"${NOWHERE}\"").at(0),
            "sagabox.yaml:3: the environment has no \"NOWHERE\"; set it");
  EXPECT_EQ(problems("transports: {redis: {password_file: /nowhere}}"),
            Problems{"sagabox.yaml:3: transports.redis.password_file \"/nowhere\" cannot be read"});
  EXPECT_EQ(problems("", {{"SAGABOX_TRANSPORTS_AMQP_PASSWORD_FILE", "/nowhere"}}),
            Problems{"SAGABOX_TRANSPORTS_AMQP_PASSWORD_FILE: \"/nowhere\" cannot be read"});
}

TEST(Configuration, CredentialsOfTenantsComeFromFilesAndVariables) {
  const auto file = written("token", "geheim\n").string();
  const auto made = read_more(
      "transports: { http: { credentials: [\n"
      "  { tenant: acme, hosts: [a.example], bearer_file: " +
          file +
          " },\n"
          "  { tenant: umbrella, hosts: [a.example, b.example],\n"
          "    header: X-Api-Key, value: \"${KEY}\" } ] } }",
      {{"KEY", "offen"}});
  ASSERT_EQ(made.problems, Problems{});
  const auto& all = made.configuration.transports.http.tenant_credentials;
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].headers(), (Headers{{"Authorization", "Bearer geheim"}}));
  EXPECT_EQ(all[1].headers(), (Headers{{"X-Api-Key", "offen"}}));
  const auto printed = configuration_yaml(made);
  EXPECT_EQ(printed.find("geheim"), std::string::npos) << printed;
  EXPECT_EQ(printed.find("offen"), std::string::npos) << printed;
}

TEST(Configuration, MistakesInCredentialsOfTenantsNameTheLineAndNoSecret) {
  const auto problem = [](const std::string& entry) {
    const auto found = problems("transports:\n  http:\n    credentials:\n    - " + entry);
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? "" : found.front();
  };
  const std::string path = "sagabox.yaml:6: transports.http.credentials[0]";
  EXPECT_EQ(problem("{ tenant: acme, bearer: geheim }"),
            path + ": hosts: missing; name the hosts that get these credentials, or \"*\" for all");
  EXPECT_EQ(problem("{ hosts: [\"https://a.example/x\"], bearer: geheim }"),
            path +
                ": hosts: \"https://a.example/x\" is not a host; write it as "
                "hooks.example.com, without scheme, port and path");
  EXPECT_EQ(problem("{ hosts: [a.example], username: me }"),
            path + ": username and password go together; give both, or neither");
  EXPECT_EQ(problem("{ hosts: [a.example], bearer: geheim, username: me, password: geheim }"),
            path + ": bearer and username are both the header Authorization; give one of them");
  EXPECT_EQ(problem("{ hosts: [a.example], value: geheim }"),
            path + ": header and value go together; give both, or neither");
  EXPECT_EQ(problem("{ hosts: [a.example], header: content-length, value: geheim }"),
            path + ": header: \"content-length\" is not the name of a header that may be set");
  EXPECT_EQ(problem("{ hosts: [a.example], bearer: \"gehe\\nim\" }"),
            path + ": bearer: has a line's end or another control character in it; leave it out");
  EXPECT_EQ(problem("{ hosts: [a.example], bearer: \"\" }"),
            path + ".bearer; it is empty; give it, or leave it out");
  EXPECT_EQ(problem("{ tenat: acme, hosts: [a.example] }"),
            "sagabox.yaml:6: unknown key \"tenat\" under transports.http.credentials[0]; did you "
            "mean \"tenant\"?");
}

TEST(Configuration, LimitsOfSagasAreCheckedWithTheirLine) {
  EXPECT_EQ(problems("sagas: { limits: { participant: { rate: 0 } } }"),
            Problems{"sagabox.yaml:3: sagas.limits.participant.rate is \"0\"; it must be from 1 to "
                     "1000000000"});
  EXPECT_EQ(problems("sagas: { limits: { definitions: { travel: { burst: 3 } } } }"),
            Problems{"sagabox.yaml:3: sagas.limits.definitions.travel: burst needs a rate"});
}

TEST(Configuration, PathsAreMeantFromTheFile) {
  const auto schema = written("schema.json", R"({"type": "object"})");
  const auto path = schema.parent_path() / "sagabox.yaml";
  std::ofstream(path) << "routes:\n- {topic: \"**\", to: \"file:out\", schema_file: schema.json}\n";
  const auto made = read_configuration({.path = path.string()});
  ASSERT_EQ(made.problems, Problems{});
  EXPECT_EQ(made.configuration.routes.at(0).schema_file, schema.string());
  EXPECT_TRUE(made.configuration.routes.at(0).options.schema);
  EXPECT_EQ(read_configuration({.path = "/nowhere.yaml"}).problems,
            Problems{"/nowhere.yaml: cannot be read: No such file or directory"});
}

TEST(Configuration, AFileThatGrowsWithoutEndIsRefused) {
  std::string text = "x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n";
  for (int level = 1; level < 9; ++level) {
    const auto before = "*x" + std::to_string(level - 1);
    text += "x" + std::to_string(level) + ": &x" + std::to_string(level) + " [" + before;
    for (int more = 0; more < 9; ++more) text += ", " + before;
    text += "]\n";
  }
  EXPECT_NE(read(text).problems.at(0).find("too large"), std::string::npos);
}

constexpr auto everything = R"(
listen: "[::1]:8701"
tls: { certificate_file: /c.pem, key_file: /k.pem }
log: { level: debug, format: json }
retention: 12h
dead_retention: 30d
head_policy: park
relay: { workers: 7, settle_delay_max: 1500us, queue_bytes_max: 3MiB }
retry: { preset: patient, attempts_max: 3 }
stores:
  "we ird": { url: "postgres://me:geheim@db/x", schema: other, shards: 4, tables: { a: { preset: polling, retention: 3h }, b: } }
  plain: { url: "memory:" }
routes:
  - topic: a.*.v1
    to: [{ address: "https://u:geheim@h/x?y", secret: geheim }, "nats:x"]
    timeout: 5s
    retry: { attempts_max: 2 }
    limits: { rate: 5, burst: 2, budget: { messages: 5, window: 1m } }
    tenants: [a, "b c"]
  - { topic: "**", to: "file:out #1" }
limits: { transports: { nats: { rate: 5 } }, tenant: { concurrency: 3 }, tenants: { acme: { rate: 9 } }, fair_tenants: true }
breaker: { probe_max: 30s }
unroutable: dead
unroutable_grace: 2h
transports:
  kafka: { brokers: "a:1,b:2", properties: { linger.ms: 5 }, sasl_password: geheim }
  nats: { servers: ["nats://u:geheim@n:1", "nats://n:2"], credentials: { token: geheim } }
  redis: { url: "redis://u:geheim@r:1/3" }
  http:
    credentials:
      - { tenant: acme, hosts: [hooks.example.com], bearer: geheim, header: X-Key, value: geheim }
      - { hosts: "*", username: me, password: geheim }
sagas:
  reply_secret: geheim geheim geheim
  reply_secret_before: geheim geheim geheim 1
  limits: { participant: { rate: 5 }, participants: { "https://a.example": { concurrency: 2 } } }
)";

TEST(Configuration, WhatIsPrintedReadsBackAsTheSame) {
  for (const std::string text : {"", feel, everything}) {
    const auto first = read(text);
    ASSERT_EQ(first.problems, Problems{});
    const auto printed = configuration_yaml(first, Secrets::shown);
    auto second = read(printed);
    ASSERT_EQ(second.problems, Problems{}) << printed;
    // Only where it was said differs.
    second.origins = first.origins;
    EXPECT_EQ(configuration_yaml(second, Secrets::shown), printed);
  }
}

TEST(Configuration, PrintSaysWhereEachSettingComesFromAndNoSecret) {
  const auto made = read(everything, {{"SAGABOX_METRICS_PREFIX", "box_"}});
  const auto printed = configuration_yaml(made);
  EXPECT_EQ(printed.find("geheim"), std::string::npos) << printed;
  EXPECT_NE(printed.find("postgres://me:***@db/x"), std::string::npos) << printed;
  EXPECT_NE(printed.find("password: \"***\""), std::string::npos) << printed;
  EXPECT_NE(printed.find("\n  workers: 7  # sagabox.yaml:8\n"), std::string::npos) << printed;
  EXPECT_NE(printed.find("\n  prefix: box_  # SAGABOX_METRICS_PREFIX\n"), std::string::npos);
  EXPECT_NE(printed.find("\n  lease: 15s  # default\n"), std::string::npos);
}

TEST(Configuration, TheSchemaIsJsonAndKnowsEverySetting) {
  const auto schema = configuration_schema();
  EXPECT_EQ(json_problem(schema), "");
  EXPECT_NE(schema.find("\"blocked_keys_max\""), std::string::npos);
  EXPECT_NE(schema.find("\"password_file\""), std::string::npos);
}

TEST(Configuration, ADaemonThatOnlyHasAHubNeedsNoRoutes) {
  const std::string hub = "hub: { enabled: true }\nstores: { a: { url: \"memory:\"";
  const auto made = read(hub + " } }");
  EXPECT_EQ(made.problems, Problems{});
  EXPECT_EQ(made.configuration.stores.at(0).tables.at(0).delivery, Delivery::elsewhere);
  // Who says that messages are delivered here has to say where to.
  EXPECT_EQ(read(hub + " } }\ndelivery: here").problems.size(), 1U);
  EXPECT_EQ(read(hub + ", tables: [x] } }").problems.size(), 1U);
}

TEST(Configuration, TheHubsKeyAndTypesAreCheckedAndTheKeyIsNeverRepeated) {
  const std::string key = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
  EXPECT_EQ(problems("hub: { enabled: true, secret_key: \"" + key + "\" }"), Problems{});
  const auto wrong = problems("hub: { enabled: true, secret_key: \"k1:geheim\" }");
  ASSERT_EQ(wrong.size(), 1U);
  EXPECT_EQ(wrong.front().find("geheim"), std::string::npos) << wrong.front();
  const auto schema = written("order.json", R"({"type":"object","required":["order"]})");
  const auto made = read_more(
      "hub: { enabled: true, known_types_only: true, event_types: "
      "[a.b.c.v1, { type: shop.order.placed.v1, schema_file: " +
      schema.string() + " }] }");
  ASSERT_EQ(made.problems, Problems{});
  const auto& types = made.configuration.hub.event_types;
  ASSERT_EQ(types.size(), 2U);
  EXPECT_EQ(types[0].type, "a.b.c.v1");
  EXPECT_FALSE(types[1].schema->problem("{}").empty());
  EXPECT_EQ(problems("hub: { event_types: [{ type: a, schema_file: nowhere.json }] }").size(), 1U);
}

TEST(Configuration, TheLeaseOfTheHubsJobsOutlivesItsRequests) {
  EXPECT_EQ(problems("hub: { job_lease: 130s }"), Problems{});
  EXPECT_EQ(problems("hub: { job_lease: 30s, request_timeout_max: 20s }"), Problems{});
  const auto wrong = problems("hub: { job_lease: 29s, request_timeout_max: 20s }");
  ASSERT_EQ(wrong.size(), 1U);
  EXPECT_NE(wrong.front().find("job_lease: 29s is too short for requests of request_timeout_max "
                               "(20s) and 10s to write the result; give 30s or more, or a shorter "
                               "request_timeout_max"),
            std::string::npos)
      << wrong.front();
}

std::string document() {
  std::ifstream file(testing::project_folder() / "docs/configuration.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Configuration, TheDocumentHasEverySettingAsItIsDescribed) {
  EXPECT_NE(document().find(configuration_table()), std::string::npos)
      << "docs/configuration.md should have this table:\n"
      << configuration_table();
}

RC_GTEST_PROP(Configuration, AnyTextIsReadOrRefused, (const std::string& noise)) {
  for (const auto& text : {noise, "relay: " + noise, std::string(feel) + noise,
                           "routes: [" + noise + "]", "stores: {a: {url: " + noise + "}}"}) {
    const auto made = read(text, {{"SAGABOX_" + noise, noise}});
    // The variable alone is one too many, whatever the text is.
    RC_ASSERT(!made.problems.empty());
  }
}

RC_GTEST_PROP(SettingValues, WhatIsShownIsReadAsTheSame, ()) {
  const Duration duration(*rc::gen::inRange<Duration::rep>(0, 1'000'000'000'000'000LL));
  Duration read_back{};
  RC_ASSERT(read_value(show_value(duration), read_back) == "");
  // Above days in nanoseconds a decimal point does not reach; nobody writes those.
  RC_ASSERT(std::chrono::abs(read_back - duration) <= std::chrono::microseconds(1));
  const auto bytes = *rc::gen::arbitrary<std::uint64_t>();
  std::uint64_t bytes_back = 0;
  RC_ASSERT(read_bytes(show_bytes(bytes), bytes_back) == "");
  RC_ASSERT(bytes_back == bytes);
}

TEST(Nearest, IsWhatSomebodyMayHaveMeant) {
  const std::vector<std::string> names{"attempts_max", "backoff_min", "backoff_max"};
  EXPECT_EQ(nearest("atempts_max", names), "attempts_max");
  EXPECT_EQ(nearest("backof_mni", names), "backoff_min");
  EXPECT_EQ(nearest("zzz", names), "");
  EXPECT_EQ(nearest(std::string(5000, 'a'), names), "");
}

}  // namespace
}  // namespace sagabox::assembly
