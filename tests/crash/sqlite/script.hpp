#pragma once

#include "crash/sqlite/story.hpp"
#include "support/sqlite_database.hpp"
#include "support/sqlite_disk.hpp"

#include <sagabox/random.hpp>
#include <sagabox/stores/sqlite.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sagabox::crash {

/// A store on a disk in memory, and one who writes, delivers and settles with it, always the same
/// way; what he did is in the story.
class Script {
 public:
  struct Settings {
    bool retains = true;
    sqlite::Durability durability = sqlite::Durability::full;
    int rounds = 3;
  };
  /// One transaction or so. One that failed changed nothing and may be run again, unless the error
  /// is STORAGE.IN_DOUBT.
  struct Step {
    std::string name;
    std::function<Status()> run;
  };

  /// `path`: where a real file may lie beside it (owners).
  Script(testing::SqliteDisk& disk, std::string path, const Settings& settings);

  [[nodiscard]] std::vector<Step> steps();
  /// Opens the store and makes what is not there; the first of the steps.
  Status open();
  void close();
  /// Reads what is pending and notes that it was shown: message ids, ascending by sequence.
  Result<std::vector<std::string>> read();
  /// Takes the outbox over and settles all that is pending.
  Status deliver_rest();
  /// One more message, with its line, by this id.
  Status write_one(const std::string& id);
  /// Threads that commit and one that reads, at the same time.
  void run_together(int threads, int transactions);

  [[nodiscard]] const Story& story() const noexcept { return story_; }
  /// Null: not open.
  [[nodiscard]] Store* store() { return store_.get(); }
  /// A connection of a user.
  [[nodiscard]] testing::SqliteConnection connect() const;

 private:
  enum class Ends : std::uint8_t { commit, rollback, savepoint_undone };

  void add_round(std::vector<Step>& steps, int round);
  Status deed(Places changes, const std::function<Status()>& act);
  Status write(const std::vector<std::string>& ids, Ends ends);
  Status write_borrowed(const std::string& id);
  Status insert_plainly(const std::string& id);
  Status insert(Transaction& tx, sqlite3* connection, const std::string& id);
  Status settle(const std::vector<std::string>& ids, spi::Verdict verdict, Place place);
  Status purge();
  [[nodiscard]] std::shared_ptr<const Message> message(const std::string& id);

  testing::SqliteDisk& disk_;
  const std::string path_;
  const Settings settings_;
  const TableName table_ = TableName::parse("orders").value();
  /// Later than what SQLite takes for now.
  testing::FakeClock clock_{WallTime(std::chrono::hours(24 * 365 * 100))};
  std::unique_ptr<Random> random_;
  UlidSource ids_{clock_, *random_};
  std::unique_ptr<Store> store_;
  testing::SqliteConnection user_;
  WorkerId worker_;
  Epoch epoch_{};
  std::map<std::string, Sequence> sequences_;
  Story story_;
};

}  // namespace sagabox::crash
