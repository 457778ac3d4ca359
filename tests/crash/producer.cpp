#include "crash/producer.hpp"

#include "support/postgres_database.hpp"

#include <sagabox/random.hpp>
#include <sagabox/stores/postgres.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace sagabox::crash {
namespace {

using std::chrono::milliseconds;
using testing::PgConnection;
using testing::run_sql;

struct Planned {
  NewMessage message;
  bool ordered = false;
};

/// Messages that share the fate of a savepoint, or of the transaction alone.
struct Group {
  std::vector<Planned> messages;
  bool savepoint = false;
  bool rolled_back = false;
};

struct Plan {
  enum class Ends : std::uint8_t { commit, rollback, prepare_commit, prepare_rollback };
  std::vector<Group> groups;
  Ends ends = Ends::commit;
  milliseconds open_for{0};  ///< before it ends
  bool borrowed = false;     ///< our own connection, else one of the store
  bool repeat_in_doubt = false;
};

/// How a transaction ended, and what it wrote.
struct Done {
  End end = End::rolled_back;
  std::vector<std::string> kept;
  std::vector<std::string> undone;  ///< by a savepoint
};

/// One connection's worth of random transactions.
class Writer {
 public:
  Writer(Store& store, Outbox& outbox, const ProducerSettings& settings, const Journal& promises,
         std::uint32_t number)
      : store_(store),
        outbox_(outbox),
        settings_(settings),
        promises_(promises),
        name_(settings.name + "-" + std::to_string(number)),
        random_(seeded_random(settings.seed * 1'000 + number)) {}

  void run() {
    for (number_ = 0; number_ < settings_.transactions; ++number_) {
      auto plan = draw();
      auto done = perform(plan);
      if (done.end == End::in_doubt && plan.repeat_in_doubt) {
        promise(done);
        name_messages(plan, done);
        plan.ends = Plan::Ends::commit;
        done = perform(plan);
      }
      promise(done);
    }
  }

 private:
  bool chance(std::uint64_t percent) { return random_->below(100) < percent; }

  Plan draw() {
    Plan plan;
    plan.borrowed = chance(60);
    plan.repeat_in_doubt = chance(50);
    if (chance(15)) plan.ends = Plan::Ends::rollback;
    if (settings_.prepares && plan.borrowed && chance(5)) {
      plan.ends = chance(70) ? Plan::Ends::prepare_commit : Plan::Ends::prepare_rollback;
    }
    if (chance(10)) plan.open_for = milliseconds(random_->below(200));
    const auto groups = 1 + random_->below(3);
    for (std::uint64_t at = 0; at < groups; ++at) {
      Group group;
      group.savepoint = chance(40);
      group.rolled_back = group.savepoint && chance(50);
      const auto count = 1 + random_->below(3);
      for (std::uint64_t i = 0; i < count; ++i) {
        group.messages.push_back(draw_message(at * 10 + i));
      }
      plan.groups.push_back(std::move(group));
    }
    return plan;
  }

  Planned draw_message(std::uint64_t place) {
    Planned planned;
    auto& message = planned.message;
    message.topic = topic;
    message.payload = json(R"({"n":)" + std::to_string(number_) + "}");
    if (chance(70)) {
      const auto key = random_->below(keys_ordered + keys_loose);
      planned.ordered = key < keys_ordered;
      message.key = (planned.ordered ? "key-" : "loose-") + std::to_string(key);
    } else {
      message.priority = static_cast<Priority>(random_->below(3));
    }
    if (chance(50)) {
      message.id = name_ + "-" + std::to_string(number_) + "-" + std::to_string(place);
    }
    // Known already, or a second time in this transaction, or another connection's at this moment.
    if (!known_.empty() && chance(5)) message.id = known_[random_->below(known_.size())];
    if (place == 0 && chance(5)) {
      message.id = std::string(shared_prefix) + std::to_string(settings_.seed) + "-" +
                   std::to_string(number_);
    }
    if (chance(8)) {
      message.not_before = system_clock().wall_now() + milliseconds(random_->below(400));
    }
    if (chance(5)) message.headers = {{"fails", std::to_string(1 + random_->below(2))}};
    return planned;
  }

  /// As the transaction in doubt had them: the same ids again are no second messages.
  static void name_messages(Plan& plan, const Done& done) {
    std::size_t at = 0;
    for (auto& group : plan.groups) {
      if (group.rolled_back) group.messages.clear();
      for (auto& planned : group.messages) {
        if (at < done.kept.size()) planned.message.id = done.kept[at++];
      }
    }
  }

  Done perform(const Plan& plan) {
    Done done;
    try {
      if (plan.borrowed) {
        in_borrowed(plan, done);
      } else {
        in_owned(plan, done);
      }
    } catch (const std::exception&) {
      // Before COMMIT was sent: the server rolls back what it has.
      done.end = End::rolled_back;
      connection_.reset();
    }
    return done;
  }

  void in_borrowed(const Plan& plan, Done& done) {
    PGconn* connection = connected();
    run_sql(connection, "BEGIN");
    auto tx = postgres::enlist(connection, settings_.schema).value();
    write(plan, tx, connection, done);
    switch (plan.ends) {
      case Plan::Ends::commit:
        done.end = commit(connection);
        break;
      case Plan::Ends::rollback:
        run_sql(connection, "ROLLBACK");
        done.end = End::rolled_back;
        break;
      case Plan::Ends::prepare_commit:
        return prepare(connection, "COMMIT", done);
      case Plan::Ends::prepare_rollback:
        return prepare(connection, "ROLLBACK", done);
    }
    if (done.end == End::committed) tx.committed();
    if (done.end == End::rolled_back) tx.rolled_back();
  }

  void in_owned(const Plan& plan, Done& done) {
    auto tx = store_.begin().value();
    write(plan, *tx, postgres::connection_of(*tx), done);
    if (plan.ends == Plan::Ends::rollback) {
      (void)tx->rollback();
      done.end = End::rolled_back;
      return;
    }
    const auto committed = tx->commit();
    done.end = committed.ok()                                     ? End::committed
               : committed.error().code == Code::storage_in_doubt ? End::in_doubt
                                                                  : End::rolled_back;
  }

  static End commit(PGconn* connection) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection, "COMMIT"),
                                                               &PQclear);
    if (PQresultStatus(result.get()) == PGRES_COMMAND_OK) {
      return std::string_view(PQcmdStatus(result.get())) == "COMMIT" ? End::committed
                                                                     : End::rolled_back;
    }
    return PQstatus(connection) == CONNECTION_OK ? End::rolled_back : End::in_doubt;
  }

  /// The transaction lives on without its connection, until somebody ends it by its name.
  void prepare(PGconn* connection, const std::string& end, Done& done) {
    const auto name = "'" + settings_.schema + "-" + name_ + "-" + std::to_string(number_) + "'";
    try {
      run_sql(connection, "PREPARE TRANSACTION " + name);
    } catch (const std::runtime_error&) {
      if (PQstatus(connection) == CONNECTION_OK) throw;
      // Prepared or not: what is not there has been rolled back.
    }
    std::this_thread::sleep_for(milliseconds(random_->below(100)));
    const auto wanted = end == "COMMIT" ? End::committed : End::rolled_back;
    for (bool tried = false;;) {
      PGconn* another = reconnected();
      try {
        const auto count =
            run_sql(another, "SELECT count(*) FROM pg_prepared_xacts WHERE gid = " + name).at(0);
        done.end = tried ? wanted : End::rolled_back;
        if (count == "0") return;
        tried = true;
        run_sql(another, end + " PREPARED " + name);
      } catch (const std::runtime_error&) {
        // Cut off: look again.
      }
    }
  }

  void write(const Plan& plan, Transaction& tx, PGconn* connection, Done& done) {
    lock_keys(plan, connection);
    for (const auto& group : plan.groups) {
      if (group.savepoint) run_sql(connection, "SAVEPOINT here");
      write(group, tx, connection, group.rolled_back ? done.undone : done.kept);
      if (!group.savepoint) continue;
      run_sql(connection, group.rolled_back ? "ROLLBACK TO here" : "RELEASE here");
    }
    std::this_thread::sleep_for(plan.open_for);
  }

  /// Whoever writes an ordered key holds its row, all of them in the same order.
  void lock_keys(const Plan& plan, PGconn* connection) {
    std::set<std::string> keys;
    for (const auto& group : plan.groups) {
      for (const auto& [message, ordered] : group.messages) {
        if (ordered) keys.insert(message.key);
      }
    }
    for (const auto& key : keys) {
      run_sql(connection,
              "SELECT FROM " + table("key_lock") + " WHERE key = '" + key + "' FOR UPDATE");
    }
  }

  void write(const Group& group, Transaction& tx, PGconn* connection,
             std::vector<std::string>& ids) {
    if (group.messages.empty()) return;
    std::vector<NewMessage> batch;
    for (const auto& planned : group.messages) batch.push_back(planned.message);
    const auto written = outbox_.write_all(tx, std::move(batch)).value();
    for (std::size_t at = 0; at < written.size(); ++at) {
      const auto& [message, ordered] = group.messages[at];
      ids.push_back(written[at].id.str());
      if (written[at].duplicate) continue;
      // A producer is not told sequences.
      run_sql(connection,
              "INSERT INTO " + table("ledger") + " SELECT id, seq, '" + message.key + "', " +
                  (ordered ? "true" : "false") + ", " + (message.not_before ? "true" : "false") +
                  " FROM " + table("orders_outbox") + " WHERE id = '" + written[at].id.str() + "'");
    }
  }

  void promise(const Done& done) {
    if (!done.kept.empty()) promises_.append(promise_line(done.end, done.kept));
    if (!done.undone.empty()) promises_.append(promise_line(End::rolled_back, done.undone));
    if (done.end != End::committed) return;
    known_.insert(known_.end(), done.kept.begin(), done.kept.end());
  }

  PGconn* connected() {
    if (connection_ && PQstatus(connection_.get()) == CONNECTION_OK) return connection_.get();
    return reconnected();
  }

  PGconn* reconnected() {
    constexpr int tries_max = 2'000;
    for (int attempt = 0;; ++attempt) {
      connection_.reset(PQconnectdb(settings_.url.c_str()));
      if (PQstatus(connection_.get()) == CONNECTION_OK) return connection_.get();
      if (attempt == tries_max) throw std::runtime_error(PQerrorMessage(connection_.get()));
      std::this_thread::sleep_for(milliseconds(20));
    }
  }

  [[nodiscard]] std::string table(const char* name) const { return settings_.schema + "." + name; }

  Store& store_;
  Outbox& outbox_;
  const ProducerSettings& settings_;
  const Journal& promises_;
  std::string name_;
  std::unique_ptr<Random> random_;
  std::uint32_t number_ = 0;
  PgConnection connection_;
  std::vector<std::string> known_;  // committed by this connection
};

}  // namespace

void produce(Store& store, Outbox& outbox, const ProducerSettings& settings,
             const Journal& promises) {
  std::vector<std::thread> threads;
  for (std::uint32_t number = 0; number < settings.connections; ++number) {
    threads.emplace_back([&, number] { Writer(store, outbox, settings, promises, number).run(); });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace sagabox::crash
