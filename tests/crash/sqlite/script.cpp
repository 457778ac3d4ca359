#include "crash/sqlite/script.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

namespace sagabox::crash {
namespace {

using std::chrono::hours;
using testing::run_sql;

/// As a user's program would turn what SQLite says into an error of its own.
Status sql(sqlite3* connection, const std::string& text) {
  try {
    run_sql(connection, text);
    return {};
  } catch (const std::runtime_error& error) {
    return Error{Code::storage_unavailable, error.what()};
  }
}

/// Small, so that the log is often copied into the file and begun anew.
constexpr std::uint64_t wal_bytes_max = 160UL * 1024;

/// Each has workers of its own.
std::atomic<std::uint64_t> scripts = 0;

std::string ledger_sql(const std::string& id, Sequence sequence) {
  return "INSERT INTO ledger VALUES ('" + id + "', " + std::to_string(sequence.value) + ")";
}

std::string plain_sql(const std::string& id) {
  return "INSERT INTO orders_outbox (id, topic, payload) VALUES ('" + id +
         "', 'orders.order.placed.v1', '{}'); INSERT INTO ledger SELECT id, seq FROM "
         "orders_pending WHERE id = '" +
         id + "'";
}

}  // namespace

Script::Script(testing::SqliteDisk& disk, std::string path, const Settings& settings)
    : disk_(disk), path_(std::move(path)), settings_(settings), random_(seeded_random(++scripts)) {}

testing::SqliteConnection Script::connect() const {
  return testing::connect_sqlite(path_, std::chrono::seconds(10), disk_.name());
}

std::vector<Script::Step> Script::steps() {
  std::vector<Step> steps;
  steps.push_back({"open", [this] { return open(); }});
  for (int round = 0; round < settings_.rounds; ++round) add_round(steps, round);
  steps.push_back({"purge", [this] { return purge(); }});
  steps.push_back({"close and open", [this] {
                     close();
                     return open();
                   }});
  steps.push_back({"write after it", [this] { return write({"last"}, Ends::commit); }});
  return steps;
}

void Script::add_round(std::vector<Step>& steps, int round) {
  const auto name = [round](const char* one) { return one + std::to_string(round); };
  const auto add = [&](const char* what, std::function<Status()> run) {
    steps.push_back({name(what), std::move(run)});
  };
  add("write", [=, this] { return write({name("a"), name("b"), name("large")}, Ends::commit); });
  add("roll back", [=, this] { return write({name("no"), name("never")}, Ends::rollback); });
  add("savepoint",
      [=, this] { return write({name("c"), name("undone")}, Ends::savepoint_undone); });
  add("borrowed", [=, this] { return write_borrowed(name("borrowed")); });
  add("delayed", [=, this] { return write({name("delayed")}, Ends::commit); });
  add("plain", [=, this] { return insert_plainly(name("plain")); });
  add("read", [this]() -> Status {
    auto rows = read();
    return rows.ok() ? Status() : rows.error();
  });
  const auto done = settings_.retains ? Place::archived : Place::gone;
  using spi::Verdict;
  add("done", [=, this] { return settle({name("a"), name("plain")}, Verdict::done, done); });
  add("retry", [=, this] { return settle({name("b")}, Verdict::retry, Place::waiting); });
  add("dead", [=, this] { return settle({name("c")}, Verdict::dead, Place::dead); });
  add("park", [=, this] { return settle({name("borrowed")}, Verdict::park, Place::quarantined); });
}

Status Script::open() {
  if (!store_) {
    auto store = sqlite::open(path_, {.durability = settings_.durability,
                                      .lock_max = std::chrono::seconds(10),
                                      .wal_bytes_max = wal_bytes_max,
                                      .vfs = disk_.name(),
                                      .clock = &clock_});
    if (!store.ok()) return store.error();
    store_ = std::move(store).value();
  }
  if (auto made = store_->outbox().prepare(table_); !made.ok()) return made;
  if (!user_) {
    user_ = connect();
    // What it commits is on the disk when somebody syncs the log.
    if (auto set = sql(user_.get(), "PRAGMA synchronous = NORMAL"); !set.ok()) return set;
  }
  auto made = sql(user_.get(),
                  "CREATE TABLE IF NOT EXISTS ledger (id TEXT PRIMARY KEY, seq INTEGER NOT NULL)");
  if (!made.ok()) return made;
  const std::vector<spi::Scope> scopes{"outbox:orders"};
  worker_ = ids_.next<WorkerId>();
  if (auto joined = store_->ownership().join(worker_, hours(1), scopes, 1); !joined.ok()) {
    return joined.error();
  }
  auto taken = store_->ownership().take(scopes[0], worker_, 1);
  if (!taken.ok()) return taken.error();
  if (taken->size() != 1) return Error{Code::unknown_internal, "the outbox is in other hands"};
  epoch_ = taken->front().epoch;
  return {};
}

void Script::close() {
  user_.reset();
  store_.reset();
}

Status Script::deed(Places changes, const std::function<Status()>& act) {
  Deed deed{.begun = disk_.acts(), .changes = std::move(changes)};
  auto done = act();
  if (!done.ok() && done.error().code != Code::storage_in_doubt) return done;
  if (done.ok()) deed.certain = disk_.acts();
  story_.deeds.push_back(std::move(deed));
  return done;
}

std::shared_ptr<const Message> Script::message(const std::string& id) {
  constexpr std::size_t several_pages = 9'000;
  NewMessage message;
  message.topic = "orders.order.placed.v1";
  message.payload = bytes(std::string(id.starts_with("large") ? several_pages : 40, 'x'));
  message.key = "key-" + std::to_string(id.size() % 3);
  message.id = id;
  if (id.starts_with("delayed")) message.not_before = clock_.wall_now() + hours(1);
  return std::make_shared<const Message>(
      Message::build(std::move(message), MessageRules{}, ids_, clock_).value());
}

Status Script::insert(Transaction& tx, sqlite3* connection, const std::string& id) {
  const auto one = message(id);
  auto written = tx.outbox().insert(table_, std::span(&one, 1));
  if (!written.ok()) return written.error();
  if (written->front().duplicate) return Error{Code::unknown_internal, id + " was there before"};
  sequences_[id] = written->front().sequence;
  return sql(connection, ledger_sql(id, written->front().sequence));
}

Status Script::write(const std::vector<std::string>& ids, Ends ends) {
  Places changes;
  for (const auto& id : ids) {
    changes[id] = id.starts_with("delayed") ? Place::waiting : Place::pending;
  }
  if (ends == Ends::savepoint_undone) changes.erase(ids.back());
  if (ends == Ends::rollback) changes.clear();
  return deed(std::move(changes), [&]() -> Status {
    auto begun = store_->begin();
    if (!begun.ok()) return begun.error();
    auto& tx = **begun;
    sqlite3* connection = sqlite::connection_of(tx);
    for (const auto& id : ids) {
      const bool undone = ends == Ends::savepoint_undone && id == ids.back();
      if (undone) {
        if (auto saved = sql(connection, "SAVEPOINT here"); !saved.ok()) return saved;
      }
      if (auto inserted = insert(tx, connection, id); !inserted.ok()) return inserted;
      if (!undone) continue;
      auto back = sql(connection, "ROLLBACK TO here; RELEASE here");
      if (!back.ok()) return back;
    }
    return ends == Ends::rollback ? tx.rollback() : tx.commit();
  });
}

Status Script::write_one(const std::string& id) { return write({id}, Ends::commit); }

Status Script::write_borrowed(const std::string& id) {
  return deed({{id, Place::pending}}, [&]() -> Status {
    sqlite3* connection = user_.get();
    auto done = sql(connection, "PRAGMA synchronous = FULL; BEGIN IMMEDIATE");
    if (done.ok()) {
      auto tx = sqlite::enlist(connection);
      done = tx.ok() ? insert(*tx, connection, id) : tx.error();
    }
    if (done.ok()) done = sql(connection, "COMMIT");
    if (sqlite3_get_autocommit(connection) == 0) (void)sql(connection, "ROLLBACK");
    (void)sql(connection, "PRAGMA synchronous = NORMAL");
    return done;
  });
}

Status Script::insert_plainly(const std::string& id) {
  auto done = deed({{id, Place::pending}}, [&]() -> Status {
    auto inserted = sql(user_.get(), "BEGIN IMMEDIATE; " + plain_sql(id) + "; COMMIT");
    if (sqlite3_get_autocommit(user_.get()) == 0) (void)sql(user_.get(), "ROLLBACK");
    return inserted;
  });
  if (!done.ok()) return done;
  story_.deeds.back().certain = Deed::never;
  sequences_[id] = Sequence{
      std::stoull(run_sql(user_.get(), "SELECT seq FROM ledger WHERE id = '" + id + "'").at(0))};
  return {};
}

Result<std::vector<std::string>> Script::read() {
  const spi::Range all{Shard{0}, spi::Lane{1}, {}, 10'000};
  auto reply = store_->outbox().read(table_, std::span(&all, 1), 10'000'000);
  if (!reply.ok()) return reply.error();
  std::vector<std::string> ids;
  for (const auto& row : reply->rows) {
    ids.push_back(row.id.str());
    sequences_[ids.back()] = row.sequence;
    story_.shown(ids.back(), disk_.acts());
  }
  return ids;
}

Status Script::settle(const std::vector<std::string>& ids, spi::Verdict verdict, Place place) {
  Places changes;
  std::vector<spi::Settlement> items;
  for (const auto& id : ids) {
    changes[id] = place;
    items.push_back({.sequence = sequences_.at(id),
                     .id = MessageId::parse(id).value(),
                     .verdict = verdict,
                     .attempts = 1,
                     .delay = hours(1)});
  }
  return deed(std::move(changes), [&]() -> Status {
    const spi::Fence fence{Shard{0}, epoch_};
    auto reply = store_->outbox().settle({.table = table_,
                                          .fencing = {"outbox:orders", worker_, {&fence, 1}},
                                          .items = items,
                                          .retain_done = settings_.retains});
    if (!reply.ok()) return reply.error();
    if (reply->parts.at(0).rows == items.size()) return {};
    return Error{Code::unknown_internal, "fewer rows were settled than there were"};
  });
}

Status Script::purge() {
  Places changes;
  for (const auto& deed : story_.deeds) {
    for (const auto& [id, place] : deed.changes) {
      if (place == Place::archived) changes[id] = Place::gone;
    }
  }
  clock_.advance(hours(1));
  return deed(std::move(changes), [&]() -> Status {
    auto purged = store_->outbox_admin().purge({.table = table_});
    return purged.ok() ? Status() : purged.error();
  });
}

Status Script::deliver_rest() {
  auto ids = read();
  if (!ids.ok()) return ids.error();
  if (!std::ranges::is_sorted(*ids, {}, [&](const auto& id) { return sequences_.at(id); })) {
    return Error{Code::unknown_internal, "read in another order than that of the sequence"};
  }
  return settle(*ids, spi::Verdict::done, settings_.retains ? Place::archived : Place::gone);
}

namespace {

struct Done {
  std::size_t inside = 0;
  Deed deed;
};

/// What several threads did.
struct Together {
  std::mutex mutex;
  std::vector<Done> all;

  void add(const std::string& id, std::size_t inside, std::size_t certain) {
    const std::lock_guard lock(mutex);
    all.push_back(
        {inside, {.begun = inside, .certain = certain, .changes = {{id, Place::pending}}}});
  }
};

}  // namespace

void Script::run_together(int threads, int transactions) {
  Together together;
  std::map<std::string, std::size_t> shown;
  std::atomic<bool> ended = false;
  const auto write_as = [&](int number) {
    for (int at = 0; at < transactions; ++at) {
      const auto id = "t" + std::to_string(number) + "-" + std::to_string(at);
      const auto one = message(id);
      auto tx = store_->begin().value();
      const auto written = tx->outbox().insert(table_, std::span(&one, 1)).value();
      run_sql(sqlite::connection_of(*tx), ledger_sql(id, written.front().sequence));
      const auto inside = disk_.acts();
      tx->commit().value();
      together.add(id, inside, disk_.acts());
    }
  };
  std::vector<std::thread> running;
  for (int number = 0; number < threads; ++number) running.emplace_back(write_as, number);
  // A user whose commits are not synced.
  running.emplace_back([&] {
    for (int at = 0; at < transactions; ++at) {
      const auto id = "user-" + std::to_string(at);
      run_sql(user_.get(), "BEGIN IMMEDIATE; " + plain_sql(id));
      const auto inside = disk_.acts();
      run_sql(user_.get(), "COMMIT");
      together.add(id, inside, Deed::never);
    }
  });
  std::thread reader([&] {
    const spi::Range range{Shard{0}, spi::Lane{1}, {}, 10'000};
    while (!ended) {
      const auto reply = store_->outbox().read(table_, std::span(&range, 1), 10'000'000).value();
      const auto now = disk_.acts();
      for (const auto& row : reply.rows) shown.try_emplace(row.id.str(), now);
    }
  });
  for (auto& thread : running) thread.join();
  ended = true;
  reader.join();
  // Nobody else was inside at the same time.
  std::ranges::sort(together.all, {}, &Done::inside);
  for (auto& one : together.all) story_.deeds.push_back(std::move(one.deed));
  for (const auto& [id, at] : shown) story_.shown(id, at);
}

}  // namespace sagabox::crash
