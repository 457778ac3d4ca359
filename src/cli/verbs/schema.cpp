#include "cli/verbs/schema.hpp"

#include "cli/session.hpp"
#include "core/masked_url.hpp"

#include <sagabox/open.hpp>
#ifdef SAGABOX_POSTGRES
#include <sagabox/stores/postgres.hpp>
#endif
#ifdef SAGABOX_SQLITE
#include <sagabox/stores/sqlite.hpp>
#endif

#include <algorithm>
#include <filesystem>
#include <utility>

namespace sagabox::cli {
namespace {

bool is_postgres(const std::string& url) {
  return url.starts_with("postgres://") || url.starts_with("postgresql://");
}

/// For URLs that neither of them takes: what this build has.
Error not_here(const SchemaPlace& place) {
  const auto store = open_store(place.url);
  if (!store.ok()) return store.error();
  return {Code::config_invalid, masked_url(place.url) + " has no schema to migrate"};
}

#ifdef SAGABOX_POSTGRES
postgres::Options options_of(const SchemaPlace& place) {
  return {.schema = place.schema, .shards = place.shards};
}

Result<std::vector<SchemaStep>> postgres_status(const SchemaPlace& place) {
  auto steps = postgres::migration_status(place.url, options_of(place));
  if (!steps.ok()) return steps.error();
  std::vector<SchemaStep> all;
  for (auto& step : *steps) {
    all.push_back(
        {step.number, std::move(step.name), std::move(step.outbox), step.applied_at, step.shards});
  }
  return all;
}
#endif

#ifdef SAGABOX_SQLITE
Result<std::vector<SchemaStep>> sqlite_status(const std::string& path) {
  // What `migrate up` would make is shown without making the file.
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::vector<SchemaStep>{};
  auto steps = sqlite::migration_status(path);
  if (!steps.ok()) return steps.error();
  std::vector<SchemaStep> all;
  for (auto& step : *steps) {
    all.push_back({step.number, std::move(step.name), std::move(step.outbox), step.applied_at, 0});
  }
  return all;
}
#endif

Status schema_steps_up(const SchemaPlace& place) {
#ifdef SAGABOX_POSTGRES
  if (is_postgres(place.url)) return postgres::migrate(place.url, options_of(place));
#endif
#ifdef SAGABOX_SQLITE
  if (const auto path = sqlite_path(place.url); !path.empty()) return sqlite::migrate(path);
#endif
  return not_here(place);
}

}  // namespace

Result<std::vector<SchemaStep>> schema_status(const SchemaPlace& place) {
#ifdef SAGABOX_POSTGRES
  if (is_postgres(place.url)) return postgres_status(place);
#endif
#ifdef SAGABOX_SQLITE
  if (const auto path = sqlite_path(place.url); !path.empty()) return sqlite_status(path);
#endif
  return not_here(place);
}

Status schema_up(const SchemaPlace& place, const std::string& outbox) {
  if (auto made = schema_steps_up(place); !made.ok() || outbox.empty()) return made;
  const auto name = TableName::parse(outbox);
  if (!name.ok()) return name.error();
  auto store = open_store(place.url, {.shards = place.shards, .schema = place.schema});
  if (!store.ok()) return store.error();
  return (*store)->outbox().prepare(*name);
}

Status schema_down(const SchemaPlace& place, int to, bool force) {
#ifdef SAGABOX_POSTGRES
  if (is_postgres(place.url)) {
    return postgres::migrate_down(place.url, {.to = to, .force = force}, options_of(place));
  }
#endif
#ifdef SAGABOX_SQLITE
  if (const auto path = sqlite_path(place.url); !path.empty()) {
    return sqlite::migrate_down(path, {.to = to, .force = force});
  }
#endif
  return not_here(place);
}

Result<Reshard> reshard(const SchemaPlace& place, const ReshardOrder& order) {
#ifdef SAGABOX_POSTGRES
  if (is_postgres(place.url)) {
    auto report = postgres::reshard(place.url,
                                    {.outbox = order.outbox,
                                     .shards = place.shards,
                                     .force = order.force,
                                     .dry_run = order.dry_run},
                                    options_of(place));
    if (!report.ok()) return report.error();
    return Reshard{report->shards_before,     report->shards, report->pending, report->blocked,
                   std::move(report->relays), report->changed};
  }
#endif
  (void)order;
  if (!sqlite_path(place.url).empty()) {
    return Error{Code::config_invalid,
                 "a SQLite file has one shard for each outbox; there is nothing to reshard"};
  }
  return not_here(place);
}

}  // namespace sagabox::cli
