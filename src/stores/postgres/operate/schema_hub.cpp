#include "stores/postgres/operate/schema_steps.hpp"

#include <string>

namespace sagabox::postgres {
namespace {

// In events xid stands before seq: defaults are drawn in this order, and a transaction must show in
// snapshots before it draws a number. What changes all the time is vacuumed as outboxes are.
//
// An index whose predicate every row fulfils is used only by statements that repeat the predicate:
// a statement that looks for single rows must not walk along it, whatever the planner believes of a
// table that was empty when it was last counted.
constexpr std::string_view hub_up = R"sql(
CREATE DOMAIN "{schema}".hub_id AS text COLLATE "C"
  CONSTRAINT of_1_to_36_printable_characters CHECK (value ~ '^[!-~]{1,36}$');

-- For how many shards these tables were made.
CREATE TABLE "{schema}".hub_setting (
  only_one boolean  PRIMARY KEY DEFAULT true CHECK (only_one),
  shards   smallint NOT NULL CHECK (shards > 0)
);
INSERT INTO "{schema}".hub_setting (shards) VALUES ({shards});

-- What happened. Inserted, never changed.
CREATE TABLE "{schema}".hub_event (
  xid            xid8        NOT NULL DEFAULT pg_current_xact_id(),
  seq            bigint      NOT NULL GENERATED ALWAYS AS IDENTITY (CACHE 1),
  shard          smallint    NOT NULL GENERATED ALWAYS AS
                 (((CASE WHEN key = '' THEN hashtextextended(id::text, 0::bigint)
                         ELSE hashtextextended(key, hashtextextended(tenant, 0::bigint)) END
                    & 2147483647::bigint) % {shards}::bigint)::smallint) STORED,
  id             "{schema}".hub_id NOT NULL,
  tenant         text        COLLATE "C" NOT NULL,
  source         text        COLLATE "C" NOT NULL,
  external_id    text        COLLATE "C" NOT NULL,
  type           text        COLLATE "C" NOT NULL,
  key            text        COLLATE "C" NOT NULL,
  is_json        boolean     NOT NULL,
  digest         bytea       NOT NULL,
  aggregate_type text        COLLATE "C" NOT NULL,
  aggregate_id   text        COLLATE "C" NOT NULL,
  priority       smallint    NOT NULL,
  content_type   text        NOT NULL,
  headers        text        NOT NULL,
  occurred_at    timestamptz NOT NULL,
  traceparent    text        NOT NULL,
  tracestate     text        NOT NULL,
  request_id     text        NOT NULL,
  correlation_id text        NOT NULL,
  published_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  payload        bytea       NOT NULL,
  PRIMARY KEY (shard, seq)
) WITH (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0
);
CREATE UNIQUE INDEX hub_event_id ON "{schema}".hub_event (id);
CREATE UNIQUE INDEX hub_event_external ON "{schema}".hub_event (tenant, source, external_id)
  WHERE external_id <> '';

-- Up to where events are routed.
CREATE TABLE "{schema}".hub_position (
  shard    smallint PRIMARY KEY,
  position bigint   NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- Who is told of which events. `change` rises with every write, over all of them: whoever writes
-- holds the counter until it commits.
CREATE TABLE "{schema}".hub_counter (
  only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  change   bigint  NOT NULL DEFAULT 0
);
INSERT INTO "{schema}".hub_counter DEFAULT VALUES;
CREATE TABLE "{schema}".hub_subscription (
  id           "{schema}".hub_id PRIMARY KEY,
  tenant       text        COLLATE "C" NOT NULL,
  name         text        COLLATE "C" NOT NULL,
  state        text        COLLATE "C" NOT NULL
               CHECK (state IN ('unverified', 'active', 'paused', 'disabled')),
  types        text        NOT NULL CHECK (types::json IS NOT NULL),
  target       text        NOT NULL,
  settings     text        NOT NULL,
  reason       text        NOT NULL,
  active_since timestamptz,
  version      bigint      NOT NULL,
  change       bigint      NOT NULL UNIQUE,
  created_at   timestamptz NOT NULL,
  changed_at   timestamptz NOT NULL
);

-- What requests are signed with, sealed.
CREATE TABLE "{schema}".hub_secret (
  subscription text        COLLATE "C" NOT NULL,
  number       integer     NOT NULL,
  sealed       text        NOT NULL,
  created_at   timestamptz NOT NULL,
  expires_at   timestamptz,
  PRIMARY KEY (subscription, number)
);

-- Events on their way to subscriptions. Inserted by the router, changed by the owner alone.
CREATE TABLE "{schema}".hub_delivery (
  seq             bigint      NOT NULL GENERATED ALWAYS AS IDENTITY (CACHE 1),
  id              text        COLLATE "C" PRIMARY KEY,
  event           text        COLLATE "C" NOT NULL,
  subscription    text        COLLATE "C" NOT NULL,
  generation      integer     NOT NULL CHECK (generation >= 0),
  tenant          text        COLLATE "C" NOT NULL,
  type            text        COLLATE "C" NOT NULL,
  key             text        COLLATE "C" NOT NULL,
  shard           smallint    NOT NULL,
  state           text        COLLATE "C" NOT NULL DEFAULT 'pending'
                  CHECK (state IN ('pending', 'waiting', 'in_progress', 'completed', 'dead')),
  attempt         integer     NOT NULL DEFAULT 0,
  failures        integer     NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL,
  created_at      timestamptz NOT NULL,
  ended_at        timestamptz,
  correlation_id  text        NOT NULL,
  code            text        COLLATE "C" NOT NULL DEFAULT '',
  error           text        NOT NULL DEFAULT '',
  status          integer     NOT NULL DEFAULT 0,
  UNIQUE (event, subscription, generation)
) WITH (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 50000,
  autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX hub_delivery_pending
  ON "{schema}".hub_delivery (shard, subscription, next_attempt_at, seq) WHERE state = 'pending';
CREATE INDEX hub_delivery_waiting
  ON "{schema}".hub_delivery (shard, subscription, seq) WHERE state = 'waiting';
CREATE INDEX hub_delivery_in_progress
  ON "{schema}".hub_delivery (shard, id) WHERE state = 'in_progress';
CREATE INDEX hub_delivery_key ON "{schema}".hub_delivery (subscription, key, seq)
  WHERE key <> '' AND state IN ('pending', 'waiting', 'in_progress');
-- One at a time of a key. Nothing but the same words imply the condition, so that a look for the one
-- under way is led into no other index, and no other look into this one.
CREATE UNIQUE INDEX hub_delivery_key_in_progress ON "{schema}".hub_delivery (subscription, key)
  WHERE CASE WHEN state = 'in_progress' THEN key <> '' ELSE false END;
CREATE INDEX hub_delivery_completed ON "{schema}".hub_delivery (ended_at)
  WHERE state = 'completed';
CREATE INDEX hub_delivery_dead ON "{schema}".hub_delivery (ended_at) WHERE state = 'dead';
CREATE INDEX hub_delivery_seq ON "{schema}".hub_delivery (seq) WHERE generation >= 0;
CREATE INDEX hub_delivery_of ON "{schema}".hub_delivery (subscription, seq) WHERE generation >= 0;

-- What dead deliveries would have brought.
CREATE TABLE "{schema}".hub_dead (
  delivery       text        COLLATE "C" PRIMARY KEY,
  seq            bigint      NOT NULL,
  shard          smallint    NOT NULL,
  id             text        COLLATE "C" NOT NULL,
  tenant         text        COLLATE "C" NOT NULL,
  source         text        COLLATE "C" NOT NULL,
  external_id    text        COLLATE "C" NOT NULL,
  type           text        COLLATE "C" NOT NULL,
  key            text        COLLATE "C" NOT NULL,
  is_json        boolean     NOT NULL,
  digest         bytea       NOT NULL,
  aggregate_type text        COLLATE "C" NOT NULL,
  aggregate_id   text        COLLATE "C" NOT NULL,
  priority       smallint    NOT NULL,
  content_type   text        NOT NULL,
  headers        text        NOT NULL,
  occurred_at    timestamptz NOT NULL,
  traceparent    text        NOT NULL,
  tracestate     text        NOT NULL,
  request_id     text        NOT NULL,
  correlation_id text        NOT NULL,
  published_at   timestamptz NOT NULL,
  payload        bytea       NOT NULL
);

-- Attempts of deliveries. Inserted by the owner, changed by workers and the cleaner of leases.
CREATE TABLE "{schema}".hub_job (
  delivery     text        COLLATE "C" NOT NULL,
  attempt      integer     NOT NULL,
  shard        smallint    NOT NULL,
  subscription text        COLLATE "C" NOT NULL,
  state        text        COLLATE "C" NOT NULL DEFAULT 'pending'
               CHECK (state IN ('pending', 'leased', 'completed', 'failed')),
  attempt_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  resets       integer     NOT NULL DEFAULT 0,
  worker       text        NOT NULL DEFAULT '',
  token        text        COLLATE "C" NOT NULL DEFAULT '',
  lease_until  timestamptz,
  ended_at     timestamptz,
  seen         boolean     NOT NULL DEFAULT false,
  code         text        COLLATE "C" NOT NULL DEFAULT '',
  error        text        NOT NULL DEFAULT '',
  status       integer     NOT NULL DEFAULT 0,
  answer       bytea       NOT NULL DEFAULT '',
  retry_after  bigint,
  took         bigint      NOT NULL DEFAULT 0,
  PRIMARY KEY (delivery, attempt)
) WITH (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 50000,
  autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX hub_job_pending ON "{schema}".hub_job (attempt_at, delivery, attempt)
  WHERE state = 'pending';
CREATE INDEX hub_job_leased ON "{schema}".hub_job (lease_until) WHERE state = 'leased';
CREATE INDEX hub_job_unseen ON "{schema}".hub_job (shard, ended_at, delivery, attempt)
  WHERE ended_at IS NOT NULL AND NOT seen;
CREATE INDEX hub_job_seen ON "{schema}".hub_job (ended_at) WHERE seen;
CREATE INDEX hub_job_of ON "{schema}".hub_job (subscription, ended_at) WHERE ended_at IS NOT NULL;

-- Who sleeps is woken as the owners of an outbox are. After the write: whoever raised the flag
-- before sees the row or is told, whoever raises it after waits for this transaction to end.
CREATE SEQUENCE "{schema}".hub_events_flags AS bigint MINVALUE 0 START 0 CACHE 1;
CREATE SEQUENCE "{schema}".hub_deliveries_flags AS bigint MINVALUE 0 START 0 CACHE 1;
CREATE SEQUENCE "{schema}".hub_jobs_flags AS bigint MINVALUE 0 START 0 CACHE 1;
-- Its arguments: the flags, and the name of the feed.
CREATE FUNCTION "{schema}".hub_wake() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  flags CONSTANT bigint := pg_sequence_last_value(TG_ARGV[0]::regclass);
BEGIN
  IF flags & 2147483647 <> 0
     AND flags >> 31 > date_part('epoch', pg_catalog.clock_timestamp())
     AND "{schema}".may_notify() THEN
    PERFORM pg_notify('sagabox {schema}', TG_ARGV[1]);
  END IF;
  RETURN NULL;
END
$body$;
CREATE TRIGGER hub_event_wake AFTER INSERT ON "{schema}".hub_event FOR EACH STATEMENT
  EXECUTE FUNCTION "{schema}".hub_wake('"{schema}".hub_events_flags', 'hub:events');
CREATE TRIGGER hub_delivery_wake AFTER INSERT ON "{schema}".hub_delivery FOR EACH STATEMENT
  EXECUTE FUNCTION "{schema}".hub_wake('"{schema}".hub_deliveries_flags', 'hub:deliveries');
CREATE TRIGGER hub_subscription_wake AFTER INSERT OR UPDATE ON "{schema}".hub_subscription
  FOR EACH STATEMENT
  EXECUTE FUNCTION "{schema}".hub_wake('"{schema}".hub_deliveries_flags', 'hub:deliveries');
CREATE TRIGGER hub_job_ended AFTER UPDATE OF ended_at ON "{schema}".hub_job FOR EACH STATEMENT
  EXECUTE FUNCTION "{schema}".hub_wake('"{schema}".hub_deliveries_flags', 'hub:deliveries');
CREATE TRIGGER hub_job_wake AFTER INSERT ON "{schema}".hub_job FOR EACH STATEMENT
  EXECUTE FUNCTION "{schema}".hub_wake('"{schema}".hub_jobs_flags', 'hub:jobs');

-- A batch of which one event is refused takes back what it has inserted. Only what its own
-- transaction has: nobody needs DELETE for it.
CREATE FUNCTION "{schema}".hub_unpublish(ids text[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
  WITH gone AS (
    DELETE FROM "{schema}".hub_event
    WHERE id = ANY (ids) AND xid = pg_current_xact_id()
    RETURNING 1
  )
  SELECT count(*) FROM gone
$body$;
REVOKE ALL ON FUNCTION "{schema}".hub_unpublish FROM PUBLIC;
)sql";

// What SQL users have. Everything has the rights of its owner: EXECUTE is all that a caller needs.
constexpr std::string_view hub_functions_up = R"sql(
-- What a published event became. With `duplicate` it was known, nothing was inserted, and the id is
-- the first one's.
CREATE TYPE "{schema}".published AS (id text, duplicate boolean);

-- What is wrong with a payload that is to be JSON; NULL when nothing is. Stricter than json in what
-- the library refuses, too: escapes of lone surrogates, more than 512 levels.
CREATE FUNCTION "{schema}".hub_json_problem(payload text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  levels text;
BEGIN
  BEGIN
    PERFORM replace(payload, '\u0000', '\u0001')::jsonb;
  EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    -- Not the server's own text, which quotes the payload.
    RETURN 'payload: not JSON; give one JSON value (RFC 8259), or a bytea for bytes';
  END;
  levels := regexp_replace(regexp_replace(payload, '"([^"\\]|\\.)*"', '', 'g'),
                           '[^]{}[]', '', 'g');
  FOR level IN 1 .. 512 LOOP
    IF levels = '' THEN RETURN NULL; END IF;
    levels := replace(replace(levels, '[]', ''), '{}', '');
  END LOOP;
  RETURN CASE WHEN levels <> '' THEN 'payload: nested deeper than 512 levels' END;
END
$body$;

-- Publishes one event when the transaction of the caller commits.
CREATE FUNCTION "{schema}".hub_publish(
  type text, payload bytea, is_json boolean, key text, external_id text, source text, tenant text,
  headers jsonb, content_type text, occurred_at timestamptz, aggregate_type text,
  aggregate_id text, priority integer, traceparent text, tracestate text, request_id text,
  correlation_id text) RETURNS "{schema}".published
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
#variable_conflict use_variable
DECLARE
  id      text := "{schema}".new_id();
  problem text;
  known   record;
BEGIN
  problem := coalesce(
    "{schema}".message_problem(
      NULL, type, payload, key, tenant, aggregate_type, aggregate_id, priority, headers,
      content_type, occurred_at, NULL, NULL, traceparent, tracestate, request_id, correlation_id),
    "{schema}".text_problem('source', source, 255),
    "{schema}".text_problem('external_id', external_id, 255),
    CASE WHEN source = 'hub'
         THEN 'source: "hub" is the hub itself; name who publishes the event'
         WHEN starts_with(type, 'hub.')
         THEN 'type: types that begin with "hub." are of the hub itself; choose another' END,
    CASE WHEN is_json THEN "{schema}".hub_json_problem(convert_from(payload, 'UTF8')) END);
  IF problem IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
      MESSAGE = regexp_replace(problem, '^topic:', 'type:');
  END IF;
  source      := coalesce(source, '');
  external_id := coalesce(external_id, '');
  INSERT INTO "{schema}".hub_event AS e (
    id, tenant, source, external_id, type, key, is_json, digest, aggregate_type, aggregate_id,
    priority, content_type, headers, occurred_at, traceparent, tracestate, request_id,
    correlation_id, payload)
  VALUES (
    id, tenant, source, external_id, type, coalesce(key, ''), is_json, sha256(payload),
    aggregate_type, coalesce(aggregate_id, ''), priority,
    coalesce(nullif(content_type, ''), CASE WHEN is_json THEN 'application/json'
                                            ELSE 'application/octet-stream' END),
    coalesce(nullif(headers::text, '{}'), ''), coalesce(occurred_at, clock_timestamp()),
    coalesce(traceparent, ''), coalesce(tracestate, ''), coalesce(request_id, ''),
    coalesce(correlation_id, ''), payload)
  ON CONFLICT DO NOTHING;
  IF FOUND THEN RETURN ROW(id, false)::"{schema}".published; END IF;
  -- After the insert: this statement sees what was committed meanwhile.
  SELECT e.id, e.type, e.digest INTO known
  FROM "{schema}".hub_event AS e
  WHERE e.tenant = tenant AND e.source = source AND e.external_id = external_id
    AND e.external_id <> '';
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'serialization_failure', MESSAGE = format(
      'external_id: the event %s was published or removed at the same moment; roll back and try '
      'again', external_id);
  END IF;
  IF known.type <> type OR known.digest <> sha256(payload) THEN
    RAISE EXCEPTION USING ERRCODE = 'unique_violation', MESSAGE = format(
      'external_id: an event with %L of source %L was published with another type or payload; '
      'another event needs another id', external_id, source);
  END IF;
  RETURN ROW(known.id, true)::"{schema}".published;
END
$body$;
REVOKE ALL ON FUNCTION "{schema}".hub_publish FROM PUBLIC;

-- JSON is stored as it is written: as text or json byte for byte, jsonb as the server prints it.
DO $make$
DECLARE
  payload record;
BEGIN
  FOR payload IN
    SELECT * FROM (VALUES ('text', 'convert_to($2, ''UTF8'')', true),
                          ('json', 'convert_to($2::text, ''UTF8'')', true),
                          ('jsonb', 'convert_to($2::text, ''UTF8'')', true),
                          ('bytea', '$2', false)) AS v(type, bytes, is_json)
  LOOP
    EXECUTE format($create$
CREATE FUNCTION "{schema}".publish_event(
  type text, payload %1$s, key text DEFAULT NULL, external_id text DEFAULT NULL,
  source text DEFAULT NULL, tenant text DEFAULT 'default', headers jsonb DEFAULT NULL,
  content_type text DEFAULT NULL, occurred_at timestamptz DEFAULT NULL,
  aggregate_type text DEFAULT '__GLOBAL__', aggregate_id text DEFAULT NULL,
  priority integer DEFAULT 1, traceparent text DEFAULT NULL, tracestate text DEFAULT NULL,
  request_id text DEFAULT NULL, correlation_id text DEFAULT NULL) RETURNS "{schema}".published
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $call$
  SELECT "{schema}".hub_publish(
    $1, %2$s, %3$L, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
$call$;
REVOKE ALL ON FUNCTION "{schema}".publish_event(
  text, %1$s, text, text, text, text, jsonb, text, timestamptz, text, text, integer, text, text,
  text, text) FROM PUBLIC;
$create$, payload.type, payload.bytes, payload.is_json);
  END LOOP;
END
$make$;
)sql";

// Step 3 replaces it.
constexpr std::string_view requeue_up = R"sql(
-- Sends a dead delivery once more: inserts its next generation, due at once and last in its key.
-- Returns the id of that; repeated, it finds it. With a tenant, only this one's are found.
CREATE FUNCTION "{schema}".requeue(delivery text, tenant text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
#variable_conflict use_variable
DECLARE
  dead "{schema}".hub_delivery;
  made text;
BEGIN
  SELECT d.* INTO dead FROM "{schema}".hub_delivery AS d
  WHERE d.id = delivery AND (tenant IS NULL OR d.tenant = tenant);
  IF dead.state IS DISTINCT FROM 'dead' THEN
    RAISE EXCEPTION USING ERRCODE = 'no_data_found', MESSAGE = format(
      'delivery: there is no dead one %L; only dead deliveries are sent again', delivery);
  END IF;
  made := 'd' || left(encode(sha256(convert_to(
    dead.event || ' ' || dead.subscription || ' ' || (dead.generation + 1), 'UTF8')), 'hex'), 32);
  INSERT INTO "{schema}".hub_delivery (
    id, event, subscription, generation, tenant, type, key, shard, correlation_id,
    next_attempt_at, created_at)
  VALUES (made, dead.event, dead.subscription, dead.generation + 1, dead.tenant, dead.type,
          dead.key, dead.shard, dead.correlation_id, clock_timestamp(), clock_timestamp())
  ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    PERFORM FROM "{schema}".hub_delivery AS d WHERE d.id = made AND d.state = 'dead';
    IF FOUND THEN
      RAISE EXCEPTION USING ERRCODE = 'no_data_found', MESSAGE = format(
        'delivery: %L was sent again and died again as %L; send that one', delivery, made);
    END IF;
  END IF;
  RETURN made;
END
$body$;
REVOKE ALL ON FUNCTION "{schema}".requeue FROM PUBLIC;
)sql";

constexpr std::string_view hub_down = R"sql(
DROP FUNCTION "{schema}".requeue(text, text);
DROP FUNCTION "{schema}".publish_event(
  text, text, text, text, text, text, jsonb, text, timestamptz, text, text, integer, text, text,
  text, text);
DROP FUNCTION "{schema}".publish_event(
  text, json, text, text, text, text, jsonb, text, timestamptz, text, text, integer, text, text,
  text, text);
DROP FUNCTION "{schema}".publish_event(
  text, jsonb, text, text, text, text, jsonb, text, timestamptz, text, text, integer, text, text,
  text, text);
DROP FUNCTION "{schema}".publish_event(
  text, bytea, text, text, text, text, jsonb, text, timestamptz, text, text, integer, text, text,
  text, text);
DROP FUNCTION "{schema}".hub_publish, "{schema}".hub_json_problem(text),
  "{schema}".hub_unpublish(text[]);
DROP TYPE "{schema}".published;
DROP TABLE "{schema}".hub_job, "{schema}".hub_dead, "{schema}".hub_delivery,
           "{schema}".hub_secret, "{schema}".hub_subscription, "{schema}".hub_counter,
           "{schema}".hub_position, "{schema}".hub_event, "{schema}".hub_setting;
DROP FUNCTION "{schema}".hub_wake();
DROP SEQUENCE "{schema}".hub_events_flags, "{schema}".hub_deliveries_flags,
              "{schema}".hub_jobs_flags;
DROP DOMAIN "{schema}".hub_id;
)sql";

// Deliveries of a tenant are found by its subscriptions: an index of deliveries by tenant would add
// a fifth to the cost of each. Nothing but a tenant implies the condition, so that no look for an
// id alone is led into this index.
constexpr std::string_view hub_tenants_up = R"sql(
CREATE INDEX hub_subscription_tenant ON "{schema}".hub_subscription (tenant, id)
  WHERE tenant IS NOT NULL;
-- The dead stay for as long as nobody removes them: they are listed and counted by themselves.
CREATE INDEX hub_delivery_dead_seq ON "{schema}".hub_delivery (seq) WHERE state = 'dead';
CREATE INDEX hub_delivery_dead_of ON "{schema}".hub_delivery (subscription, seq)
  WHERE state = 'dead';
-- The last success and the first failure of an endpoint are found at once.
DROP INDEX "{schema}".hub_job_of;
CREATE INDEX hub_job_of ON "{schema}".hub_job (subscription, state, ended_at)
  WHERE ended_at IS NOT NULL;
CREATE INDEX hub_secret_expires ON "{schema}".hub_secret (expires_at)
  WHERE expires_at IS NOT NULL;
)sql";

constexpr std::string_view hub_tenants_down = R"sql(
DROP INDEX "{schema}".hub_secret_expires, "{schema}".hub_job_of,
           "{schema}".hub_delivery_dead_of, "{schema}".hub_delivery_dead_seq,
           "{schema}".hub_subscription_tenant;
CREATE INDEX hub_job_of ON "{schema}".hub_job (subscription, ended_at) WHERE ended_at IS NOT NULL;
)sql";

}  // namespace

Migration hub_step() {
  static const std::string up =
      std::string(hub_up) + std::string(hub_functions_up) + std::string(requeue_up);
  return {1, "hub", up, hub_down};
}

Migration hub_tenants_step() noexcept { return {2, "tenants", hub_tenants_up, hub_tenants_down}; }

std::string_view hub_first_requeue() noexcept { return requeue_up; }

}  // namespace sagabox::postgres
