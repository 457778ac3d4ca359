#include "stores/sqlite/schema.hpp"

#include "stores/sqlite/schema_hub.hpp"
#include "stores/sqlite/schema_requests.hpp"
#include "stores/sqlite/schema_saga.hpp"

#include <array>

namespace sagabox::sqlite {
namespace {

constexpr std::string_view first_up = R"sql(
-- Every outbox of this file, and how many messages it has. Sequences are given out without gaps:
-- the next is above the last in the normal lane and above `seq`, the highest that is not in it; and
-- of all that were given out, `gone` are no longer pending. So an ordinary message is written
-- without a change here. `taken` grows when an operator takes pending messages away.
CREATE TABLE sagabox_outbox (
  name        TEXT    PRIMARY KEY,
  seq         INTEGER NOT NULL DEFAULT 0,
  gone        INTEGER NOT NULL DEFAULT 0,
  waiting     INTEGER NOT NULL DEFAULT 0,
  done        INTEGER NOT NULL DEFAULT 0,
  dead        INTEGER NOT NULL DEFAULT 0,
  quarantined INTEGER NOT NULL DEFAULT 0,
  taken       INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- What must have one owner a shard: 'outbox:orders', 'purge:orders' … Whoever owns one holds an
-- operating system's lock on byte `number` of the file "<database>-owners" while he lives.
CREATE TABLE sagabox_owner (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  scope  TEXT    NOT NULL,
  shard  INTEGER NOT NULL,
  owner  TEXT,
  epoch  INTEGER NOT NULL DEFAULT 0,
  UNIQUE (scope, shard)
) STRICT;

-- Topic '' is the whole outbox.
CREATE TABLE sagabox_pause (
  outbox TEXT    NOT NULL,
  topic  TEXT    NOT NULL DEFAULT '',
  actor  TEXT    NOT NULL DEFAULT '',
  note   TEXT    NOT NULL DEFAULT '',
  since  INTEGER NOT NULL,
  PRIMARY KEY (outbox, topic)
) STRICT, WITHOUT ROWID;

CREATE TABLE sagabox_replay_job (
  outbox         TEXT    NOT NULL,
  id             INTEGER NOT NULL,
  state          TEXT    NOT NULL DEFAULT 'running'
                         CHECK (state IN ('running', 'stopped', 'finished', 'failed')),
  from_state     TEXT    NOT NULL CHECK (from_state IN ('dead', 'quarantined', 'done')),
  tenant         TEXT,
  topic          TEXT,
  aggregate_type TEXT,
  key            TEXT,
  code           TEXT,
  ended_from     INTEGER,
  ended_until    INTEGER,
  first          INTEGER,
  last_wanted    INTEGER,
  retrying       INTEGER NOT NULL DEFAULT 0,
  cursor         INTEGER NOT NULL DEFAULT 0,
  last           INTEGER NOT NULL DEFAULT 0,
  rate_max       INTEGER NOT NULL DEFAULT 0,
  matched        INTEGER NOT NULL DEFAULT 0,
  replayed       INTEGER NOT NULL DEFAULT 0,
  actor          TEXT    NOT NULL DEFAULT '',
  error          TEXT    NOT NULL DEFAULT '',
  created_at     INTEGER NOT NULL,
  changed_at     INTEGER NOT NULL,
  PRIMARY KEY (outbox, id)
) STRICT, WITHOUT ROWID;

-- Each entry carries the hash of the one before; where it ends is kept apart.
CREATE TABLE sagabox_audit_log (
  number      INTEGER PRIMARY KEY,
  kind        TEXT    NOT NULL,
  at          INTEGER NOT NULL,
  outbox      BLOB    NOT NULL,
  tenant      BLOB    NOT NULL,
  topic       BLOB    NOT NULL,
  message_id  BLOB    NOT NULL,
  attempt     INTEGER NOT NULL DEFAULT 0,
  digest      BLOB    NOT NULL,
  traceparent BLOB    NOT NULL,
  code        BLOB    NOT NULL,
  detail      BLOB    NOT NULL,
  actor       BLOB    NOT NULL,
  previous    BLOB    NOT NULL,
  hash        BLOB    NOT NULL
) STRICT;

CREATE TABLE sagabox_audit_head (
  only_one INTEGER PRIMARY KEY DEFAULT 1 CHECK (only_one = 1),
  number   INTEGER NOT NULL,
  hash     BLOB    NOT NULL
) STRICT;
INSERT INTO sagabox_audit_head (number, hash) VALUES (0, zeroblob(32));
)sql";

constexpr std::string_view first_down = R"sql(
DROP TABLE sagabox_audit_head;
DROP TABLE sagabox_audit_log;
DROP TABLE sagabox_replay_job;
DROP TABLE sagabox_pause;
DROP TABLE sagabox_owner;
DROP TABLE sagabox_outbox;
)sql";

// The payload is the last column: SQLite would have to read past it to reach any column behind it.
constexpr std::string_view first_table_up = R"sql(
-- Pending messages. The place is the sequence and, above it, where the row waits to be read: 0 by
-- time (due), 1 high, 2 low, 3 normal priority. Times are microseconds since 1970.
CREATE TABLE "{table}_pending" (
  place           INTEGER PRIMARY KEY CHECK (place BETWEEN 1 AND 140737488355327),
  seq             INTEGER GENERATED ALWAYS AS (place & 35184372088831) VIRTUAL,
  id              TEXT    NOT NULL,
  due             INTEGER CHECK ((due IS NULL) = (place >= 35184372088832)),
  retrying        INTEGER NOT NULL DEFAULT 0,
  attempts        INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  failed_for_good INTEGER NOT NULL DEFAULT 0,
  replays         INTEGER NOT NULL DEFAULT 0,
  targets_done    INTEGER,
  written_at      INTEGER NOT NULL,
  tenant          TEXT    NOT NULL,
  topic           TEXT    NOT NULL,
  aggregate_type  TEXT    NOT NULL,
  aggregate_id    TEXT,
  key             TEXT    CHECK (key <> ''),
  priority        INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 2),
  is_json         INTEGER NOT NULL,
  digest          BLOB,
  content_type    TEXT    NOT NULL,
  headers         TEXT,
  occurred_at     INTEGER NOT NULL,
  not_before      INTEGER,
  traceparent     TEXT,
  tracestate      TEXT,
  request_id      TEXT,
  correlation_id  TEXT,
  code            TEXT,
  error           TEXT,
  history         TEXT,
  payload         BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX "{table}_pending_id" ON "{table}_pending" (id);
CREATE INDEX "{table}_pending_due" ON "{table}_pending" (due) WHERE due IS NOT NULL;

-- Dead and quarantined messages, under the sequence they had.
CREATE TABLE "{table}_dead" (
  seq             INTEGER PRIMARY KEY,
  id              TEXT    NOT NULL,
  state           TEXT    NOT NULL CHECK (state IN ('dead', 'quarantined')),
  ended_at        INTEGER NOT NULL,
  note            TEXT,
  attempts        INTEGER NOT NULL CHECK (attempts >= 0),
  failed_for_good INTEGER NOT NULL DEFAULT 0,
  replays         INTEGER NOT NULL,
  written_at      INTEGER NOT NULL,
  tenant          TEXT    NOT NULL,
  topic           TEXT    NOT NULL,
  aggregate_type  TEXT    NOT NULL,
  aggregate_id    TEXT,
  key             TEXT,
  priority        INTEGER NOT NULL,
  is_json         INTEGER NOT NULL,
  digest          BLOB,
  content_type    TEXT    NOT NULL,
  headers         TEXT,
  occurred_at     INTEGER NOT NULL,
  not_before      INTEGER,
  traceparent     TEXT,
  tracestate      TEXT,
  request_id      TEXT,
  correlation_id  TEXT,
  code            TEXT,
  error           TEXT,
  history         TEXT,
  payload         BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX "{table}_dead_id" ON "{table}_dead" (id);
CREATE INDEX "{table}_dead_tenant" ON "{table}_dead" (tenant, state, ended_at);
CREATE INDEX "{table}_dead_ended" ON "{table}_dead" (state, ended_at);

-- Delivered messages, as long as they are retained.
CREATE TABLE "{table}_archive" (
  seq             INTEGER PRIMARY KEY,
  id              TEXT    NOT NULL,
  ended_at        INTEGER NOT NULL,
  attempts        INTEGER NOT NULL,
  failed_for_good INTEGER NOT NULL DEFAULT 0,
  replays         INTEGER NOT NULL,
  written_at      INTEGER NOT NULL,
  tenant          TEXT    NOT NULL,
  topic           TEXT    NOT NULL,
  aggregate_type  TEXT    NOT NULL,
  aggregate_id    TEXT,
  key             TEXT,
  priority        INTEGER NOT NULL,
  is_json         INTEGER NOT NULL,
  digest          BLOB,
  content_type    TEXT    NOT NULL,
  headers         TEXT,
  occurred_at     INTEGER NOT NULL,
  not_before      INTEGER,
  traceparent     TEXT,
  tracestate      TEXT,
  request_id      TEXT,
  correlation_id  TEXT,
  code            TEXT,
  error           TEXT,
  history         TEXT,
  payload         BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX "{table}_archive_id" ON "{table}_archive" (id);

-- What programs in any language insert into and may look at. Only topic and payload must be given;
-- an id that is known already is left alone.
CREATE VIEW "{table}_outbox" AS
SELECT seq, id, tenant, topic, aggregate_type, aggregate_id, key, priority,
       CASE WHEN is_json THEN CAST(payload AS TEXT) ELSE payload END AS payload,
       is_json, content_type, headers, occurred_at, not_before, traceparent, tracestate,
       request_id, correlation_id, due, attempts, replays, written_at, code, error
FROM "{table}_pending";

CREATE TRIGGER "{table}_outbox_insert" INSTEAD OF INSERT ON "{table}_outbox"
WHEN NEW.id IS NULL
  OR (NOT EXISTS (SELECT 1 FROM "{table}_pending" WHERE id = NEW.id)
      AND NOT EXISTS (SELECT 1 FROM "{table}_dead" WHERE id = NEW.id)
      AND NOT EXISTS (SELECT 1 FROM "{table}_archive" WHERE id = NEW.id))
BEGIN
  SELECT RAISE(ABORT, 'sagabox: topic and payload must be given')
  WHERE NEW.topic IS NULL OR NEW.payload IS NULL;
  SELECT RAISE(ABORT, 'sagabox: an id has 1 to 36 characters')
  WHERE length(NEW.id) NOT BETWEEN 1 AND 36;
  INSERT INTO "{table}_pending" (
    place, id, due, written_at, tenant, topic, aggregate_type, aggregate_id, key, priority,
    is_json, content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
    correlation_id, payload)
  SELECT (SELECT 1 + {last} FROM sagabox_outbox WHERE name = '{table}') +
         CASE WHEN NEW.not_before > now.at THEN 0
              WHEN nullif(NEW.key, '') IS NOT NULL OR coalesce(NEW.priority, 1) = 1
                THEN 105553116266496
              WHEN NEW.priority = 0 THEN 35184372088832
              ELSE 70368744177664 END,
         coalesce(NEW.id, lower(hex(randomblob(16)))),
         CASE WHEN NEW.not_before > now.at THEN NEW.not_before END,
         now.at,
         coalesce(NEW.tenant, 'default'),
         NEW.topic,
         coalesce(NEW.aggregate_type, '__GLOBAL__'),
         NEW.aggregate_id,
         nullif(NEW.key, ''),
         coalesce(NEW.priority, 1),
         coalesce(NEW.is_json, 1),
         coalesce(NEW.content_type, CASE WHEN coalesce(NEW.is_json, 1) THEN 'application/json'
                                         ELSE 'application/octet-stream' END),
         NEW.headers,
         coalesce(NEW.occurred_at, now.at),
         NEW.not_before,
         NEW.traceparent, NEW.tracestate, NEW.request_id, NEW.correlation_id,
         CAST(NEW.payload AS BLOB)
  FROM (SELECT CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER) AS at) AS now;
  UPDATE sagabox_outbox
  SET seq = max(seq, last_insert_rowid() & 35184372088831),
      waiting = waiting + (last_insert_rowid() < 35184372088832)
  WHERE name = '{table}' AND changes() = 1 AND last_insert_rowid() < 105553116266496;
END;

INSERT INTO sagabox_outbox (name) VALUES ('{table}');
)sql";

constexpr std::string_view first_table_down = R"sql(
DELETE FROM sagabox_replay_job WHERE outbox = '{table}';
DELETE FROM sagabox_pause WHERE outbox = '{table}';
DELETE FROM sagabox_outbox WHERE name = '{table}';
DROP VIEW "{table}_outbox";
DROP TABLE "{table}_archive";
DROP TABLE "{table}_dead";
DROP TABLE "{table}_pending";
)sql";

// An id is unique within a tenant: pending messages are unique by tenant and id, and ended ones are
// identified by their sequence alone, so that an id that is written again can end twice. The id is
// the first column: operators also look for an id without a tenant.
constexpr std::string_view second_up = R"sql(
ALTER TABLE sagabox_replay_job ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr std::string_view second_down = R"sql(
ALTER TABLE sagabox_replay_job DROP COLUMN skipped;
)sql";

constexpr std::string_view second_table_up = R"sql(
DROP INDEX "{table}_pending_id";
CREATE UNIQUE INDEX "{table}_pending_id" ON "{table}_pending" (id, tenant);
DROP INDEX "{table}_dead_id";
CREATE INDEX "{table}_dead_id" ON "{table}_dead" (id, tenant);
DROP INDEX "{table}_archive_id";
CREATE INDEX "{table}_archive_id" ON "{table}_archive" (id, tenant);

DROP TRIGGER "{table}_outbox_insert";
CREATE TRIGGER "{table}_outbox_insert" INSTEAD OF INSERT ON "{table}_outbox"
WHEN NEW.id IS NULL
  OR (NOT EXISTS (SELECT 1 FROM "{table}_pending"
                  WHERE id = NEW.id AND tenant = coalesce(NEW.tenant, 'default'))
      AND NOT EXISTS (SELECT 1 FROM "{table}_dead"
                      WHERE id = NEW.id AND tenant = coalesce(NEW.tenant, 'default'))
      AND NOT EXISTS (SELECT 1 FROM "{table}_archive"
                      WHERE id = NEW.id AND tenant = coalesce(NEW.tenant, 'default')))
{enqueue}
)sql";

// Ended messages may have the same id several times by now, so this index is not unique; the older
// version does not need it to be.
constexpr std::string_view second_table_down = R"sql(
DROP INDEX "{table}_pending_id";
CREATE UNIQUE INDEX "{table}_pending_id" ON "{table}_pending" (id);

DROP TRIGGER "{table}_outbox_insert";
CREATE TRIGGER "{table}_outbox_insert" INSTEAD OF INSERT ON "{table}_outbox"
WHEN NEW.id IS NULL
  OR (NOT EXISTS (SELECT 1 FROM "{table}_pending" WHERE id = NEW.id)
      AND NOT EXISTS (SELECT 1 FROM "{table}_dead" WHERE id = NEW.id)
      AND NOT EXISTS (SELECT 1 FROM "{table}_archive" WHERE id = NEW.id))
{enqueue}
)sql";

constexpr std::string_view third_up = R"sql(
ALTER TABLE sagabox_replay_job ADD COLUMN as_new INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr std::string_view third_down = R"sql(
ALTER TABLE sagabox_replay_job DROP COLUMN as_new;
)sql";

// This step does not change outboxes.
constexpr std::string_view no_change = "SELECT 1;";

constexpr std::array outbox_steps{
    Migration{1, "outbox", first_up, first_down, first_table_up, first_table_down},
    Migration{2, "tenants", second_up, second_down, second_table_up, second_table_down},
    Migration{3, "replays", third_up, third_down, no_change, no_change},
};

}  // namespace

std::span<const Engine> engines() {
  static const std::array all{
      Engine{.name = spi::outbox_engine, .record = "sagabox_migration", .steps = outbox_steps},
      Engine{.name = spi::idempotency_engine,
             .record = "sagabox_idempotency_migration",
             .steps = idempotency_steps()},
      Engine{
          .name = spi::inbox_engine, .record = "sagabox_inbox_migration", .steps = inbox_steps()},
      Engine{.name = spi::saga_engine, .record = "sagabox_saga_migration", .steps = saga_steps()},
      Engine{.name = spi::hub_engine, .record = "sagabox_hub_migration", .steps = hub_steps()},
  };
  return all;
}

}  // namespace sagabox::sqlite
