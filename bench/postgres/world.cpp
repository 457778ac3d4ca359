#include "bench/postgres/world.hpp"

#include "support/postgres_server.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <stdexcept>

namespace sagabox::bench::postgres {
namespace {

/// Half of the messages have a key, whichever: every second one would put all without a key into
/// the shards of one parity.
constexpr auto fill_sql = R"sql(
INSERT INTO sagabox.default_outbox (id, topic, key, payload, digest)
SELECT '01JBENCH' || lpad(n::text, 18, '0'), '{}', CASE WHEN hashint8(n) % 2 = 0 THEN 'key-' || n / 2 % {} END,
       payload, sha256(payload)
FROM generate_series({}, {}) AS n
CROSS JOIN LATERAL (SELECT rpad('{{"number": ' || n || ', "text": "', {}, 'x') || '"}}') AS j(text)
CROSS JOIN LATERAL (SELECT j.text::bytea) AS p(payload)
)sql";

}  // namespace

World::World() {
  if (!server_.problem.empty()) throw std::runtime_error(server_.problem);
  url_ = server_.url();
  admin_ = std::make_unique<by_hand::Link>(url_);
  if (sql("SHOW fsync") != "on") throw std::runtime_error("the server does not sync its files");
  const auto store = open();
  store->outbox().prepare(TableName::parse(OutboxOptions{}.table).value()).value();
}

std::unique_ptr<Store> World::open() const { return sagabox::postgres::open(url_).value(); }

void World::clear() {
  sql("TRUNCATE sagabox.default_outbox, sagabox.default_archive, sagabox.default_dead");
  rest();
}

void World::fill(std::int64_t rows) {
  sql("TRUNCATE sagabox.default_outbox, sagabox.default_archive, sagabox.default_dead");
  add(rows);
  rest();
}

void World::add(std::int64_t rows) {
  sql(fmt::format(fill_sql, topic, keys, written_ + 1, written_ + rows, payload_bytes - 2));
  written_ += rows;
}

void World::rest() {
  sql("VACUUM (ANALYZE) sagabox.default_outbox");
  sql("CHECKPOINT");
}

void World::require(std::int64_t pending, std::int64_t archived, const std::string& outbox) {
  const auto count = [&](const std::string& table) {
    return std::stoll(sql("SELECT count(*) FROM sagabox." + outbox + "_" + table));
  };
  const auto seen_pending = count("outbox");
  const auto seen_archived = count("archive");
  const auto seen_dead = count("dead");
  if (seen_pending == pending && seen_archived == archived && seen_dead == 0) return;
  throw std::runtime_error(
      fmt::format("the tables have {} pending, {} archived and {} dead messages, and should have "
                  "{}, {} and 0",
                  seen_pending, seen_archived, seen_dead, pending, archived));
}

CpuTime World::cpu() const { return cpu_time(server_.folder); }

bool World::has_function(const std::string& name) {
  return sql("SELECT count(*) FROM pg_proc JOIN pg_namespace AS n ON n.oid = pronamespace WHERE "
             "nspname = 'sagabox' AND proname = '" +
             name + "'") != "0";
}

World& world() {
  static World only;
  return only;
}

}  // namespace sagabox::bench::postgres
