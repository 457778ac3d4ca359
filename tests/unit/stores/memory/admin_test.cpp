#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace sagabox::memory {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

/// What only the memory store can do to itself; what every store does is in tests/conformance.
class MemoryAdminTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_.outbox().prepare(table_).value();
    const std::vector<spi::Scope> scopes{"outbox:orders", spi::Scope("replay:orders")};
    (void)store_.ownership().join(worker_, hours(1), scopes, 16).value();
    for (const auto& shard : store_.ownership().take(scopes[0], worker_, 16).value()) {
      fences_.push_back({shard.shard, shard.epoch});
    }
    replays_ = store_.ownership().take(scopes[1], worker_, 16).value().at(0).epoch;
  }

  Written write(std::optional<WallTime> not_before = std::nullopt) {
    const auto sent = std::make_shared<const Message>(
        Message::build({.topic = "a.b.c.v1", .payload = json("{}"), .not_before = not_before},
                       MessageRules{}, ids_, clock_)
            .value());
    return store_
        .transaction(
            [&](OwnedTransaction& tx) { return tx.outbox().insert(table_, std::span(&sent, 1)); })
        .value()
        .front();
  }
  std::uint32_t settle(const Written& row, spi::Verdict verdict) {
    const spi::Settlement item{.sequence = row.sequence,
                               .shard = row.shard,
                               .id = row.id,
                               .verdict = verdict,
                               .attempts = 1};
    return store_.outbox()
        .settle({table_, {"outbox:orders", worker_, fences_}, std::span(&item, 1), true})
        .value()
        .parts.at(row.shard.value)
        .rows;
  }
  Written dead() {
    const auto row = write();
    EXPECT_EQ(settle(row, spi::Verdict::dead), 1U);
    return row;
  }
  Result<spi::MoveReply> move(spi::Move how, const MessageId& id) {
    return admin().move({.table = table_, .move = how, .ids = std::span(&id, 1), .actor = "ann"});
  }
  Result<spi::JobAdvanceReply> advance(ReplayJobId job) {
    const spi::Fence fence{.shard = Shard{0}, .epoch = replays_};
    return store_.control().advance_job({table_, job, {"replay:orders", worker_, {&fence, 1}}, 10});
  }
  MessageState state(const Written& row) {
    return admin().find({.table = table_, .id = row.id}).value().value().state;
  }
  spi::OutboxAdminStore& admin() { return store_.outbox_admin(); }
  std::size_t readable() {
    std::vector<spi::Range> ranges;
    std::vector<spi::DueRange> due;
    for (std::uint16_t s = 0; s < 16; ++s) {
      for (std::uint8_t l = 0; l < spi::lane_count; ++l) {
        ranges.push_back({Shard{s}, spi::Lane{l}, {}, 100});
      }
      due.push_back({Shard{s}, {}, {}, 100});
    }
    return store_.outbox().read(table_, ranges, 1 << 20).value().rows.size() +
           store_.outbox().read_due(table_, due, 1 << 20).value().rows.size();
  }
  /// Does `call` with each fault in turn: `happened()` is false until a reply is lost after.
  template <class Call, class Happened>
  void expect_faults(Operation operation, Call call, Happened happened) {
    for (const auto fault : {Fault::refused, Fault::lost_before, Fault::lost_after}) {
      store_.set_faults([=](Operation asked) { return asked == operation ? fault : Fault::none; });
      const auto result = call();
      store_.set_faults({});
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.error().code,
                fault == Fault::refused ? Code::storage_unavailable : Code::storage_in_doubt);
      EXPECT_EQ(happened(), fault == Fault::lost_after) << static_cast<int>(fault);
    }
  }

  testing::FakeClock clock_;
  std::unique_ptr<Random> random_ = seeded_random(7);
  UlidSource ids_{clock_, *random_};
  MemoryStore store_{{.clock = &clock_}};
  TableName table_ = TableName::parse("orders").value();
  WorkerId worker_ = ids_.next<WorkerId>();
  std::vector<spi::Fence> fences_;
  Epoch replays_{};
};

TEST_F(MemoryAdminTest, MisplacedRowsAreReadByNobodyAndFoundAsStrays) {
  const auto fresh = write();
  const auto delayed = write(clock_.wall_now() + seconds(5));
  const auto kept = write();
  store_.misplace(table_, fresh.sequence).value();
  store_.misplace(table_, delayed.sequence).value();
  clock_.advance(seconds(10));

  EXPECT_EQ(readable(), 1U);
  EXPECT_EQ(admin().stats(table_).value().pending, 3U) << "pending all the same";
  const auto strays = admin().strays(table_, 10).value();
  ASSERT_EQ(strays.size(), 2U);
  EXPECT_EQ(strays[0].id, fresh.id);
  EXPECT_EQ(strays[0].sequence, fresh.sequence);
  EXPECT_FALSE(strays[0].why.empty());
  EXPECT_EQ(strays[1].id, delayed.id);
  EXPECT_EQ(admin().strays(table_, 1).value().size(), 1U);
  EXPECT_NE(strays[0].id, kept.id);
}

TEST_F(MemoryAdminTest, StrayComesBackByQuarantineAndRelease) {
  const auto row = write();
  store_.misplace(table_, row.sequence).value();
  EXPECT_TRUE(move(spi::Move::quarantine, row.id).value().items[0].moved);
  EXPECT_TRUE(move(spi::Move::release, row.id).value().items[0].moved);
  EXPECT_TRUE(admin().strays(table_, 10).value().empty());
  EXPECT_EQ(readable(), 1U);
  EXPECT_EQ(settle(row, spi::Verdict::done), 1U);
  const auto stats = admin().stats(table_).value();
  EXPECT_EQ(stats.pending, 0U);
  EXPECT_EQ(stats.waiting, 0U);
}

TEST_F(MemoryAdminTest, StrayMayBeSettled) {
  const auto row = write();
  store_.misplace(table_, row.sequence).value();
  EXPECT_EQ(settle(row, spi::Verdict::done), 1U);
  EXPECT_EQ(admin().stats(table_).value().waiting, 0U);
  const auto wrong = store_.misplace(table_, row.sequence);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message, "table \"orders\" has no pending row 1");
}

TEST_F(MemoryAdminTest, MoveSuffersFaults) {
  const auto row = dead();
  expect_faults(
      Operation::move, [&] { return move(spi::Move::replay, row.id); },
      [&] { return state(row) == MessageState::pending; });
}

TEST_F(MemoryAdminTest, PurgeSuffersFaults) {
  (void)dead();
  expect_faults(
      Operation::purge,
      [&] { return admin().purge({.table = table_, .state = MessageState::dead}); },
      [&] { return admin().stats(table_).value().dead == 0; });
}

TEST_F(MemoryAdminTest, ControlsSufferFaults) {
  auto& control = store_.control();
  expect_faults(
      Operation::set_pause, [&] { return control.set_pause({.table = table_}); },
      [&] { return !control.controls(table_).value().pauses.empty(); });
  expect_faults(
      Operation::create_job, [&] { return control.create_job({.table = table_}); },
      [&] { return !control.jobs(table_).value().empty(); });
  const ReplayJobId job{1};
  expect_faults(
      Operation::change_job, [&] { return control.change_job({.table = table_, .job = job}); },
      [&] { return control.jobs(table_).value()[0].state == ReplayJob::State::stopped; });
  (void)control.change_job({.table = table_, .job = job, .to = ReplayJob::State::running}).value();
  expect_faults(
      Operation::advance_job, [&] { return advance(job); },
      [&] { return control.jobs(table_).value()[0].state == ReplayJob::State::finished; });
  const AuditEvent event;
  const auto before = store_.audit().head().value().number;
  expect_faults(
      Operation::audit, [&] { return store_.audit().append(std::span(&event, 1)); },
      [&] { return store_.audit().head().value().number > before; });
}

TEST_F(MemoryAdminTest, LookingSuffersFaults) {
  store_.set_faults([](Operation asked) {
    return asked == Operation::look || asked == Operation::controls || asked == Operation::audit
               ? Fault::refused
               : Fault::none;
  });
  const auto refused = [](const auto& result) {
    return !result.ok() && result.error().code == Code::storage_unavailable;
  };
  EXPECT_TRUE(refused(admin().stats(table_)));
  EXPECT_TRUE(refused(admin().list({.table = table_})));
  EXPECT_TRUE(refused(admin().find({.table = table_, .id = MessageId{}})));
  EXPECT_TRUE(refused(admin().count(table_, MessageState::dead, {})));
  EXPECT_TRUE(refused(admin().strays(table_, 1)));
  EXPECT_TRUE(refused(store_.control().jobs(table_)));
  EXPECT_TRUE(refused(store_.control().controls(table_)));
  EXPECT_TRUE(refused(store_.audit().read(0, 1)));
  EXPECT_TRUE(refused(store_.audit().head()));
}

TEST_F(MemoryAdminTest, FailOverTakesOperatorActsBackWithTheirAudit) {
  const auto row = dead();
  const auto other = dead();
  auto& control = store_.control();
  (void)control.set_pause({.table = table_, .topic = "a.b.c.v1"}).value();
  const auto job = control.create_job({.table = table_}).value();
  store_.checkpoint();
  const auto head = store_.audit().head().value();
  const auto controls = control.controls(table_).value();

  ASSERT_EQ(advance(job.id).value().rows, 2U);
  (void)control.set_pause({.table = table_, .topic = "a.b.c.v1", .paused = false}).value();
  ASSERT_TRUE(move(spi::Move::quarantine, other.id).value().items[0].moved);
  ASSERT_NE(control.controls(table_).value().taken, controls.taken);
  ASSERT_NE(store_.audit().head().value(), head);
  ASSERT_TRUE(store_.fail_over());

  EXPECT_EQ(store_.audit().head().value(), head);
  EXPECT_EQ(store_.audit().read(0, 100).value().size(), head.number);
  EXPECT_EQ(control.controls(table_).value().pauses, controls.pauses);
  EXPECT_EQ(control.controls(table_).value().taken, controls.taken);
  EXPECT_EQ(control.jobs(table_).value().at(0), job);
  EXPECT_EQ(state(row), MessageState::dead);
  EXPECT_EQ(state(other), MessageState::dead);
  EXPECT_EQ(admin().find({.table = table_, .id = row.id}).value()->history.size(), 1U);
  EXPECT_EQ(advance(job.id).value().rows, 2U) << "and it goes on from there";
  AuditVerifier verifier;
  for (const auto& entry : store_.audit().read(0, 100).value()) EXPECT_EQ(verifier.next(entry), "");
}

TEST_F(MemoryAdminTest, CheckpointDoesNotChangeWithTheRowsItRemembers) {
  const auto row = write();
  EXPECT_EQ(settle(row, spi::Verdict::retry), 1U);
  store_.checkpoint();
  EXPECT_EQ(settle(row, spi::Verdict::park), 1U);
  ASSERT_TRUE(move(spi::Move::release, row.id).value().items[0].moved);
  ASSERT_TRUE(store_.fail_over());
  const auto found = admin().find({.table = table_, .id = row.id}).value().value();
  EXPECT_TRUE(found.retrying);
  EXPECT_EQ(found.attempts, 1U);
  EXPECT_EQ(found.history.size(), 1U);
}

TEST_F(MemoryAdminTest, InspectorSeesReplays) {
  const auto row = dead();
  EXPECT_EQ(store_.inspect(table_).at(0).replays, 0U);
  (void)move(spi::Move::replay, row.id).value();
  EXPECT_EQ(store_.inspect(table_).at(0).replays, 1U);
  EXPECT_EQ(store_.inspect(table_).at(0).settled, 0U) << "another row";
}

TEST_F(MemoryAdminTest, OperatorsAndRelaysMayMeet) {
  constexpr int rounds = 200;
  std::thread relay([&] {
    for (int i = 0; i < rounds; ++i) (void)dead();
  });
  std::thread auditor([&] {
    for (int i = 0; i < rounds; ++i) {
      (void)store_.audit().read(0, 10).value();
      (void)store_.control().controls(table_).value();
      (void)admin().strays(table_, 10).value();
    }
  });
  std::size_t replayed = 0;
  while (replayed < rounds) {
    for (const auto& row : admin().list({.table = table_, .with_payload = true}).value().rows) {
      EXPECT_TRUE(move(spi::Move::replay, row.id).value().items[0].moved);
      ++replayed;
    }
  }
  relay.join();
  auditor.join();
  EXPECT_EQ(admin().stats(table_).value().pending, static_cast<std::uint64_t>(rounds));
  EXPECT_EQ(store_.audit().head().value().number, 2U * rounds);
}

TEST(MemoryStoreWithOneWriter, ReplayDoesNotOvertakeAnOpenTransaction) {
  testing::FakeClock clock;
  const auto random = seeded_random(3);
  UlidSource ids(clock, *random);
  MemoryStore store({.late_commits = spi::LateCommits::none, .clock = &clock});
  const auto table = TableName::parse("orders").value();
  store.outbox().prepare(table).value();
  const auto build = [&] {
    return std::make_shared<const Message>(
        Message::build({.topic = "a.b.c.v1", .payload = json("{}")}, MessageRules{}, ids, clock)
            .value());
  };
  const auto sent = build();
  (void)store
      .transaction(
          [&](OwnedTransaction& tx) { return tx.outbox().insert(table, std::span(&sent, 1)); })
      .value();
  const auto id = sent->id();
  const auto move = [&](spi::Move how) {
    return store.outbox_admin().move({.table = table, .move = how, .ids = std::span(&id, 1)});
  };
  ASSERT_TRUE(move(spi::Move::quarantine).value().items[0].moved);
  auto open = store.begin().value();
  const auto other = build();
  (void)open->outbox().insert(table, std::span(&other, 1)).value();

  const auto refused = move(spi::Move::replay);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::storage_conflict);
  open->commit().value();
  EXPECT_TRUE(move(spi::Move::replay).value().items[0].moved);
}

}  // namespace
}  // namespace sagabox::memory
