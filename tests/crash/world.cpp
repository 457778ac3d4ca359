#include "crash/world.hpp"

#include "crash/producer.hpp"
#include "support/kept_files.hpp"

#include <sagabox/stores/postgres.hpp>

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace sagabox::crash {
namespace {

using testing::PgConnection;
using testing::run_sql;

std::string fresh_schema() {
  static std::atomic<int> count{0};
  return "c" + std::to_string(getpid()) + "_" + std::to_string(++count);
}

std::filesystem::path fresh_folder() {
  std::string folder = (std::filesystem::temp_directory_path() / "sagabox-crash-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("cannot make a folder");
  return folder;
}

std::string tail(const std::filesystem::path& file, std::size_t bytes) {
  std::ifstream in(file);
  std::string text(std::istreambuf_iterator<char>(in), {});
  return text.size() > bytes ? text.substr(text.size() - bytes) : text;
}

}  // namespace

Ground::Ground(const testing::PostgresServer& server)
    : server_(server), schema_(fresh_schema()), folder_(fresh_folder()) {
  const auto store = postgres::open(url("test"), {.schema = schema_}).value();
  store->outbox().prepare(TableName::parse("orders").value()).value();
  sql("CREATE TABLE " + in_schema("ledger") +
      " (id text PRIMARY KEY, seq bigint, key text, ordered boolean, delayed boolean);"
      "CREATE TABLE " +
      in_schema("key_lock") + " (key text PRIMARY KEY); INSERT INTO " + in_schema("key_lock") +
      " SELECT 'key-' || n FROM generate_series(0, " + std::to_string(keys_ordered - 1) +
      ") AS n; CREATE TABLE " + in_schema("take_over") +
      " (shard smallint, epoch bigint, unclean boolean); CREATE FUNCTION " +
      in_schema("note_take_over()") + " RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO " +
      in_schema("take_over") +
      " VALUES (NEW.shard, NEW.epoch, OLD.owner IS NOT NULL); RETURN NULL; END $$; "
      "CREATE TRIGGER note AFTER UPDATE ON " +
      in_schema("shard_owner") +
      " FOR EACH ROW WHEN (NEW.epoch > OLD.epoch AND NEW.scope = 'outbox:orders') "
      "EXECUTE FUNCTION " +
      in_schema("note_take_over()"));
}

Ground::~Ground() {
  try {
    sql("SET client_min_messages = warning; DROP SCHEMA " + schema_ + " CASCADE");
  } catch (const std::exception&) {
    // A test that ended the server has nothing to drop.
  }
  testing::remove_unless_failed(folder_);
}

Process Ground::relay(Words settings) { return start(SAGABOX_CRASH_RELAY, settings); }

Process Ground::producer(Words settings) { return start(SAGABOX_CRASH_PRODUCER, settings); }

Process Ground::start(const std::string& program, const Words& settings) {
  const auto name = "p" + std::to_string(++started_);
  Words all{{"schema", schema_},
            {"notes", file("notes").string()},
            {"promises", file("promises").string()},
            {"name", name}};
  for (const auto& [key, value] : settings) all[key] = value;
  all.try_emplace("url", url(schema_ + "_" + all["name"]));
  std::vector<std::string> words{program};
  for (const auto& [key, value] : all) words.push_back(key + "=" + value);
  return Process(std::move(words), file(name + ".log"));
}

void Ground::write(PGconn* connection, int count, const std::string& key,
                   const std::string& headers) {
  const auto key_sql = key.empty() ? "NULL" : "'" + key + "'";
  run_sql(connection,
          "WITH written AS (INSERT INTO " + in_schema("orders_outbox") +
              " (topic, payload, key, headers) SELECT '" + topic + "', '{}', " + key_sql + ", " +
              (headers.empty() ? "NULL" : "'" + headers + "'") + " FROM generate_series(1, " +
              std::to_string(count) + ") RETURNING id, seq, key) INSERT INTO " +
              in_schema("ledger") +
              " SELECT id, seq, coalesce(key, ''), key IS NOT NULL, false FROM written");
}

void Ground::write(int count, const std::string& key, const std::string& headers) {
  const auto connection = connect();
  write(connection.get(), count, key, headers);
}

std::size_t Ground::delivered() const {
  std::set<std::string> ids;
  for (const auto& one : notes().delivered) {
    if (one.kind == Delivered::Kind::done) ids.insert(one.id);
  }
  return ids.size();
}

std::string Ground::url(const std::string& name) const {
  return server_.url() + " application_name=" + name;
}

PgConnection Ground::connect(const std::string& name) const {
  PgConnection connection(PQconnectdb(url(name).c_str()));
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    throw std::runtime_error(PQerrorMessage(connection.get()));
  }
  PQsetNoticeReceiver(connection.get(), [](void*, const PGresult*) {}, nullptr);
  return connection;
}

std::vector<std::vector<std::string>> Ground::rows(const std::string& text) {
  // A server that crashed has said so, which the first reads, and hung up.
  if (admin_ && (PQconsumeInput(admin_.get()) != 1 || PQconsumeInput(admin_.get()) != 1)) {
    admin_.reset();
  }
  if (!admin_ || PQstatus(admin_.get()) != CONNECTION_OK) {
    admin_ = connect();
    // Also where a test made all others wait for a replica.
    run_sql(admin_.get(), "SET synchronous_commit = local");
  }
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(admin_.get(), text.c_str()),
                                                             &PQclear);
  const auto status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    throw std::runtime_error(text + ": " + PQerrorMessage(admin_.get()));
  }
  std::vector<std::vector<std::string>> all;
  for (int row = 0; row < PQntuples(result.get()); ++row) {
    auto& values = all.emplace_back();
    for (int at = 0; at < PQnfields(result.get()); ++at) {
      values.emplace_back(PQgetvalue(result.get(), row, at));
    }
  }
  return all;
}

std::vector<std::string> Ground::sql(const std::string& text) {
  auto all = rows(text);
  return all.empty() ? std::vector<std::string>{} : std::move(all.front());
}

std::vector<std::string> Ground::column(const std::string& text) {
  std::vector<std::string> values;
  for (auto& row : rows(text)) values.push_back(std::move(row.at(0)));
  return values;
}

std::uint64_t Ground::shards_held() {
  return std::stoull(sql("SELECT count(*) FROM " + in_schema("shard_owner") + " o JOIN " +
                         in_schema("worker") +
                         " w ON w.id = o.owner WHERE o.scope = 'outbox:orders' AND "
                         "w.lease_until > clock_timestamp()")
                         .at(0));
}

std::uint64_t Ground::owners() {
  return std::stoull(sql("SELECT count(DISTINCT o.owner) FROM " + in_schema("shard_owner") +
                         " o JOIN " + in_schema("worker") +
                         " w ON w.id = o.owner WHERE o.scope = 'outbox:orders' AND "
                         "w.lease_until > clock_timestamp()")
                         .at(0));
}

bool Ground::drained() {
  return eventually([&] {
    return sql("SELECT count(*) FROM (SELECT FROM " + in_schema("orders_outbox") +
               " LIMIT 1) AS one")
               .at(0) == "0";
  });
}

History Ground::history() {
  History history;
  for (const auto& row :
       rows("SELECT id, seq, key, ordered, delayed FROM " + in_schema("ledger"))) {
    history.truths.push_back({.id = row[0],
                              .sequence = std::stoull(row[1]),
                              .key = row[2],
                              .ordered = row[3] == "t",
                              .delayed = row[4] == "t"});
  }
  history.promises = read_promises(file("promises"));
  history.delivered = notes().delivered;
  for (const auto& row :
       rows("SELECT shard, epoch FROM " + in_schema("take_over") + " WHERE unclean")) {
    history.take_overs.push_back(
        {static_cast<std::uint16_t>(std::stoul(row[0])), std::stoull(row[1])});
  }
  history.pending = column("SELECT id FROM " + in_schema("orders_outbox"));
  history.buried = column("SELECT id FROM " + in_schema("orders_dead"));
  history.retained = retained_;
  history.archived = column("SELECT id FROM " + in_schema("orders_archive"));
  return history;
}

std::string Ground::problems() {
  constexpr std::size_t shown_max = 15;
  constexpr std::size_t log_bytes_max = 1'500;
  const auto all = problems_of(history());
  if (all.empty()) return {};
  std::ostringstream out;
  out << all.size() << " problems\n";
  for (std::size_t at = 0; at < all.size() && at < shown_max; ++at) out << all[at] << '\n';
  for (int number = 1; number <= started_; ++number) {
    const auto name = "p" + std::to_string(number) + ".log";
    if (const auto text = tail(file(name), log_bytes_max); !text.empty()) {
      out << "--- " << name << '\n' << text;
    }
  }
  return out.str();
}

}  // namespace sagabox::crash
