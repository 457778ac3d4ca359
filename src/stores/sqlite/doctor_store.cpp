#include "stores/sqlite/doctor_store.hpp"

#include "core/text.hpp"
#include "stores/schema_findings.hpp"
#include "stores/sqlite/fragments.hpp"
#include "stores/sqlite/schema.hpp"

#include <filesystem>
#include <string>
#include <system_error>

namespace sagabox::sqlite {
namespace {

const Sql index_sql{"SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name = ?1"};
const Sql audit_head_sql{"SELECT count(*) FROM sagabox_audit_head"};
const Sql journal_sql{"PRAGMA journal_mode"};
const Sql pages_sql{
    "SELECT page_count, freelist_count FROM pragma_page_count, pragma_freelist_count"};
const Sql check_sql{"PRAGMA quick_check(1)"};
constexpr std::string_view last_written_sql = R"sql(
SELECT {last} FROM sagabox_outbox WHERE name = ?1
)sql";

/// Checking takes seconds beyond.
constexpr std::int64_t checked_pages_max = 65'536;
/// Twice what the log is cut to: somebody keeps it from being emptied.
constexpr std::uintmax_t wal_bytes_max = 128ULL * 1024 * 1024;
constexpr std::int64_t free_pages_min = 10'000;

Status add_missing_indexes(Connection& reader, const TableName& table,
                           std::vector<spi::Finding>& findings) {
  for (const auto& pattern : schema::all_index_names(engines())) {
    const auto name = Filler(table).text(pattern);
    auto run = reader.run(index_sql);
    run.with(name);
    if (auto row = run.step(); !row.ok()) return row.error();
    if (run.integer(0) == 0) findings.push_back(schema::missing_index(table.str(), name));
  }
  return {};
}

Status add_audit_head(Connection& reader, std::vector<spi::Finding>& findings) {
  auto run = reader.run(audit_head_sql);
  if (auto row = run.step(); !row.ok()) return row.error();
  if (run.integer(0) == 0) findings.push_back(schema::missing_audit_head("sagabox_audit_head"));
  return {};
}

Status add_file(Connection& reader, const std::string& path, std::vector<spi::Finding>& findings) {
  auto journal = reader.run(journal_sql);
  if (auto row = journal.step(); !row.ok()) return row.error();
  if (journal.text(0) != "wal") {
    findings.push_back({Severity::error,
                        "journal_mode is " + std::string(journal.text(0)) +
                            ", not wal: readers and writers wait for each other",
                        "somebody changed it; PRAGMA journal_mode = WAL"});
  }
  std::error_code no_file;
  const auto log_bytes = std::filesystem::file_size(path + "-wal", no_file);
  if (!no_file && log_bytes > wal_bytes_max) {
    findings.push_back({Severity::warning,
                        "the write-ahead log has " + std::to_string(log_bytes >> 20U) +
                            " MiB: somebody reads without an end",
                        "end the transaction that has been open for long"});
  }
  auto pages = reader.run(pages_sql);
  if (auto row = pages.step(); !row.ok()) return row.error();
  const auto count = pages.integer(0);
  const auto unused = pages.integer(1);
  if (unused > free_pages_min && unused > count / 2) {
    findings.push_back({Severity::info,
                        std::to_string(unused * 100 / count) + " % of the file is unused",
                        "if the disk is short: VACUUM, while nobody writes"});
  }
  if (count > checked_pages_max) return {};
  auto check = reader.run(check_sql);
  if (auto row = check.step(); !row.ok()) return row.error();
  if (check.text(0) != "ok") {
    findings.push_back({Severity::critical, "the file is damaged: " + quoted(check.text(0)),
                        "stop everything, keep a copy, restore a backup"});
  }
  return {};
}

}  // namespace

Result<std::vector<TableName>> SqliteDoctor::tables() {
  auto reader = context_.readers.take();
  if (!reader.ok()) return reader.error();
  return Migrations::tables(**reader);
}

Result<Sequence> SqliteDoctor::last_sequence(const TableName& table) {
  auto reader = context_.readers.take();
  if (!reader.ok()) return reader.error();
  // The statement must not outlive its text.
  Link link((*reader)->handle());
  const Sql sql{Filler(table).text(last_written_sql)};
  auto run = link.run(sql);
  run.with(table.str());
  auto row = run.step();
  if (!row.ok()) return row.error();
  return Sequence{*row ? run.natural(0) : 0};
}

Result<bool> SqliteDoctor::is_current() {
  auto reader = context_.readers.take();
  if (!reader.ok()) return reader.error();
  const auto steps = Migrations::status(**reader);
  if (!steps.ok()) return steps.error();
  return schema::is_current(*steps);
}

Result<std::vector<spi::Finding>> SqliteDoctor::findings() {
  auto reader = context_.readers.take();
  if (!reader.ok()) return reader.error();
  const auto steps = Migrations::status(**reader);
  if (!steps.ok()) return steps.error();
  auto findings = schema::of_steps(*steps);
  const bool current = findings.empty();
  schema::add_differing(*steps, findings);
  if (current) {
    const auto tables = Migrations::tables(**reader);
    if (!tables.ok()) return tables.error();
    for (const auto& table : *tables) {
      auto added = add_missing_indexes(**reader, table, findings);
      if (!added.ok()) return added.error();
    }
    if (auto added = add_audit_head(**reader, findings); !added.ok()) return added.error();
  }
  auto added = add_file(**reader, context_.writer->path(), findings);
  if (!added.ok()) return added.error();
  return findings;
}

}  // namespace sagabox::sqlite
