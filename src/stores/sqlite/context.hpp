#pragma once

#include "stores/sql/hub_events.hpp"
#include "stores/sql/inbox.hpp"
#include "stores/sql/saga_inbox.hpp"
#include "stores/sqlite/durable.hpp"
#include "stores/sqlite/insert.hpp"
#include "stores/sqlite/migrations.hpp"
#include "stores/sqlite/readers.hpp"
#include "stores/sqlite/schema_hub.hpp"
#include "stores/sqlite/session.hpp"
#include "stores/sqlite/statements.hpp"
#include "stores/sqlite/wake.hpp"
#include "stores/sqlite/writer.hpp"

#include <sagabox/stores/sqlite.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace sagabox::sqlite {

/// SQLite has one writer: everything is in one shard.
inline constexpr std::uint16_t shard_count = 1;

/// Shared by the roles of one store. Thread-safe.
struct Context {
  Context(const std::string& path, const Options& options, std::unique_ptr<Writer> with_writer,
          sql::Sections& sections)
      : clock(*options.clock),
        wal_bytes_max(options.wal_bytes_max),
        writer(std::move(with_writer)),
        readers(path, options),
        sessions(*writer, readers, clock),
        migrations(sections, clock),
        durable(*writer),
        inbox(sections),
        saga_inbox(sections),
        hub_publish(sections),
        wake(*writer, options.watch_interval),
        inserts(sections),
        shared(sections) {}

  const Clock& clock;  ///< the database's
  const std::uint64_t wal_bytes_max;
  const std::unique_ptr<Writer> writer;
  Readers readers;
  SqliteSessions sessions;
  Migrations migrations;
  Durable durable;
  const sql::InboxStatements inbox;
  const sql::SagaInboxStatements saga_inbox;
  const sql::HubPublishStatements hub_publish;
  Wake wake;
  sql::PerTable<InsertStatements> inserts;
  const SharedStatements shared;
};

}  // namespace sagabox::sqlite
