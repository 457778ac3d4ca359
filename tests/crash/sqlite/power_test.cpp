#include "crash/seeds.hpp"
#include "crash/sqlite/script.hpp"

#include <gtest/gtest.h>

#include <iostream>

namespace sagabox::crash {
namespace {

using testing::Files;
using testing::SqliteDisk;
using testing::SqliteFolder;
using testing::Unsynced;

/// The power is cut after every act of a run on the disk (write, sync, truncate, new and removed
/// file); what is left is opened again, must be what was committed, and the store must go on.
class SqlitePowerCut : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  /// From the first act to the last. Returns where the file was ready.
  std::size_t run(const Script::Settings& settings, Story& story) {
    Script script(disk, folder.file(), settings);
    std::size_t ready = 0;
    for (const auto& step : script.steps()) {
      step.run().value();
      if (ready == 0) ready = disk.acts();
    }
    story = script.story();
    return ready;
  }

  /// What is wrong with what is left; empty: nothing.
  std::string problem_of(const Files& left, const Story& story, std::size_t at,
                         const Script::Settings& settings, Random* cuts_again = nullptr) {
    again.restore(left);
    Script script(again, folder.file(), settings);
    if (const auto opened = script.open(); !opened.ok()) {
      return "cannot be opened: " + opened.error().text();
    }
    const auto found = look_into(script.connect().get(), script.store());
    if (!found.problems.empty()) return found.problems.front();
    const bool is_durable = settings.durability == sqlite::Durability::full;
    auto problem = story.problem(found.places, at, is_durable);
    if (!problem.empty()) return problem;
    if (cuts_again == nullptr) return cannot_go_on(script);
    script.close();
    SqliteDisk::Platter platter(again);
    platter.go_to(cuts_again->below(again.acts() + 1));
    return problem_of(platter.cut(Unsynced::random, *cuts_again), story, at, settings);
  }

  static std::string cannot_go_on(Script& script) {
    if (auto rest = script.deliver_rest(); !rest.ok()) return "rest: " + rest.error().text();
    if (auto one = script.write_one("new"); !one.ok()) return "new: " + one.error().text();
    const auto connection = script.connect();
    if (testing::run_sql(connection.get(), "SELECT id FROM ledger ORDER BY seq DESC").at(0) !=
        "new") {
      return "a sequence was given out again";
    }
    const auto found = look_into(connection.get(), script.store());
    if (!found.problems.empty()) return "afterwards: " + found.problems.front();
    for (const auto& [id, place] : found.places) {
      if ((place == Place::pending) != (id == "new")) return "afterwards: " + id + " is misplaced";
    }
    return {};
  }

  /// After each act from `from` on, in each of these ways; returns how many had a problem.
  std::size_t cut_everywhere(const Story& story, const Script::Settings& settings,
                             std::vector<Unsynced> ways, std::size_t from = 0) {
    SqliteDisk::Platter platter(disk);
    auto random = seeded_random(GetParam());
    std::size_t cuts = 0;
    std::size_t wrong = 0;
    for (std::size_t at = from; at <= disk.acts(); ++at) {
      platter.go_to(at);
      for (const auto way : ways) {
        ++cuts;
        // Some have the next one while what the first left is opened.
        auto* again_by = cuts % 8 == 0 ? random.get() : nullptr;
        const auto problem = problem_of(platter.cut(way, *random), story, at, settings, again_by);
        if (problem.empty()) continue;
        if (++wrong <= problems_shown_max) {
          problems += "after " + std::to_string(at) + " acts, unsynced " +
                      std::to_string(static_cast<int>(way)) + ": " + problem + "\n";
        }
      }
    }
    EXPECT_GT(disk.acts(SqliteDisk::Kind::sync, folder.file()), 1U) << "no checkpoint was made";
    std::cout << disk.acts() - from << " acts, " << cuts << " power cuts, " << story.deeds.size()
              << " transactions\n";
    return wrong;
  }

  static constexpr std::size_t problems_shown_max = 5;
  inline static const std::vector all_ways{Unsynced::lost, Unsynced::random, Unsynced::kept};
  SqliteFolder folder;
  SqliteDisk disk{"sagabox-disk"};
  SqliteDisk again{"sagabox-disk-again"};
  std::string problems;
};

TEST_P(SqlitePowerCut, NewFileIsMadeOrMadeAgain) {
  const Script::Settings settings{.rounds = 0};
  {
    Script(disk, folder.file(), settings).open().value();
  }
  EXPECT_EQ(cut_everywhere({}, settings, all_ways), 0U) << problems;
}

TEST_P(SqlitePowerCut, FileOfAUserKeepsItsRowsWhenItGetsAWriteAheadLog) {
  const Script::Settings settings{.rounds = 0};
  testing::run_sql(testing::connect_sqlite(folder.file(), {}, disk.name()).get(),
                   "CREATE TABLE ledger (id TEXT PRIMARY KEY, seq INTEGER NOT NULL);"
                   "INSERT INTO ledger VALUES ('first', 0), ('second', 0)");
  disk.restore(disk.files());
  Script(disk, folder.file(), settings).open().value();
  const Places rows{{"first", Place::gone}, {"second", Place::gone}};
  const Story story{.deeds = {{.begun = 0, .certain = 0, .changes = rows}}};
  EXPECT_EQ(cut_everywhere(story, settings, all_ways), 0U) << problems;
}

TEST_P(SqlitePowerCut, SchemaTakenBackAndMadeAgainIsThereOrMadeAgain) {
  const Script::Settings settings{.rounds = 0};
  const sqlite::Options options{.vfs = disk.name()};
  Script(disk, folder.file(), settings).open().value();
  const auto ready = disk.acts();
  const auto schema = sqlite::open_schema(folder.file(), options).value();
  schema->down({.to = 0}).value();
  schema->up({}).value();
  EXPECT_EQ(cut_everywhere({}, settings, {Unsynced::lost, Unsynced::random}, ready), 0U)
      << problems;
}

TEST_P(SqlitePowerCut, WhatWasCommittedIsThereAndNothingElse) {
  const Script::Settings settings;
  Story story;
  const auto ready = run(settings, story);
  EXPECT_EQ(cut_everywhere(story, settings, all_ways, ready), 0U) << problems;
}

TEST_P(SqlitePowerCut, WhatWasDeliveredAndDeletedIsGone) {
  const Script::Settings settings{.retains = false, .rounds = 2};
  Story story;
  const auto ready = run(settings, story);
  EXPECT_EQ(cut_everywhere(story, settings, all_ways, ready), 0U) << problems;
}

TEST_P(SqlitePowerCut, CommitsThatShareASyncAreThereAndSoIsWhatWasShown) {
  const Script::Settings settings;
  Story story;
  std::size_t ready = 0;
  {
    Script script(disk, folder.file(), settings);
    script.open().value();
    ready = disk.acts();
    disk.let_syncs_take(std::chrono::microseconds(300));
    script.run_together(4, 6);
    disk.let_syncs_take({});
    story = script.story();
  }
  EXPECT_EQ(cut_everywhere(story, settings, all_ways, ready), 0U) << problems;
}

TEST_P(SqlitePowerCut, NormalDurabilityLosesTheEndNeverTheMiddle) {
  const Script::Settings settings{.durability = sqlite::Durability::normal, .rounds = 2};
  Story story;
  const auto ready = run(settings, story);
  EXPECT_EQ(cut_everywhere(story, settings, all_ways, ready), 0U) << problems;
  // Were it full, something would have been lost: so a checker that sees it proves the others.
  problems.clear();
  EXPECT_GT(cut_everywhere(story, {.rounds = 2}, {Unsynced::lost}, ready), 0U);
  EXPECT_NE(problems.find("is not there"), std::string::npos) << problems;
}

INSTANTIATE_TEST_SUITE_P(Seeds, SqlitePowerCut, ::testing::ValuesIn(wanted_seeds()));

}  // namespace
}  // namespace sagabox::crash
