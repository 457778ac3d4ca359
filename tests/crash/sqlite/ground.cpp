#include "crash/sqlite/ground.hpp"

#include "crash/eventually.hpp"
#include "crash/sqlite/story.hpp"

#include <sagabox/stores/sqlite.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace sagabox::crash {
namespace {

using testing::connect_sqlite;
using testing::rows_of;
using testing::run_sql;

std::vector<std::string> column(sqlite3* connection, const std::string& sql) {
  std::vector<std::string> values;
  for (auto& row : rows_of(connection, sql)) values.push_back(std::move(row.at(0)));
  return values;
}

}  // namespace

SqliteGround::SqliteGround(bool retains) : retains_(retains) {
  const auto store = sqlite::open(file()).value();
  store->outbox().prepare(TableName::parse("orders").value()).value();
  run_sql(connect_sqlite(file()).get(),
          "CREATE TABLE ledger (id TEXT PRIMARY KEY, seq INTEGER, key TEXT, delayed INTEGER);"
          "CREATE TABLE take_over (shard INTEGER, epoch INTEGER, unclean INTEGER);"
          "CREATE TRIGGER note AFTER UPDATE ON sagabox_owner "
          "WHEN NEW.epoch > OLD.epoch AND NEW.scope = 'outbox:orders' BEGIN "
          "INSERT INTO take_over VALUES (NEW.shard, NEW.epoch, OLD.owner IS NOT NULL); END");
}

Process SqliteGround::start(std::map<std::string, std::string> settings) {
  const auto name = "p" + std::to_string(++started_);
  settings.insert({{"file", file()},
                   {"notes", file("notes")},
                   {"promises", file("promises")},
                   {"retains", retains_ ? "1" : "0"},
                   {"name", name}});
  std::vector<std::string> words{SAGABOX_CRASH_SQLITE};
  for (const auto& [key, value] : settings) {
    words.push_back(key);
    words.back().append("=").append(value);
  }
  return Process(std::move(words), file(name + ".log"));
}

std::string SqliteGround::damage() const {
  namespace fs = std::filesystem;
  const auto copy = file("copy.db");
  for (const auto* end : {"", "-wal"}) {
    fs::remove(copy + end);
    if (fs::exists(file() + end)) fs::copy_file(file() + end, copy + end);
  }
  const auto connection = connect_sqlite(copy);
  // Before anything is changed by a store that opens it.
  const auto damaged = look_into(connection.get(), nullptr);
  if (!damaged.problems.empty()) return damaged.problems.front();
  const auto found = look_into(connection.get(), sqlite::open(copy).value().get());
  return found.problems.empty() ? std::string() : found.problems.front();
}

void SqliteGround::lose_shared_memory() const { std::filesystem::remove(file() + "-shm"); }

bool SqliteGround::drained() const {
  const auto connection = connect_sqlite(file(), std::chrono::minutes(1));
  return eventually([&] {
    return run_sql(connection.get(), "SELECT count(*) FROM orders_pending").at(0) == "0";
  });
}

History SqliteGround::history() const {
  const auto connection = connect_sqlite(file(), std::chrono::minutes(1));
  History history{.retained = retains_};
  for (const auto& row : rows_of(connection.get(), "SELECT id, seq, key, delayed FROM ledger")) {
    history.truths.push_back({.id = row[0],
                              .sequence = std::stoull(row[1]),
                              .key = row[2],
                              // SQLite has one writer: the order of sequences is that of commits.
                              .ordered = !row[2].empty(),
                              .delayed = row[3] == "1"});
  }
  history.promises = read_promises(file("promises"));
  history.delivered = read_relay_notes(file("notes")).delivered;
  for (const auto& row :
       rows_of(connection.get(), "SELECT shard, epoch FROM take_over WHERE unclean")) {
    history.take_overs.push_back(
        {static_cast<std::uint16_t>(std::stoul(row[0])), std::stoull(row[1])});
  }
  history.pending = column(connection.get(), "SELECT id FROM orders_pending");
  history.buried = column(connection.get(), "SELECT id FROM orders_dead");
  history.archived = column(connection.get(), "SELECT id FROM orders_archive");
  return history;
}

std::string SqliteGround::last_words() const {
  std::string words;
  for (int number = 1; number <= started_; ++number) {
    const auto name = "p" + std::to_string(number) + ".log";
    std::ifstream in(file(name));
    const std::string text(std::istreambuf_iterator<char>(in), {});
    if (!text.empty()) words.append("--- ").append(name).append("\n").append(text);
  }
  return words;
}

std::string SqliteGround::problems() const {
  constexpr std::size_t shown_max = 15;
  const auto all = problems_of(history());
  if (all.empty()) return {};
  std::string text = std::to_string(all.size()) + " problems\n";
  for (std::size_t at = 0; at < all.size() && at < shown_max; ++at) text += all[at] + "\n";
  return text + last_words();
}

}  // namespace sagabox::crash
