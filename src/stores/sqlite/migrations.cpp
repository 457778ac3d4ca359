#include "stores/sqlite/migrations.hpp"

#include "stores/sqlite/fragments.hpp"
#include "stores/sqlite/session.hpp"

#include <utility>

namespace sagabox::sqlite {
namespace {

/// SQLite ignores the case of table names.
std::string lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

Error wrong_name(const TableName& table, std::string_view what) {
  return {Code::config_invalid, "outbox \"" + table.str() + "\": " + std::string(what)};
}

/// Prepares its statements in each run: a cached one would lock a table that a step removes.
class FreshSession final : public sql::Session {
 public:
  using sql::Session::run;
  FreshSession(Connection& connection, const Clock& clock)
      : link_(connection.handle()), session_(link_, clock) {}
  Result<std::vector<sql::Rows>> run(std::span<const sql::Call> calls) override {
    auto answers = session_.run(calls);
    link_.forget_statements();
    return answers;
  }
  Result<WallTime> now() override { return session_.now(); }
  Status script(const std::string& sql) { return link_.script(sql); }

 private:
  Link link_;
  LinkSession session_;
};

class ChangeSession final : public sql::SchemaSession {
 public:
  using sql::Session::run;
  ChangeSession(WriteTransaction transaction, const Clock& clock)
      : transaction_(std::move(transaction)), session_(transaction_.connection(), clock) {}
  Result<std::vector<sql::Rows>> run(std::span<const sql::Call> calls) override {
    return session_.run(calls);
  }
  Result<WallTime> now() override { return session_.now(); }
  Status script(const std::string& sql) override { return session_.script(sql); }
  Status commit() override { return transaction_.commit(); }
  Status rollback() override { return transaction_.rollback(); }

 private:
  WriteTransaction transaction_;
  FreshSession session_;
};

}  // namespace

std::string reference_sql(std::string_view sql) {
  return Filler(TableName::parse("orders").value()).text(sql);
}

std::string Migrations::fill(std::string_view sql, const std::string& outbox) const {
  if (outbox.empty()) return std::string(sql);
  return Filler(TableName::parse(outbox).value()).text(sql);
}

Status Migrations::check_name(const TableName& wanted, std::span<const TableName> there) const {
  const auto name = lower_case(wanted.str());
  if (name == "sagabox") {
    return wrong_name(wanted, "its tables would have the names of sagabox's own; choose another");
  }
  if ((name + "_").starts_with("sqlite_")) {
    return wrong_name(wanted, "names that begin with sqlite_ are SQLite's own; choose another");
  }
  for (const auto& table : there) {
    if (lower_case(table.str()) != name) continue;
    return wrong_name(wanted, "this file has an outbox \"" + table.str() +
                                  "\", and SQLite does not tell upper from lower case in names; "
                                  "use that one, or choose another name");
  }
  return {};
}

Status Migrations::prepare(Connection& reader, Writer& writer, const TableName& table) const {
  FreshSession session(reader, clock_);
  auto complete = migrator_.is_complete(session, table);
  if (!complete.ok()) return complete.error();
  return *complete ? Status() : up(writer, {.outbox = table});
}

Status Migrations::up(Writer& writer, const spi::SchemaUp& request) const {
  if (auto checked = migrator_.check(request); !checked.ok()) return checked;
  auto transaction = writer.begin();
  if (!transaction.ok()) return transaction.error();
  ChangeSession session(std::move(*transaction), clock_);
  return migrator_.up(session, request);
}

Status Migrations::down(Writer& writer, const spi::SchemaDown& request) const {
  if (auto checked = migrator_.check(request); !checked.ok()) return checked;
  auto transaction = writer.begin();
  if (!transaction.ok()) return transaction.error();
  ChangeSession session(std::move(*transaction), clock_);
  return migrator_.down(session, request);
}

Result<std::vector<spi::SchemaStep>> Migrations::status(Connection& reader) const {
  FreshSession session(reader, clock_);
  return migrator_.status(session);
}

Result<std::vector<TableName>> Migrations::tables(Connection& reader) const {
  FreshSession session(reader, clock_);
  return migrator_.outboxes(session);
}

}  // namespace sagabox::sqlite
