#include "stores/postgres/operate/schema_steps.hpp"

#include <array>

namespace sagabox::postgres {
namespace {

constexpr std::string_view first_up = R"sql(
-- Every outbox of this schema.
CREATE TABLE "{schema}".outbox (
  name    text        PRIMARY KEY,
  shards  smallint    NOT NULL CHECK (shards > 0),
  made_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Rules of a message's columns. As domains, which a session reads once: the checks of a table are
-- parsed anew by every INSERT, for a quarter of its time.
CREATE DOMAIN "{schema}".message_id AS text COLLATE "C"
  CONSTRAINT up_to_36_printable_characters CHECK (value ~ '^[!-~]+$' AND length(value) <= 36);
CREATE DOMAIN "{schema}".message_key AS text COLLATE "C"
  CONSTRAINT null_if_there_is_none CHECK (value <> '');
CREATE DOMAIN "{schema}".message_priority AS smallint
  CONSTRAINT high_0_normal_1_low_2 CHECK (value BETWEEN 0 AND 2);
CREATE DOMAIN "{schema}".message_count AS integer
  CONSTRAINT not_negative CHECK (value >= 0);

-- Who is alive: one row a process. An id is used once.
CREATE TABLE "{schema}".worker (
  id          text        COLLATE "C" PRIMARY KEY,
  lease_until timestamptz NOT NULL,
  joined_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- What must have one owner a shard: 'outbox:orders', 'purge:orders' …
CREATE TABLE "{schema}".scope (
  name   text     COLLATE "C" PRIMARY KEY,
  shards smallint NOT NULL CHECK (shards > 0)
);

-- Which worker wants a share of which scope.
CREATE TABLE "{schema}".member (
  scope  text COLLATE "C" NOT NULL REFERENCES "{schema}".scope,
  worker text COLLATE "C" NOT NULL REFERENCES "{schema}".worker ON DELETE CASCADE,
  PRIMARY KEY (worker, scope)
);

-- Written when a shard changes hands; every settle locks the rows it relies on.
CREATE TABLE "{schema}".shard_owner (
  scope text     COLLATE "C" NOT NULL REFERENCES "{schema}".scope,
  shard smallint NOT NULL,
  owner text     COLLATE "C",
  epoch bigint   NOT NULL DEFAULT 0,
  PRIMARY KEY (scope, shard)
);

-- Topic '' is the whole outbox.
CREATE TABLE "{schema}".pause (
  outbox text        NOT NULL REFERENCES "{schema}".outbox ON DELETE CASCADE,
  topic  text        COLLATE "C" NOT NULL DEFAULT '',
  actor  text        NOT NULL DEFAULT '',
  note   text        NOT NULL DEFAULT '',
  since  timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (outbox, topic)
);

-- Numbers that only grow or follow rows: 'taken' (an operator took pending messages away) and
-- counts that would be dear to ask of a big table. Several slots where many write.
CREATE TABLE "{schema}".counter (
  outbox text     NOT NULL REFERENCES "{schema}".outbox ON DELETE CASCADE,
  name   text     COLLATE "C" NOT NULL,
  slot   smallint NOT NULL DEFAULT 0,
  value  bigint   NOT NULL DEFAULT 0,
  PRIMARY KEY (outbox, name, slot)
);

CREATE TABLE "{schema}".replay_job (
  outbox         text        NOT NULL REFERENCES "{schema}".outbox ON DELETE CASCADE,
  id             bigint      NOT NULL,
  state          text        NOT NULL DEFAULT 'running'
                             CHECK (state IN ('running', 'stopped', 'finished', 'failed')),
  from_state     text        NOT NULL CHECK (from_state IN ('dead', 'quarantined', 'done')),
  tenant         text,
  topic          text,
  aggregate_type text,
  key            text,
  code           text,
  ended_from     timestamptz,
  ended_until    timestamptz,
  first          bigint,
  last_wanted    bigint,
  retrying       boolean     NOT NULL DEFAULT false,
  cursor         bigint      NOT NULL DEFAULT 0,
  last           bigint      NOT NULL DEFAULT 0,
  rate_max       bigint      NOT NULL DEFAULT 0,
  matched        bigint      NOT NULL DEFAULT 0,
  replayed       bigint      NOT NULL DEFAULT 0,
  actor          text        NOT NULL DEFAULT '',
  error          text        NOT NULL DEFAULT '',
  created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (outbox, id)
);

-- Each entry carries the hash of the one before; where it ends is kept apart.
CREATE TABLE "{schema}".audit_log (
  number      bigint      PRIMARY KEY,
  kind        text        NOT NULL,
  at          timestamptz NOT NULL,
  outbox      bytea       NOT NULL DEFAULT '',
  tenant      bytea       NOT NULL DEFAULT '',
  topic       bytea       NOT NULL DEFAULT '',
  message_id  bytea       NOT NULL DEFAULT '',
  attempt     bigint      NOT NULL DEFAULT 0,
  digest      bytea       NOT NULL,
  traceparent bytea       NOT NULL DEFAULT '',
  code        bytea       NOT NULL DEFAULT '',
  detail      bytea       NOT NULL DEFAULT '',
  actor       bytea       NOT NULL DEFAULT '',
  previous    bytea       NOT NULL,
  hash        bytea       NOT NULL
);

CREATE TABLE "{schema}".audit_head (
  only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  number   bigint  NOT NULL,
  hash     bytea   NOT NULL
);
INSERT INTO "{schema}".audit_head (number, hash) VALUES (0, decode(repeat('00', 32), 'hex'));

-- Daily partitions of an outbox's archive, from yesterday on, days in UTC. What ends on a day
-- without one goes to <name>_archive_rest; a day that has rows there already stays there, and so
-- does every day for a user who may not make tables.
CREATE FUNCTION "{schema}".archive_ahead(of_outbox text, days_ahead integer) RETURNS void
LANGUAGE plpgsql AS $body$
DECLARE
  today     date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  partition text;
BEGIN
  FOR day IN -1 .. days_ahead LOOP
    partition := of_outbox || '_a' || to_char(today + day, 'YYYYMMDD');
    CONTINUE WHEN to_regclass(format('%I.%I', '{schema}', partition)) IS NOT NULL;
    PERFORM pg_advisory_xact_lock(hashtextextended('sagabox archive {schema}.' || of_outbox, 0));
    BEGIN
      EXECUTE format(
        'CREATE TABLE IF NOT EXISTS %I.%I PARTITION OF %I.%I FOR VALUES FROM (%L) TO (%L)',
        '{schema}', partition, '{schema}', of_outbox || '_archive',
        (today + day)::timestamp AT TIME ZONE 'UTC',
        (today + day + 1)::timestamp AT TIME ZONE 'UTC');
    EXCEPTION WHEN check_violation OR insufficient_privilege THEN
      NULL;
    END;
  END LOOP;
END
$body$;
)sql";

constexpr std::string_view first_down = R"sql(
DROP FUNCTION "{schema}".archive_ahead(text, integer);
DROP TABLE "{schema}".audit_head, "{schema}".audit_log, "{schema}".replay_job,
           "{schema}".counter, "{schema}".pause, "{schema}".shard_owner, "{schema}".member,
           "{schema}".scope, "{schema}".worker, "{schema}".outbox;
DROP DOMAIN "{schema}".message_id, "{schema}".message_key, "{schema}".message_priority,
            "{schema}".message_count;
)sql";

// xid comes before seq: defaults are evaluated in this order, and a transaction must be visible in
// snapshots before it draws a number.
constexpr std::string_view first_table_up = R"sql(
CREATE SEQUENCE "{schema}"."{table}_seq" AS bigint CACHE 1;

-- Pending messages. Fresh ones (due IS NULL) are read by (shard, lane, seq), waiting ones by
-- (shard, due, seq).
CREATE TABLE "{schema}"."{table}_outbox" (
  xid             xid8        NOT NULL DEFAULT pg_current_xact_id(),
  seq             bigint      NOT NULL DEFAULT nextval('"{schema}"."{table}_seq"') PRIMARY KEY,
  id              "{schema}".message_id NOT NULL DEFAULT gen_random_uuid()::text,
  shard           smallint    NOT NULL GENERATED ALWAYS AS ({shard_of}) STORED,
  lane            smallint    NOT NULL GENERATED ALWAYS AS
                              (CASE WHEN key IS NULL THEN priority ELSE 1::smallint END) STORED,
  due             timestamptz,
  retrying        boolean     NOT NULL DEFAULT false,
  attempts        "{schema}".message_count NOT NULL DEFAULT 0,
  failed_for_good integer     NOT NULL DEFAULT 0,
  replays         integer     NOT NULL DEFAULT 0,
  written_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  tenant          text        COLLATE "C" NOT NULL DEFAULT 'default',
  topic           text        COLLATE "C" NOT NULL,
  aggregate_type  text        COLLATE "C" NOT NULL DEFAULT '__GLOBAL__',
  aggregate_id    text        COLLATE "C",
  key             "{schema}".message_key,
  priority        "{schema}".message_priority NOT NULL DEFAULT 1,
  payload         bytea       NOT NULL,
  is_json         boolean     NOT NULL DEFAULT true,
  digest          bytea,
  content_type    text        NOT NULL DEFAULT 'application/json',
  headers         text,
  occurred_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  not_before      timestamptz,
  traceparent     text,
  tracestate      text,
  request_id      text,
  correlation_id  text,
  code            text,
  error           text,
  history         jsonb,
  targets_done    bigint
) WITH (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000,
  autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off
);
ALTER SEQUENCE "{schema}"."{table}_seq" OWNED BY "{schema}"."{table}_outbox".seq;

CREATE UNIQUE INDEX "{table}_outbox_id" ON "{schema}"."{table}_outbox" (id);
CREATE INDEX "{table}_outbox_fresh" ON "{schema}"."{table}_outbox" (shard, lane, seq)
  WHERE due IS NULL;
CREATE INDEX "{table}_outbox_waiting" ON "{schema}"."{table}_outbox" (shard, due, seq)
  WHERE due IS NOT NULL;
CREATE INDEX "{table}_outbox_keys" ON "{schema}"."{table}_outbox" (shard, seq)
  WHERE retrying AND key IS NOT NULL;
-- Whoever has no tenants does not pay for their backlogs.
CREATE INDEX "{table}_outbox_tenant" ON "{schema}"."{table}_outbox" (tenant, seq)
  WHERE tenant <> 'default';

-- Mode competing: which fresh messages without a key are in which shard's hands, whatever shard
-- they were written to. A table of its own, so that the other modes pay nothing for it.
CREATE TABLE "{schema}"."{table}_claim" (
  seq   bigint   PRIMARY KEY,
  shard smallint NOT NULL,
  lane  smallint NOT NULL
) WITH (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000,
  autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off
);
-- Every row is in it. Who does not say so uses the primary key: without statistics the server would
-- walk along this one to look for a sequence.
CREATE INDEX "{table}_claim_shard" ON "{schema}"."{table}_claim" (shard, lane, seq) WHERE lane >= 0;

-- Dead and quarantined messages, under the sequence they had.
CREATE TABLE "{schema}"."{table}_dead" (
  seq             bigint      PRIMARY KEY,
  id              text        COLLATE "C" NOT NULL,
  shard           smallint    NOT NULL,
  state           text        NOT NULL CHECK (state IN ('dead', 'quarantined')),
  ended_at        timestamptz NOT NULL,
  note            text,
  attempts        integer     NOT NULL CHECK (attempts >= 0),
  failed_for_good integer     NOT NULL DEFAULT 0,
  replays         integer     NOT NULL,
  written_at      timestamptz NOT NULL,
  tenant          text        COLLATE "C" NOT NULL,
  topic           text        COLLATE "C" NOT NULL,
  aggregate_type  text        COLLATE "C" NOT NULL,
  aggregate_id    text        COLLATE "C",
  key             text        COLLATE "C",
  priority        smallint    NOT NULL,
  payload         bytea       NOT NULL,
  is_json         boolean     NOT NULL,
  digest          bytea,
  content_type    text        NOT NULL,
  headers         text,
  occurred_at     timestamptz NOT NULL,
  not_before      timestamptz,
  traceparent     text,
  tracestate      text,
  request_id      text,
  correlation_id  text,
  code            text,
  error           text,
  history         jsonb
);
CREATE UNIQUE INDEX "{table}_dead_id" ON "{schema}"."{table}_dead" (id);
CREATE INDEX "{table}_dead_tenant" ON "{schema}"."{table}_dead" (tenant, state, ended_at);
CREATE INDEX "{table}_dead_ended" ON "{schema}"."{table}_dead" (state, ended_at);

-- Delivered messages, as long as they are retained.
CREATE TABLE "{schema}"."{table}_archive" (
  seq             bigint      NOT NULL,
  id              text        COLLATE "C" NOT NULL,
  shard           smallint    NOT NULL,
  ended_at        timestamptz NOT NULL,
  attempts        integer     NOT NULL,
  failed_for_good integer     NOT NULL DEFAULT 0,
  replays         integer     NOT NULL,
  written_at      timestamptz NOT NULL,
  tenant          text        COLLATE "C" NOT NULL,
  topic           text        COLLATE "C" NOT NULL,
  aggregate_type  text        COLLATE "C" NOT NULL,
  aggregate_id    text        COLLATE "C",
  key             text        COLLATE "C",
  priority        smallint    NOT NULL,
  payload         bytea       NOT NULL,
  is_json         boolean     NOT NULL,
  digest          bytea,
  content_type    text        NOT NULL,
  headers         text,
  occurred_at     timestamptz NOT NULL,
  not_before      timestamptz,
  traceparent     text,
  tracestate      text,
  request_id      text,
  correlation_id  text,
  code            text,
  error           text,
  history         jsonb
) PARTITION BY RANGE (ended_at);
CREATE INDEX "{table}_archive_id" ON "{schema}"."{table}_archive" (id);
CREATE INDEX "{table}_archive_by_seq" ON "{schema}"."{table}_archive" (seq);
CREATE INDEX "{table}_archive_ended" ON "{schema}"."{table}_archive" USING brin (ended_at);
CREATE TABLE "{schema}"."{table}_archive_rest" PARTITION OF "{schema}"."{table}_archive" DEFAULT;

INSERT INTO "{schema}".outbox (name, shards) VALUES ('{table}', {shards});
INSERT INTO "{schema}".counter (outbox, name) VALUES ('{table}', 'taken');
SELECT "{schema}".archive_ahead('{table}', 3);
)sql";

constexpr std::string_view first_table_down = R"sql(
DELETE FROM "{schema}".outbox WHERE name = '{table}';
DROP TABLE "{schema}"."{table}_archive", "{schema}"."{table}_dead", "{schema}"."{table}_claim",
           "{schema}"."{table}_outbox";
)sql";

}  // namespace

std::span<const Engine> engines() {
  static const std::array outbox_steps{
      Migration{1, "outbox", first_up, first_down, first_table_up, first_table_down},
      enqueue_step(),
      wake_step(),
      operators_step(),
      rights_step(),
      tenants_step(),
      replays_step(),
  };
  static const std::array idempotency_steps{idempotency_step()};
  static const std::array inbox_steps{inbox_step(), inbox_renewal_step()};
  static const std::array saga_steps{saga_step(), saga_waits_step()};
  static const std::array hub_steps{hub_step(), hub_tenants_step(), hub_requeue_step()};
  static const std::array all{
      Engine{.name = spi::outbox_engine, .record = "migration", .steps = outbox_steps},
      Engine{.name = spi::idempotency_engine,
             .record = "idempotency_migration",
             .steps = idempotency_steps},
      Engine{.name = spi::inbox_engine, .record = "inbox_migration", .steps = inbox_steps},
      Engine{.name = spi::saga_engine, .record = "saga_migration", .steps = saga_steps},
      Engine{.name = spi::hub_engine, .record = "hub_migration", .steps = hub_steps},
  };
  return all;
}

}  // namespace sagabox::postgres
