#pragma once

#include "crash/history.hpp"
#include "crash/process.hpp"
#include "support/sqlite_database.hpp"

#include <map>
#include <string>

namespace sagabox::crash {

/// Where the processes of a test meet: a file with an outbox `orders` and the producers' ledger,
/// and files for what they note.
class SqliteGround {
 public:
  explicit SqliteGround(bool retains);

  /// One that delivers and may write, started.
  [[nodiscard]] Process start(std::map<std::string, std::string> settings);
  [[nodiscard]] std::string file(const std::string& name = "test.db") const {
    return folder_.file(name);
  }
  /// While nobody has it open: what is wrong with it, looked at in a copy. Empty: nothing.
  [[nodiscard]] std::string damage() const;
  /// SQLite makes this file anew from the log.
  void lose_shared_memory() const;
  /// Waits until nothing is pending.
  [[nodiscard]] bool drained() const;
  [[nodiscard]] History history() const;
  /// What the processes had to complain about.
  [[nodiscard]] std::string last_words() const;
  /// What is wrong with it, with the last words; empty: nothing.
  [[nodiscard]] std::string problems() const;

 private:
  testing::SqliteFolder folder_;
  const bool retains_;
  int started_ = 0;
};

}  // namespace sagabox::crash
