#include "stores/postgres/operate/schema_steps.hpp"

namespace sagabox::postgres {
namespace {

// In the inbox xid stands before seq: defaults are drawn in this order, and a transaction must show
// in snapshots before it draws a number. What changes all the time is vacuumed as outboxes are.
constexpr std::string_view saga_up = R"sql(
CREATE DOMAIN "{schema}".saga_id AS text COLLATE "C"
  CONSTRAINT up_to_36_printable_characters CHECK (value ~ '^[!-~]+$' AND length(value) <= 36);
CREATE DOMAIN "{schema}".saga_name AS text COLLATE "C"
  CONSTRAINT of_1_to_255_printable_characters
  CHECK (value <> '' AND length(value) <= 255 AND value !~ '[\u0001-\u001f\u007f-\u009f]');

-- For how many shards these tables were made.
CREATE TABLE "{schema}".saga_setting (
  only_one boolean  PRIMARY KEY DEFAULT true CHECK (only_one),
  shards   smallint NOT NULL CHECK (shards > 0)
);
INSERT INTO "{schema}".saga_setting (shards) VALUES ({shards});

-- Definitions as they were registered. The same name and version never gets other content.
CREATE TABLE "{schema}".saga_definition (
  name          text        COLLATE "C" NOT NULL,
  version       integer     NOT NULL,
  digest        bytea       NOT NULL,
  text          text        NOT NULL,
  registered_at timestamptz NOT NULL,
  PRIMARY KEY (name, version)
);

-- One row a saga. Written by the owner of its shard alone, never by hand. Pages keep room for the
-- next version, which needs no entries in the indexes while state and due stay.
CREATE TABLE "{schema}".saga (
  id                 text        COLLATE "C" PRIMARY KEY,
  shard              smallint    NOT NULL GENERATED ALWAYS AS
                     (((hashtextextended(id::text, 0::bigint) & 2147483647::bigint)
                       % {shards}::bigint)::smallint) STORED,
  tenant             text        COLLATE "C" NOT NULL,
  definition         text        COLLATE "C" NOT NULL,
  definition_version integer     NOT NULL,
  state              text        COLLATE "C" NOT NULL
                     CHECK (state IN ('running', 'compensating', 'paused', 'completed',
                                      'cancelled', 'failed')),
  quarantined        boolean     NOT NULL,
  version            bigint      NOT NULL,
  due                timestamptz,
  key                text        COLLATE "C" NOT NULL,
  isolate            text        COLLATE "C" NOT NULL,
  started_at         timestamptz NOT NULL,
  changed_at         timestamptz NOT NULL,
  ended_at           timestamptz,
  body               text        NOT NULL
) WITH (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 50000,
  autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off
);
CREATE INDEX saga_due ON "{schema}".saga (definition, shard, due, id)
  WHERE due IS NOT NULL AND state IN ('running', 'compensating', 'paused');
CREATE UNIQUE INDEX saga_isolated ON "{schema}".saga (definition, tenant, isolate)
  WHERE isolate <> '' AND state IN ('running', 'compensating', 'paused');
CREATE INDEX saga_ended ON "{schema}".saga (definition, ended_at)
  WHERE state IN ('completed', 'cancelled');
CREATE INDEX saga_active ON "{schema}".saga (definition, state, started_at)
  WHERE state IN ('running', 'compensating', 'paused');
CREATE INDEX saga_failed ON "{schema}".saga (id) WHERE state = 'failed';

-- What happened to each saga, line by line.
CREATE TABLE "{schema}".saga_history (
  saga   text        COLLATE "C" NOT NULL,
  number integer     NOT NULL,
  at     timestamptz NOT NULL,
  event  text        COLLATE "C" NOT NULL,
  step   text        COLLATE "C" NOT NULL,
  detail text        NOT NULL,
  hash   bytea       NOT NULL,
  PRIMARY KEY (saga, number)
);

CREATE TABLE "{schema}".saga_label (
  name  text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  saga  text COLLATE "C" NOT NULL,
  PRIMARY KEY (name, value, saga)
);
CREATE INDEX saga_label_saga ON "{schema}".saga_label (saga);

-- What became of commands.
CREATE TABLE "{schema}".saga_command (
  id      text        COLLATE "C" PRIMARY KEY,
  saga    text        COLLATE "C" NOT NULL,
  applied boolean     NOT NULL,
  reason  text        NOT NULL,
  at      timestamptz NOT NULL
);
CREATE INDEX saga_command_saga ON "{schema}".saga_command (saga);
CREATE INDEX saga_command_refused ON "{schema}".saga_command (at) WHERE NOT applied;

-- Commands to sagas. Anyone inserts them, in their own transactions; the owner of the shard reads
-- and deletes them.
CREATE TABLE "{schema}".saga_inbox (
  xid        xid8        NOT NULL DEFAULT pg_current_xact_id(),
  seq        bigint      NOT NULL GENERATED ALWAYS AS IDENTITY (CACHE 1),
  shard      smallint    NOT NULL GENERATED ALWAYS AS
             (((hashtextextended(saga::text, 0::bigint) & 2147483647::bigint)
               % {shards}::bigint)::smallint) STORED,
  id         "{schema}".saga_id   NOT NULL DEFAULT gen_random_uuid()::text,
  saga       "{schema}".saga_id   NOT NULL DEFAULT gen_random_uuid()::text,
  definition "{schema}".saga_name NOT NULL,
  tenant     "{schema}".saga_name NOT NULL DEFAULT 'default',
  kind       text        COLLATE "C" NOT NULL DEFAULT 'start'
             CHECK (kind IN ('start', 'reply', 'signal', 'approve', 'pause', 'resume', 'cancel',
                             'compensate', 'set_step', 'replay', 'quarantine', 'release')),
  body       text        NOT NULL DEFAULT '{}' CHECK (octet_length(body) <= 262144),
  written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (definition, shard, seq)
) WITH (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000,
  autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off
);

-- Owners that sleep are woken as those of an outbox are. After the insert: whoever raised the flag
-- before sees the row or is told, whoever raises it after waits for this transaction to end.
CREATE SEQUENCE "{schema}".saga_commands_flags AS bigint MINVALUE 0 START 0 CACHE 1;
CREATE FUNCTION "{schema}".saga_commands_wake() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  flags CONSTANT bigint := pg_sequence_last_value('"{schema}".saga_commands_flags');
BEGIN
  IF flags & 2147483647 <> 0
     AND flags >> 31 > date_part('epoch', pg_catalog.clock_timestamp())
     AND "{schema}".may_notify() THEN
    PERFORM pg_notify('sagabox {schema}', 'saga_commands');
  END IF;
  RETURN NULL;
END
$body$;
CREATE TRIGGER saga_commands_wake AFTER INSERT ON "{schema}".saga_inbox
  FOR EACH STATEMENT EXECUTE FUNCTION "{schema}".saga_commands_wake();

-- Starts a saga when the transaction of the caller commits. Returns its id, which a key says:
-- started twice by one key it is the same saga. This and the next have the rights of their owner:
-- EXECUTE is all that a caller needs.
CREATE FUNCTION "{schema}".start_saga(
  definition text, input jsonb DEFAULT 'null', key text DEFAULT NULL,
  tenant text DEFAULT 'default', labels jsonb DEFAULT NULL, timeout interval DEFAULT NULL,
  isolate text DEFAULT NULL, version integer DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
#variable_conflict use_variable
DECLARE
  saga text;
BEGIN
  IF key = '' OR length(key) > 255 OR key ~ '[\u0001-\u001f\u007f-\u009f]' THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
      MESSAGE = 'key: give 1 to 255 printable characters, or NULL';
  END IF;
  IF timeout <= interval '0' THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
      MESSAGE = 'timeout: give a time above 0';
  END IF;
  IF jsonb_typeof(labels) <> 'object'
     OR EXISTS (SELECT FROM jsonb_each(CASE jsonb_typeof(labels) WHEN 'object' THEN labels END) AS l
                WHERE jsonb_typeof(l.value) <> 'string') THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
      MESSAGE = 'labels: give a JSON object whose values are strings';
  END IF;
  saga := CASE WHEN key IS NULL THEN "{schema}".new_id()
          ELSE 'k' || left(encode(sha256(convert_to(
                 tenant || E'\n' || definition || E'\n' || key, 'UTF8')), 'hex'), 32) END;
  INSERT INTO "{schema}".saga_inbox (id, saga, definition, tenant, kind, body)
  VALUES ("{schema}".new_id(), saga, definition, tenant, 'start',
          (jsonb_build_object('input', coalesce(input, 'null'))
           || jsonb_strip_nulls(jsonb_build_object(
                'key', key, 'isolate', isolate, 'labels', labels, 'version', version,
                'timeout_ms', ceil(extract(epoch FROM timeout) * 1000)::bigint)))::text);
  RETURN saga;
END
$body$;
REVOKE ALL ON FUNCTION "{schema}".start_saga FROM PUBLIC;

-- A command to a saga that is stored, or that was started and not yet taken up; any other needs to
-- be told whose it is.
CREATE FUNCTION "{schema}".send_to_saga(
  saga text, kind text, body jsonb, tenant text, definition text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
#variable_conflict use_variable
DECLARE
  command CONSTANT text := "{schema}".new_id();
BEGIN
  IF definition IS NULL THEN
    SELECT s.definition INTO definition FROM "{schema}".saga AS s
    WHERE s.id = saga AND s.tenant = tenant;
  END IF;
  IF definition IS NULL THEN
    SELECT i.definition INTO definition FROM "{schema}".saga_inbox AS i
    WHERE i.saga = saga AND i.tenant = tenant AND i.kind = 'start'
    LIMIT 1;
  END IF;
  IF definition IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'no_data_found', MESSAGE = format(
      'saga: tenant %L has no %L; name its definition if it is yet to be started', tenant, saga);
  END IF;
  INSERT INTO "{schema}".saga_inbox (id, saga, definition, tenant, kind, body)
  VALUES (command, saga, definition, tenant, kind, body::text);
  RETURN command;
END
$body$;
REVOKE ALL ON FUNCTION "{schema}".send_to_saga FROM PUBLIC;

-- For a step that waits for a signal of this name; an early one is kept. Returns the id of the
-- command.
CREATE FUNCTION "{schema}".signal_saga(
  saga text, name text, payload jsonb DEFAULT 'null', tenant text DEFAULT 'default',
  definition text DEFAULT NULL) RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
  SELECT "{schema}".send_to_saga(
    $1, 'signal', jsonb_build_object('name', $2, 'payload', coalesce($3, 'null')), $4, $5)
$body$;
REVOKE ALL ON FUNCTION "{schema}".signal_saga FROM PUBLIC;

-- The answer to a call that waits for one: result 'ok', 'retry' or 'fail'.
CREATE FUNCTION "{schema}".reply_to_saga(
  saga text, step text, result text DEFAULT 'ok', output jsonb DEFAULT NULL,
  error text DEFAULT NULL, direction text DEFAULT 'action', round bigint DEFAULT NULL,
  code text DEFAULT NULL, tenant text DEFAULT 'default', definition text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
#variable_conflict use_variable
BEGIN
  IF (result IN ('ok', 'retry', 'fail')) IS NOT TRUE THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
      MESSAGE = format('result: %L; give ''ok'', ''retry'' or ''fail''', result);
  END IF;
  IF (direction IN ('action', 'compensation')) IS NOT TRUE THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
      MESSAGE = format('direction: %L; give ''action'' or ''compensation''', direction);
  END IF;
  RETURN "{schema}".send_to_saga(
    saga, 'reply',
    jsonb_strip_nulls(jsonb_build_object('step', step, 'direction', direction, 'round', round,
                                         'result', result, 'error', error, 'code', code))
    || CASE WHEN output IS NULL THEN '{}' ELSE jsonb_build_object('output', output) END,
    tenant, definition);
END
$body$;
REVOKE ALL ON FUNCTION "{schema}".reply_to_saga FROM PUBLIC;

-- What was done is compensated, and the saga ends as cancelled.
CREATE FUNCTION "{schema}".cancel_saga(
  saga text, note text DEFAULT NULL, actor text DEFAULT NULL, tenant text DEFAULT 'default',
  definition text DEFAULT NULL) RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
  SELECT "{schema}".send_to_saga(
    $1, 'cancel', jsonb_strip_nulls(jsonb_build_object('note', $2, 'actor', $3)), $4, $5)
$body$;
REVOKE ALL ON FUNCTION "{schema}".cancel_saga FROM PUBLIC;
)sql";

constexpr std::string_view saga_down = R"sql(
DROP FUNCTION "{schema}".cancel_saga(text, text, text, text, text),
  "{schema}".reply_to_saga(text, text, text, jsonb, text, text, bigint, text, text, text),
  "{schema}".signal_saga(text, text, jsonb, text, text),
  "{schema}".send_to_saga(text, text, jsonb, text, text),
  "{schema}".start_saga(text, jsonb, text, text, jsonb, interval, text, integer);
DROP TABLE "{schema}".saga_inbox, "{schema}".saga_command, "{schema}".saga_label,
           "{schema}".saga_history, "{schema}".saga, "{schema}".saga_definition,
           "{schema}".saga_setting;
DROP FUNCTION "{schema}".saga_commands_wake();
DROP SEQUENCE "{schema}".saga_commands_flags;
DROP DOMAIN "{schema}".saga_name, "{schema}".saga_id;
)sql";

// For metrics: sagas that wait for an operator, are late or dead are counted without reading all of
// them. Sagas that are held already are found by their body; the next write sets both columns.
constexpr std::string_view saga_waits_up = R"sql(
ALTER TABLE "{schema}".saga
  ADD COLUMN person text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN overdue_from timestamptz;
UPDATE "{schema}".saga SET person = 'decision'
WHERE state IN ('running', 'compensating', 'paused')
  AND (body LIKE '%"state":"held"%' OR body LIKE '%"state":"undo_held"%');
CREATE INDEX saga_person ON "{schema}".saga (definition, person)
  WHERE person <> '' AND state IN ('running', 'compensating', 'paused');
CREATE INDEX saga_dead ON "{schema}".saga (definition)
  WHERE state = 'failed' AND NOT quarantined;
-- To look for those that nothing moves.
CREATE INDEX saga_without_due ON "{schema}".saga (definition, id)
  WHERE due IS NULL AND state IN ('running', 'compensating');
-- What a saga has not been given yet.
CREATE INDEX saga_inbox_saga ON "{schema}".saga_inbox (saga);
)sql";

constexpr std::string_view saga_waits_down = R"sql(
DROP INDEX "{schema}".saga_inbox_saga, "{schema}".saga_without_due, "{schema}".saga_dead,
  "{schema}".saga_person;
ALTER TABLE "{schema}".saga DROP COLUMN person, DROP COLUMN overdue_from;
)sql";

}  // namespace

Migration saga_step() noexcept { return {1, "saga", saga_up, saga_down}; }
Migration saga_waits_step() noexcept { return {2, "saga waits", saga_waits_up, saga_waits_down}; }

}  // namespace sagabox::postgres
