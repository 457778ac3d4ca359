#pragma once

#include "stores/postgres/outbox/archive.hpp"
#include "stores/sql/admin_store.hpp"

#include <utility>

namespace sagabox::postgres {

using sql::stats_rows_exact;

/// Also maintains the day partitions of the archive.
class PostgresAdmin final : public sql::AdminStore {
 public:
  PostgresAdmin(sql::Sections& sections, sql::OperatorParts parts, Pool& pool)
      : sql::AdminStore(sections, std::move(parts)), pool_(pool), archive_(sections) {}

  Result<spi::PurgeReply> purge(const spi::PurgeRequest& request) override;

 private:
  Pool& pool_;
  sql::PerTable<ArchiveStatements> archive_;
};

}  // namespace sagabox::postgres
