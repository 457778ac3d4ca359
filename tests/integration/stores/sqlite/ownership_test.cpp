#include "integration/outbox/world.hpp"
#include "integration/stores/sqlite/world.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>

namespace sagabox::sqlite {
namespace {

using integration::eventually;
using integration::Inbox;
using integration::placed;
using std::chrono::milliseconds;
using std::chrono::seconds;

class SqliteOwnership : public SqliteTest {
 protected:
  static constexpr Duration ttl = seconds(15);

  WorkerId join(Store& store) {
    const auto worker = ids_.next<WorkerId>();
    EXPECT_TRUE(store.ownership().join(worker, ttl, scopes_, 1).value().live);
    return worker;
  }
  std::vector<spi::OwnedShard> take(Store& store, const WorkerId& worker) {
    return store.ownership().take(scopes_[0], worker, 1).value();
  }
  spi::ShardOwner owner(Store& store) {
    return store.ownership().census(scopes_[0]).value().shards.at(0);
  }

  const std::vector<spi::Scope> scopes_{"outbox:orders"};
};

TEST_F(SqliteOwnership, SecondStoreStandsByUntilTheFirstLetsGo) {
  const auto first = open_store();
  const auto second = open_store();
  const auto a = join(*first);
  const auto b = join(*second);
  const auto taken = take(*first, a);
  ASSERT_EQ(taken.size(), 1U);

  EXPECT_TRUE(take(*second, b).empty());
  EXPECT_EQ(owner(*second).owner, a);
  EXPECT_GT(owner(*second).lease_left, Duration{});
  EXPECT_EQ(second->ownership().census(scopes_[0]).value().live, std::vector{b});

  first->ownership().release(scopes_[0], a, taken).value();
  const auto next = take(*second, b);
  ASSERT_EQ(next.size(), 1U);
  EXPECT_FALSE(next[0].unclean);
  EXPECT_GT(next[0].epoch, taken[0].epoch);
  EXPECT_TRUE(take(*first, a).empty());
}

TEST_F(SqliteOwnership, LinkToTheFileLeadsToTheSameOwner) {
  const auto first = open_store();
  const auto link = path() + "-link";
  std::filesystem::create_symlink(path(), link);
  const auto second = open(link).value();
  const auto a = join(*first);
  const auto b = join(*second);
  ASSERT_EQ(take(*first, a).size(), 1U);
  EXPECT_TRUE(take(*second, b).empty());
  EXPECT_EQ(second->name(), first->name());
}

TEST_F(SqliteOwnership, StandByNeedsNoWriteLock) {
  const auto first = open_store();
  (void)take(*first, join(*first));
  const auto second = open_store({.lock_max = milliseconds(1)});
  auto user = connect();
  sagabox::testing::run_sql(user.get(), "BEGIN IMMEDIATE");
  const auto b = join(*second);
  EXPECT_GT(owner(*second).lease_left, Duration{});
  EXPECT_TRUE(second->ownership().renew(b, ttl).value().live);
}

TEST_F(SqliteOwnership, ClosedStoreLeavesItsShardUnclean) {
  auto first = open_store();
  const auto second = open_store();
  const auto taken = take(*first, join(*first));
  first.reset();
  EXPECT_LE(owner(*second).lease_left, Duration{});
  const auto next = take(*second, join(*second));
  ASSERT_EQ(next.size(), 1U);
  EXPECT_TRUE(next[0].unclean);
  EXPECT_EQ(next[0].epoch.value, taken[0].epoch.value + 1);
}

TEST_F(SqliteOwnership, LeaseThatRanOutIsFreeForOthersAndItsSettlesAreRefused) {
  sagabox::testing::FakeClock clock;
  const auto first = open_store({.clock = &clock});
  const auto second = open_store({.clock = &clock});
  const auto a = join(*first);
  const auto taken = take(*first, a);
  const auto row = write(*first).value();
  clock.advance(ttl + seconds(1));
  EXPECT_FALSE(first->ownership().renew(a, ttl).value().live);
  ASSERT_EQ(take(*second, join(*second)).size(), 1U);

  const spi::Fence fence{Shard{0}, taken[0].epoch};
  const spi::Settlement done{.sequence = row.sequence, .id = row.id};
  const auto reply = first->outbox()
                         .settle({.table = table_,
                                  .fencing = {"outbox:orders", a, {&fence, 1}},
                                  .items = std::span(&done, 1)})
                         .value();
  EXPECT_FALSE(reply.parts.at(0).held);
  EXPECT_EQ(count("orders_outbox"), "1");
}

TEST_F(SqliteOwnership, ScopesHaveLocksOfTheirOwn) {
  const auto first = open_store();
  const auto second = open_store();
  ASSERT_EQ(take(*first, join(*first)).size(), 1U);
  const auto b = ids_.next<WorkerId>();
  const std::vector<spi::Scope> purge{"purge:orders"};
  (void)second->ownership().join(b, ttl, purge, 1).value();
  EXPECT_EQ(second->ownership().take(purge[0], b, 1).value().size(), 1U);
}

/// Delivers in a process of its own, and says so through a pipe, until it is killed.
class Child {
 public:
  template <class Work>
  explicit Child(Work&& work) {
    if (pipe(pipe_.data()) != 0) throw std::runtime_error("pipe");
    pid_ = fork();
    if (pid_ == 0) {
      work([this] { (void)!::write(pipe_[1], "x", 1); });
      _exit(0);
    }
    close(pipe_[1]);
  }
  ~Child() {
    kill();
    close(pipe_[0]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Until it has said something once more. False: it ended.
  [[nodiscard]] bool hear() const {
    char heard = 0;
    return read(pipe_[0], &heard, 1) == 1;
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  std::array<int, 2> pipe_{};
  pid_t pid_ = -1;
};

TEST_F(SqliteOwnership, StandByProcessTakesOverWhenTheOwnerIsKilled) {
  // Nothing of SQLite's is open when the process forks.
  Child owner_process([&](const auto& say) {
    const auto store = open_store();
    auto options = OutboxOptions{};
    options.table = "orders";
    auto outbox = Outbox::several_processes(*store, options).value();
    outbox
        .listen(integration::topic,
                [&](const Delivery& d) {
                  say();
                  // The last one is never done.
                  while (d.payload().view() == "3") pause();
                  return done();
                })
        .value();
    outbox.start().value();
    for (const auto* payload : {"1", "2", "3"}) {
      store
          ->transaction(
              [&](OwnedTransaction& tx) { return outbox.write(tx, placed(payload, "k")); })
          .value();
    }
    for (;;) pause();
  });
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(owner_process.hear());

  const auto store = open_store();
  Inbox inbox;
  auto options = OutboxOptions{};
  options.table = "orders";
  options.lease = seconds(2);
  auto outbox = Outbox::several_processes(*store, options).value();
  outbox
      .listen(integration::topic,
              [&](const Delivery& d) {
                inbox.add(d);
                return done();
              })
      .value();
  outbox.start().value();
  ASSERT_TRUE(eventually([&] { return store->outbox_admin().stats(table_).value().pending == 1; }));
  EXPECT_EQ(inbox.size(), 0U) << "it only stands by";
  EXPECT_EQ(outbox.snapshot().shards_owned, 0U);

  owner_process.kill();

  ASSERT_TRUE(eventually([&] { return store->outbox_admin().stats(table_).value().done == 3; }));
  ASSERT_EQ(inbox.size(), 1U) << "what was in flight comes again, what was settled does not";
  EXPECT_EQ(inbox.all()[0].payload, "3");
  EXPECT_EQ(inbox.all()[0].epoch, 2U);
}

}  // namespace
}  // namespace sagabox::sqlite
