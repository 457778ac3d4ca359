#include "orders.hpp"

#include "../sql.hpp"

#include <sagabox/stores/sqlite.hpp>

#include <utility>

namespace {

constexpr std::size_t key_length_max = 36;  // it is the message's id, too; a UUID fits

Answer problem(unsigned status, const std::string& what) {
  return {status, R"({"error": ")" + what + "\"}"};
}

}  // namespace

Orders::Orders(sagabox::Store& store, sagabox::Outbox& outbox) : store_(store), outbox_(outbox) {
  (void)store_
      .transaction([](sagabox::OwnedTransaction& tx) {
        sqlite3* connection = sagabox::sqlite::connection_of(tx);
        sql::run(connection,
                 "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, what TEXT)");
        sql::run(connection,
                 "CREATE TABLE IF NOT EXISTS answers "
                 "(key TEXT PRIMARY KEY, request TEXT, answer TEXT) WITHOUT ROWID");
        return sagabox::Status();
      })
      .value();
}

Answer Orders::place(const std::string& idempotency_key, const std::string& order) {
  if (idempotency_key.empty() || idempotency_key.size() > key_length_max) {
    return problem(400, "give an Idempotency-Key of 1 to 36 characters");
  }
  auto answer = store_.transaction(
      [&](sagabox::OwnedTransaction& tx) { return place_in(tx, idempotency_key, order); });
  if (answer.ok()) return *answer;
  const bool wrong = answer.error().code == sagabox::Code::schema_validation_failed;
  return wrong ? problem(400, "the order must be JSON, and the key letters, digits or -")
               : problem(503, "try again with the same key");
}

sagabox::Result<Answer> Orders::place_in(sagabox::OwnedTransaction& tx, const std::string& key,
                                         const std::string& order) {
  sqlite3* connection = sagabox::sqlite::connection_of(tx);
  // The transaction has the write lock since it began: of two requests with one key that come at
  // once, the second finds the answer of the first.
  if (auto known = sql::run(connection, "SELECT answer FROM answers WHERE key = ?", key)) {
    const auto request = sql::run(connection, "SELECT request FROM answers WHERE key = ?", key);
    if (request != order) return problem(422, "this key was used for another order");
    return Answer{201, *known};
  }
  sql::run(connection, "INSERT INTO orders (what) VALUES (?)", order);
  const auto id = std::to_string(sqlite3_last_insert_rowid(connection));
  const Answer answer{201, R"({"id": )" + id + "}"};
  sql::run(connection, "INSERT INTO answers (key, request, answer) VALUES (?, ?, ?)", key, order,
           answer.body);
  auto written = outbox_.write(
      tx, {.topic = "orders.order.placed.v1",
           .key = id,
           .payload = sagabox::json(R"({"id": )" + id + R"(, "order": )" + order + "}"),
           .id = key});
  if (!written.ok()) return written.error();  // rolls everything back
  return answer;
}
