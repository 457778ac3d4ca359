#include "crash/producer.hpp"
#include "crash/world.hpp"

#include <sagabox/outbox.hpp>
#include <sagabox/stores/postgres.hpp>

namespace sagabox::crash {
namespace {

using testing::run_sql;

/// A backend dies while it commits: its client cannot know, and the database knows one answer.
class PostgresCommit : public CrashTest {
 protected:
  /// Others do not wait for replicas.
  static constexpr const char* locally = " options='-c synchronous_commit=local'";

  void SetUp() override {
    CrashTest::SetUp();
    if (IsSkipped()) return;
    use_own_server();
    relay = std::make_unique<Process>(ground->relay({{"url", ground->url("relay") + locally}}));
    ASSERT_TRUE(eventually([&] { return ground->shards_held() == 16; }));
    open(ground->url("writer"));
    write({.topic = topic, .payload = json("{}"), .id = "before"}).value();
  }

  void open(const std::string& url) {
    store = postgres::open(url, {.schema = ground->schema()}).value();
    outbox.emplace(Outbox::writer_only(*store, {.table = "orders", .sequences = true}).value());
  }
  /// The message, and its line in the ledger unless it was there before.
  Result<Written> write(NewMessage message) {
    return store->transaction([&](OwnedTransaction& tx) -> Result<Written> {
      auto written = outbox->write(tx, std::move(message));
      if (!written.ok()) return written.error();
      const Written& one = **written;
      if (!one.duplicate) {
        run_sql(postgres::connection_of(tx),
                "INSERT INTO " + ground->in_schema("ledger") + " VALUES ('" + one.id.str() + "', " +
                    std::to_string(one.sequence.value) + ", '', false, false)");
      }
      return one;
    });
  }
  /// The writer's backend is ended when it waits for this in its COMMIT.
  void kill_when_it_waits_for(const std::string& event) {
    std::string pid;
    ASSERT_TRUE(eventually([&] {
      const auto found = ground->sql(
          "SELECT pid FROM pg_stat_activity WHERE application_name = 'writer' AND query = "
          "'COMMIT' AND wait_event = '" +
          event + "'");
      if (!found.empty()) pid = found[0];
      return !found.empty();
    }));
    ground->sql("SELECT pg_terminate_backend(" + pid + ", 60000)");
  }
  Error written_in_doubt(const std::string& event) {
    std::optional<Result<Written>> written;
    std::thread writer(
        [&] { written = write({.topic = topic, .payload = json("{}"), .id = "doubt"}); });
    kill_when_it_waits_for(event);
    writer.join();
    if (written->ok()) return {};
    return written->error();
  }
  void end_well(std::size_t messages) {
    EXPECT_TRUE(ground->drained());
    EXPECT_EQ(relay->stop(), 0);
    EXPECT_EQ(ground->problems(), "");
    EXPECT_EQ(ground->delivered(), messages);
  }

  std::unique_ptr<Process> relay;
  std::unique_ptr<Store> store;
  std::optional<Outbox> outbox;
};

TEST_F(PostgresCommit, LostBeforeItWasWrittenIsInDoubtAndTheSameIdAgainIsTheFirst) {
  ground->sql("CREATE FUNCTION " + ground->in_schema("stop()") +
              " RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); "
              "RETURN NULL; END $$; CREATE CONSTRAINT TRIGGER stop AFTER INSERT ON " +
              ground->in_schema("ledger") +
              " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION " +
              ground->in_schema("stop()"));
  const auto holder = ground->connect();
  run_sql(holder.get(), "SELECT pg_advisory_lock(1)");
  EXPECT_EQ(written_in_doubt("advisory").code, Code::storage_in_doubt);
  run_sql(holder.get(), "SELECT pg_advisory_unlock(1)");
  EXPECT_EQ(ground->sql("SELECT count(*) FROM " + ground->in_schema("ledger"))[0], "1");

  EXPECT_FALSE(write({.topic = topic, .payload = json("{}"), .id = "doubt"}).value().duplicate);
  end_well(2);
}

TEST_F(PostgresCommit, LostAfterItWasWrittenIsInDoubtAndTheSameIdAgainIsADuplicate) {
  // It commits here and waits for a replica that never comes.
  ground->sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  ground->sql("SELECT pg_reload_conf()");
  ASSERT_TRUE(eventually([&] {
    return run_sql(ground->connect().get(), "SHOW synchronous_standby_names")[0] == "nobody";
  }));
  EXPECT_EQ(written_in_doubt("SyncRep").code, Code::storage_in_doubt);
  EXPECT_EQ(ground->sql("SELECT count(*) FROM " + ground->in_schema("ledger"))[0], "2");

  open(ground->url("writer") + locally);
  EXPECT_TRUE(write({.topic = topic, .payload = json("{}"), .id = "doubt"}).value().duplicate);
  end_well(2);
}

}  // namespace
}  // namespace sagabox::crash
