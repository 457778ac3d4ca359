#include "crash/sqlite/script.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <optional>

namespace sagabox::crash {
namespace {

using testing::SqliteDisk;
using testing::SqliteFolder;
using testing::Unsynced;
using Kind = SqliteDisk::Kind;

/// The disk fails at the first act of a kind, then at the second … of one and the same run.
class SqliteFaults : public ::testing::Test {
 protected:
  /// What the run left, seen by a user.
  std::string problem_of(Script& script) {
    const auto found = look_into(script.connect().get(), script.store());
    if (!found.problems.empty()) return found.problems.front();
    return script.story().problem(found.places, disk.acts(), true);
  }

  /// As a process that is started again finds it.
  std::string problem_after(const Story& story, const testing::Files& left, std::size_t at) {
    disk.restore(left);
    Script script(disk, folder.file(), {});
    if (const auto opened = script.open(); !opened.ok()) return opened.error().text();
    const auto found = look_into(script.connect().get(), script.store());
    if (!found.problems.empty()) return found.problems.front();
    return story.problem(found.places, at, true);
  }

  SqliteFolder folder;
  SqliteDisk disk{"sagabox-failing"};
};

class SqliteFull : public SqliteFaults, public ::testing::WithParamInterface<bool> {
 protected:
  /// Whether there was such a write.
  bool run_full_at(std::size_t number) {
    disk.restore({});
    std::size_t writes = 0;
    bool room = true;
    disk.refuse([&](Kind kind, std::string_view) {
      if (kind != Kind::write) return SQLITE_OK;
      const bool begins = writes++ == number;
      if (begins && GetParam()) room = false;
      return begins || !room ? SQLITE_FULL : SQLITE_OK;
    });
    Script script(disk, folder.file(), {.rounds = 1});
    for (const auto& step : script.steps()) {
      auto done = step.run();
      if (!done.ok()) {
        ++told;
        EXPECT_EQ(done.error().code, Code::storage_unavailable) << step.name;
        EXPECT_NE(done.error().message.find("full"), std::string::npos) << done.error().text();
        if (!script.story().deeds.empty()) {
          EXPECT_EQ(problem_of(script), "") << step.name << " was refused, write " << number;
        }
        room = true;
        done = step.run();
      }
      room = true;
      EXPECT_TRUE(done.ok()) << step.name << ", write " << number << ": " << done.error().text();
    }
    EXPECT_EQ(problem_of(script), "") << "write " << number;
    disk.refuse({});
    return writes > number;
  }

  std::size_t told = 0;
};

TEST_P(SqliteFull, AtEveryWriteIsToldAndNothingIsLostAndItGoesOnWhenThereIsRoom) {
  std::size_t number = 0;
  while (run_full_at(number) && !HasFailure()) ++number;
  std::cout << number << " writes, told " << told << " times\n";
  EXPECT_GT(told, 50U);
}

INSTANTIATE_TEST_SUITE_P(Disk, SqliteFull, ::testing::Bool(),
                         [](const auto& kind) { return kind.param ? "ForAWhile" : "ForOneWrite"; });

class SqliteSync : public SqliteFaults {
 protected:
  /// One sync fails; the run goes on for a few steps, then the power is cut. Whether there was such
  /// a sync.
  bool run_failing_at(std::size_t number, int steps_more) {
    disk.restore({});
    std::size_t syncs = 0;
    disk.refuse([&](Kind kind, std::string_view) {
      return kind == Kind::sync && syncs++ == number ? SQLITE_IOERR_FSYNC : SQLITE_OK;
    });
    std::optional<Script> script(std::in_place, disk, folder.file(), Script::Settings{});
    for (const auto& step : script->steps()) {
      auto done = step.run();
      if (!done.ok() && done.error().code == Code::storage_unavailable) done = step.run();
      if (!done.ok()) {
        expect_told(done.error());
        break;
      }
      if (syncs > number && steps_more-- == 0) break;
    }
    disk.refuse({});
    const auto story = script->story();
    const auto at = disk.acts();
    SqliteDisk::Platter platter(disk);
    platter.go_to(at);
    auto random = seeded_random(number);
    const auto left = platter.cut(Unsynced::lost, *random);
    script.reset();
    EXPECT_EQ(problem_after(story, left, at), "") << "sync " << number;
    return syncs > number;
  }

  void expect_told(const Error& error) {
    ++told;
    const bool in_doubt = error.code == Code::storage_in_doubt;
    EXPECT_TRUE(in_doubt || error.code == Code::storage_unavailable);
    EXPECT_NE(error.message.find("sync"), std::string::npos) << error.text();
  }

  std::size_t told = 0;
};

TEST_F(SqliteSync, FailureIsToldAndWhatIsAcknowledgedAfterwardsIsOnTheDisk) {
  std::size_t number = 0;
  for (bool there = true; there && !HasFailure(); number += there ? 1 : 0) {
    for (int steps_more = 0; steps_more < 3; ++steps_more) {
      there = run_failing_at(number, steps_more);
    }
  }
  std::cout << number << " syncs, told " << told << " times\n";
  EXPECT_GT(told, number);
}

}  // namespace
}  // namespace sagabox::crash
