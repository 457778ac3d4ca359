#include "stores/postgres/driver/pool.hpp"

#include "integration/stores/postgres/world.hpp"

#include <thread>

namespace sagabox::postgres {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class PostgresPool : public PostgresTest {
 protected:
  static int backend(Pool::Lease& lease) {
    return lease->run({"", "SELECT pg_backend_pid()"}, {}, Effect::none).value().int4(0, 0);
  }
};

TEST_F(PostgresPool, ConnectionIsUsedAgain) {
  Pool pool(settings(), {.connections_max = 2}, "tests");
  auto first = pool.take().value();
  const int pid = backend(first);
  first.release();
  auto again = pool.take().value();
  EXPECT_EQ(backend(again), pid);
  auto other = pool.take().value();
  EXPECT_NE(backend(other), pid);
}

TEST_F(PostgresPool, WaitForAConnectionIsBounded) {
  Pool pool(settings(), {.connections_max = 1, .wait_max = milliseconds(1)}, "tests");
  auto held = pool.take().value();
  const auto refused = pool.take();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::storage_unavailable);
  EXPECT_NE(refused.error().message.find("tests"), std::string::npos) << refused.error().message;
}

TEST_F(PostgresPool, WaiterGetsWhatIsGivenBack) {
  Pool pool(settings(), {.connections_max = 1, .wait_max = seconds(60)}, "tests");
  auto held = pool.take().value();
  std::thread waiter([&] { EXPECT_TRUE(pool.take().ok()); });
  held.release();
  waiter.join();
}

TEST_F(PostgresPool, OpenTransactionIsRolledBackOnTheWayHome) {
  Pool pool(settings(), {.connections_max = 1}, "tests");
  {
    auto lease = pool.take().value();
    lease->begin().value();
  }
  auto again = pool.take().value();
  EXPECT_FALSE(again->in_transaction());
}

TEST_F(PostgresPool, ConnectionThatDiedIdleIsReplaced) {
  Pool pool(settings(), {.connections_max = 1}, "tests");
  auto lease = pool.take().value();
  const int pid = backend(lease);
  lease.release();
  database_->sql("SELECT pg_terminate_backend(" + std::to_string(pid) + ", 10000)");
  auto next = pool.take().value();
  EXPECT_NE(backend(next), pid);
}

TEST_F(PostgresPool, ConnectionThatDiedInUseMakesRoom) {
  Pool pool(settings(), {.connections_max = 1, .wait_max = milliseconds(1)}, "tests");
  {
    auto lease = pool.take().value();
    database_->sql("SELECT pg_terminate_backend(" + std::to_string(backend(lease)) + ", 10000)");
    EXPECT_FALSE(lease->run({"", "SELECT 1"}, {}, Effect::none).ok());
  }
  EXPECT_TRUE(pool.take().ok());
}

TEST_F(PostgresPool, ServerThatIsDownIsNotTriedAllTheTime) {
  sagabox::testing::FakeClock clock;
  auto nowhere = settings();
  nowhere.url = "postgres://127.0.0.1:1/orders";
  nowhere.clock = &clock;
  Pool pool(nowhere, {.backoff_min = milliseconds(100), .backoff_max = milliseconds(150)}, "tests");
  const auto next_try = [&] {
    return pool.take().error().message.find("next try in") != std::string::npos;
  };
  EXPECT_FALSE(next_try()) << "the first one tries";
  EXPECT_TRUE(next_try());
  clock.advance(milliseconds(101));
  EXPECT_FALSE(next_try());
  clock.advance(milliseconds(101));
  EXPECT_TRUE(next_try()) << "the pause has grown";
  clock.advance(milliseconds(50));
  EXPECT_FALSE(next_try()) << "up to its maximum";
}

}  // namespace
}  // namespace sagabox::postgres
