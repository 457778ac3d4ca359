#include "integration/postgres/world.hpp"
#include "support/places.hpp"

#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace sagabox::integration {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

struct Ran {
  std::string out;  ///< what it wrote, complaints too
  int code = -1;
};

/// The real binary, on a schema of this test's own.
class PostgresOperatorVerbs : public PostgresWorld {
 protected:
  [[nodiscard]] std::string url() const {
    const auto connection = database->connect();
    return std::string("postgres://postgres@127.0.0.1:") + PQport(connection.get()) +
           "/postgres?options=-c%20sagabox_test.clock%3D" + database->schema();
  }

  Ran sagabox(const std::string& arguments) {
    const auto command = testing::cli_binary().string() + " " + arguments + " --store '" + url() +
                         "' --schema " + database->schema() + " </dev/null 2>&1";
    std::FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("popen");
    Ran ran;
    std::array<char, 4096> buffer{};
    for (std::size_t read = 0; (read = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
      ran.out.append(buffer.data(), read);
    }
    const int status = pclose(pipe);
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ran;
  }

  std::string fine(const std::string& arguments) {
    const auto ran = sagabox(arguments);
    EXPECT_EQ(ran.code, 0) << arguments << ": " << ran.out;
    return ran.out;
  }

  static ::testing::AssertionResult has(const std::string& text, const std::string& part) {
    if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "no \"" << part << "\" in: " << text;
  }
};

TEST_F(PostgresOperatorVerbs, OwnersAndExplainTellOfARunningRelay) {
  auto options = defaults();
  options.control_interval = milliseconds(5);
  auto outbox = started(*store, into_inbox(), options);
  fine("pause --note deploy");
  const auto id = write(outbox, placed("{}", "17")).id.str();
  std::string owners;
  ASSERT_TRUE(eventually([&] {
    owners = fine("owners --json");
    return count_of(owners, "\"shard\":") == 16 && count_of(owners, "\"owner\":") == 16;
  }));
  EXPECT_TRUE(has(owners, "\"epoch\":1"));
  const auto why = fine("explain " + id);
  EXPECT_TRUE(has(why, "waits for: table orders to be resumed, paused"));
  EXPECT_TRUE(has(why, ": deploy"));
  EXPECT_TRUE(has(why, "s left, epoch 1"));
  EXPECT_TRUE(has(fine("status --over 1ms"), " 16 shards"));
  fine("resume");
  outbox.stop().value();
  EXPECT_TRUE(has(fine("owners"), "orders: nobody"));
}

TEST_F(PostgresOperatorVerbs, MigrationsAndShardsAreChangedFromTheCommandLine) {
  fine("migrate up --table orders");
  EXPECT_TRUE(has(fine("migrate up --table billing --shards 16"), "billing"));
  EXPECT_TRUE(has(fine("migrate status --json"), "\"current\":true"));
  EXPECT_TRUE(has(fine("migrate reshard --table billing --shards 4 --dry-run"),
                  "16 shards would become 4"));
  EXPECT_EQ(sagabox("migrate reshard --table billing --shards 4").code, 2);
  EXPECT_TRUE(has(fine("migrate reshard --table billing --shards 4 --yes"), "16 shards became 4"));
  EXPECT_TRUE(has(fine("migrate status --json"), "\"shards\":4"));
  EXPECT_EQ(sagabox("migrate reshard --table nothing --shards 4 --yes").code, 2);
  fine("outbox enqueue --table orders --topic a.b.c.v1 --payload '{}'");
  const auto refused = sagabox("migrate down --all --yes");
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(has(refused.out, "undelivered messages"));
  fine("migrate down --all --yes --force");
  EXPECT_EQ(sagabox("migrate status").code, 1);
  EXPECT_TRUE(has(sagabox("doctor").out, "the schema has not been made yet"));
}

TEST_F(PostgresOperatorVerbs, DoctorFindsSettingsIndexesAndClocks) {
  fine("migrate up --table orders");
  const auto plain = sagabox("doctor --json");
  EXPECT_FALSE(has(plain.out, "is missing or not valid"));
  EXPECT_FALSE(has(plain.out, "clocks differ"));
  // The tests' server does without it.
  EXPECT_TRUE(has(plain.out, "fsync is off"));
  EXPECT_TRUE(has(plain.out, "how much room the server's disk has cannot be asked"));
  EXPECT_EQ(plain.code, 1);
  database->sql("DROP INDEX " + database->schema() + ".orders_outbox_fresh");
  database->advance_time(std::chrono::minutes(1));
  const auto found = sagabox("doctor").out;
  EXPECT_TRUE(has(found, "outbox orders: index orders_outbox_fresh is missing"));
  EXPECT_TRUE(has(found, "the clocks differ: the database's is"));
}

TEST_F(PostgresOperatorVerbs, DoctorNamesWhoKeepsTheDatabaseFromClearingUp) {
  fine("migrate up --table orders");
  const auto connection = database->connect();
  sagabox::testing::run_sql(connection.get(), "BEGIN; SELECT pg_current_xact_id()");
  const auto pid = std::to_string(PQbackendPID(connection.get()));
  // As if it were older: the function is ours, the clock is not.
  const auto schema = database->schema();
  database->sql("CREATE OR REPLACE FUNCTION " + schema +
                ".horizon_holders(OUT kind text, OUT holder text, OUT seconds double precision, "
                "OUT transactions bigint) RETURNS SETOF record LANGUAGE sql AS $$ VALUES "
                "('transaction', '" +
                pid + "', 252.0::float8, 7::bigint) $$");
  const auto found = sagabox("doctor").out;
  EXPECT_TRUE(has(found, "the transaction of process " + pid + " has been open for 4m12s"));
  EXPECT_TRUE(has(found, "pg_terminate_backend(" + pid + ")"));
  EXPECT_TRUE(has(sagabox("status --over 1ms").out, "a transaction is open for 4m12s"));
}

TEST_F(PostgresOperatorVerbs, DeadLettersAreReplayedByARunningRelay) {
  auto options = defaults();
  options.control_interval = milliseconds(5);
  std::atomic<bool> mended{false};
  auto outbox = started(
      *store,
      [&](const Delivery& d) {
        if (!mended) return reject("broken");
        inbox.add(d);
        return done();
      },
      options);
  for (int i = 0; i < 3; ++i) write(outbox, placed());
  ASSERT_TRUE(eventually([&] { return stats().dead == 3; }));
  EXPECT_TRUE(has(fine("dead list"), "PROVIDER.REJECTED broken"));
  mended = true;
  ASSERT_TRUE(eventually([&] { return has(fine("owners --json"), "\"replayer\":"); }));
  EXPECT_TRUE(has(fine("dead replay --since 1h --yes"), "3/3"));
  EXPECT_TRUE(settles_to(3));
  EXPECT_TRUE(has(fine("audit verify"), "the log holds"));
}

TEST_F(PostgresOperatorVerbs, GrantsOfTheHubArePrintedAndAcceptedByTheServer) {
  EXPECT_TRUE(has(fine("migrate up"), "hub"));
  const auto user = database->schema() + "_worker";
  const auto grants = fine("hub grants --role worker --user " + user);
  EXPECT_TRUE(has(grants, "GRANT SELECT, UPDATE (state, resets, worker"));
  database->sql("CREATE ROLE " + user);
  database->sql(grants);
  EXPECT_EQ(database->sql("SELECT has_table_privilege('" + user + "', '" + database->schema() +
                          ".hub_secret', 'SELECT'), has_table_privilege('" + user + "', '" +
                          database->schema() + ".hub_delivery', 'INSERT, UPDATE, DELETE')"),
            (std::vector<std::string>{"t", "f"}));
  database->sql("DROP OWNED BY " + user + "; DROP ROLE " + user);
  EXPECT_TRUE(has(fine("hub grants --role router"), " TO \"sagabox_router\";"));
  const auto wrong = sagabox("hub grants --role chief");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(has(wrong.out, "orchestrator"));
}

}  // namespace
}  // namespace sagabox::integration
