#include "stores/postgres/operate/admin_store.hpp"

namespace sagabox::postgres {

Result<spi::PurgeReply> PostgresAdmin::purge(const spi::PurgeRequest& request) {
  if (request.state != MessageState::done) return sql::AdminStore::purge(request);
  const auto& statements = archive_.of(request.table);
  if (auto made = make_days_ahead(pool_, statements); !made.ok()) return made.error();
  // A purge by an operator is audited row by row.
  if (!request.actor.empty()) return sql::AdminStore::purge(request);
  auto dropped = drop_old_days(pool_, statements, request.older_than);
  if (!dropped.ok()) return dropped.error();
  auto reply = sql::AdminStore::purge(request);
  // Rows already dropped are reported even if the rest fails.
  if (!reply.ok() && *dropped > 0) return spi::PurgeReply{.rows = *dropped, .more = true};
  if (reply.ok()) reply->rows += *dropped;
  return reply;
}

}  // namespace sagabox::postgres
