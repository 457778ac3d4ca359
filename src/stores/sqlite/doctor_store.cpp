#include "stores/sqlite/doctor_store.hpp"

#include "core/text.hpp"
#include "stores/schema_findings.hpp"
#include "stores/sqlite/schema.hpp"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace sagabox::sqlite {
namespace {

/// Checking more pages takes seconds.
constexpr std::int64_t checked_pages_max = 65'536;
constexpr std::int64_t free_pages_min = 10'000;
/// How much a busy outbox writes in seconds, and in minutes.
constexpr std::uintmax_t disk_bytes_min = 16UL << 20U;
constexpr std::uintmax_t disk_bytes_low = 256UL << 20U;

}  // namespace

std::optional<spi::Finding> disk_finding(std::uintmax_t available) {
  if (available >= disk_bytes_low) return std::nullopt;
  const bool full = available < disk_bytes_min;
  return spi::Finding{full ? Severity::error : Severity::warning,
                      std::string(full ? "the disk of the file is full: "
                                       : "the disk of the file "
                                         "is nearly full: ") +
                          std::to_string(available >> 20U) +
                          " MiB left; without room nothing is written and no result is stored",
                      "make room; what waits goes on by itself then"};
}

Result<SqliteDoctor::Schema> SqliteDoctor::schema() {
  auto reader = context_.readers.take();
  if (!reader.ok()) return reader.error();
  const auto steps = context_.migrations.status(**reader);
  if (!steps.ok()) return steps.error();
  auto tables = context_.migrations.tables(**reader);
  if (!tables.ok()) return tables.error();
  return Schema{schema::of_steps(*steps), schema::differing(*steps), std::move(*tables)};
}

std::set<std::string> SqliteDoctor::index_names() const {
  return schema::all_index_names(engines());
}

Status SqliteDoctor::look_last(sql::Session& session, const Schema&, Findings& findings) {
  auto journal = session.run(journal_);
  if (!journal.ok()) return journal.error();
  if (const auto mode = journal->front().text(0); mode != "wal") {
    findings.push_back({Severity::error,
                        "journal_mode is " + std::string(mode) +
                            ", not wal: readers and writers wait for each other",
                        "somebody changed it; PRAGMA journal_mode = WAL"});
  }
  std::error_code no_file;
  const auto log_bytes = std::filesystem::file_size(context_.writer->path() + "-wal", no_file);
  // Twice the size that the log is cut to: a reader prevents a restart of the log.
  if (!no_file && log_bytes > 2 * context_.wal_bytes_max) {
    findings.push_back({Severity::warning,
                        "the write-ahead log has " + std::to_string(log_bytes >> 20U) +
                            " MiB: a reader keeps it from being emptied",
                        "end the transaction that has been open for long"});
  }
  if (const auto disk = std::filesystem::space(context_.writer->path(), no_file); !no_file) {
    if (auto finding = disk_finding(disk.available)) findings.push_back(*std::move(finding));
  }
  auto pages = session.run(pages_);
  if (!pages.ok()) return pages.error();
  const auto count = pages->front().integer(0);
  const auto unused = pages->front().integer(1);
  if (unused > free_pages_min && unused > count / 2) {
    findings.push_back({Severity::info,
                        std::to_string(unused * 100 / count) + " % of the file is unused",
                        "if the disk is short: VACUUM, while nobody writes"});
  }
  if (count > checked_pages_max) return {};
  auto check = session.run(check_);
  if (!check.ok()) return check.error();
  if (const auto damage = check->front().text(0); damage != "ok") {
    findings.push_back({Severity::critical, "the file is damaged: " + quoted(damage),
                        "stop everything, keep a copy, restore a backup"});
  }
  return {};
}

}  // namespace sagabox::sqlite
