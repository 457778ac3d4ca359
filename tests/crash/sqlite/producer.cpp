#include "crash/sqlite/producer.hpp"

#include "support/sqlite_database.hpp"

#include <sagabox/random.hpp>
#include <sagabox/stores/sqlite.hpp>

#include <chrono>
#include <csignal>
#include <memory>
#include <utility>
#include <vector>

namespace sagabox::crash {
namespace {

using std::chrono::milliseconds;
using testing::run_sql;

constexpr const char* order_topic = "orders.order.placed.v1";
constexpr std::uint64_t keys = 6;

class Producer {
 public:
  Producer(Store& store, Outbox& outbox, const SqliteProducerSettings& settings,
           const Journal& promises)
      : store_(store),
        outbox_(outbox),
        settings_(settings),
        promises_(promises),
        random_(seeded_random(settings.seed)),
        connection_(testing::connect_sqlite(settings.file, std::chrono::minutes(1), settings.vfs)) {
  }

  void transaction() {
    ++number_;
    const auto kind = random_->below(10);
    if (kind < 6) {
      owned();
    } else if (kind < 9) {
      borrowed();
    } else {
      plain();
    }
  }

 private:
  bool chance(std::uint64_t percent) { return random_->below(100) < percent; }

  NewMessage draw() {
    NewMessage message;
    message.topic = order_topic;
    message.payload = bytes(std::string(chance(5) ? 9'000 : random_->below(200), 'x'));
    message.id = settings_.name + "-" + std::to_string(number_) + "-" + std::to_string(++place_);
    if (chance(70)) {
      message.key = "key-" + std::to_string(random_->below(keys));
    } else {
      message.priority = static_cast<Priority>(random_->below(3));
    }
    if (chance(5)) {
      message.not_before = system_clock().wall_now() + milliseconds(random_->below(50));
    }
    if (chance(5)) message.headers = {{"fails", "1"}};
    return message;
  }

  std::vector<std::string> write(Transaction& tx, sqlite3* connection) {
    std::vector<NewMessage> batch(1 + random_->below(3));
    for (auto& message : batch) message = draw();
    const auto written = outbox_.write_all(tx, batch).value();
    std::vector<std::string> ids;
    for (std::size_t at = 0; at < batch.size(); ++at) {
      ids.push_back(written[at].id.str());
      run_sql(connection, "INSERT INTO ledger VALUES ('" + ids.back() + "', " +
                              std::to_string(written[at].sequence.value) + ", '" + batch[at].key +
                              "', " + (batch[at].not_before ? "1" : "0") + ")");
    }
    return ids;
  }

  /// Ids that stay if it commits; what a savepoint undoes is promised at once.
  std::vector<std::string> write_all(Transaction& tx, sqlite3* connection) {
    auto kept = write(tx, connection);
    if (!chance(30)) return kept;
    run_sql(connection, "SAVEPOINT here");
    const auto more = write(tx, connection);
    if (chance(50)) {
      promises_.append(promise_line(End::rolled_back, more));
      run_sql(connection, "ROLLBACK TO here");
    } else {
      kept.insert(kept.end(), more.begin(), more.end());
    }
    run_sql(connection, "RELEASE here");
    return kept;
  }

  void die_if_broken(const std::vector<std::string>& ids) {
    if (!settings_.promises_early) return;
    promises_.append(promise_line(End::committed, ids));
    std::raise(SIGKILL);
  }

  void owned() {
    auto tx = store_.begin().value();
    const auto ids = write_all(*tx, sqlite::connection_of(*tx));
    if (chance(15)) {
      promises_.append(promise_line(End::rolled_back, ids));
      tx->rollback().value();
      return;
    }
    die_if_broken(ids);
    tx->commit().value();
    promises_.append(promise_line(End::committed, ids));
  }

  void borrowed() {
    run_sql(connection_.get(), "BEGIN IMMEDIATE");
    auto tx = sqlite::enlist(connection_.get()).value();
    const auto ids = write_all(tx, connection_.get());
    if (chance(15)) {
      promises_.append(promise_line(End::rolled_back, ids));
      run_sql(connection_.get(), "ROLLBACK");
      return;
    }
    run_sql(connection_.get(), "COMMIT");
    if (chance(50)) tx.committed();
    promises_.append(promise_line(End::committed, ids));
  }

  void plain() {
    const auto message = draw();
    run_sql(connection_.get(),
            "BEGIN IMMEDIATE; INSERT INTO orders_outbox (id, topic, payload, key) VALUES ('" +
                message.id + "', '" + order_topic + "', '{}', '" + message.key +
                "'); INSERT INTO ledger SELECT id, seq, coalesce(key, ''), 0 FROM orders_pending "
                "WHERE id = '" +
                message.id + "'; COMMIT");
    promises_.append(promise_line(End::committed, {message.id}));
  }

  Store& store_;
  Outbox& outbox_;
  const SqliteProducerSettings& settings_;
  const Journal& promises_;
  std::unique_ptr<Random> random_;
  testing::SqliteConnection connection_;
  std::uint64_t number_ = 0;
  std::uint64_t place_ = 0;
};

}  // namespace

void produce_until_killed(Store& store, Outbox& outbox, const SqliteProducerSettings& settings,
                          const Journal& promises) {
  Producer producer(store, outbox, settings, promises);
  for (;;) producer.transaction();
}

}  // namespace sagabox::crash
