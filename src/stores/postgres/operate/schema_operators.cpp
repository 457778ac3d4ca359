#include "stores/postgres/operate/schema_steps.hpp"

namespace sagabox::postgres {
namespace {

constexpr std::string_view operators_up = R"sql(
-- A payload as text, where it is JSON and the database can show it.
CREATE FUNCTION "{schema}".payload_text(payload bytea, is_json boolean) RETURNS text
LANGUAGE plpgsql STABLE AS $body$
BEGIN
  RETURN CASE WHEN is_json THEN convert_from(payload, 'UTF8') END;
EXCEPTION WHEN data_exception THEN
  RETURN NULL;
END
$body$;

-- What keeps old row versions from being vacuumed, the worst of each kind. Sessions of other users
-- show only to members of pg_read_all_stats.
CREATE FUNCTION "{schema}".horizon_holders(
  OUT kind text, OUT holder text, OUT seconds double precision, OUT transactions bigint)
RETURNS SETOF record
LANGUAGE sql STABLE AS $body$
  (SELECT 'transaction', a.pid::text,
          date_part('epoch', pg_catalog.clock_timestamp() - a.xact_start),
          age(coalesce(a.backend_xmin, a.backend_xid))::bigint
   FROM pg_stat_activity AS a
   WHERE a.xact_start IS NOT NULL AND a.pid <> pg_backend_pid()
     AND coalesce(a.backend_xmin, a.backend_xid) IS NOT NULL
     AND a.backend_type NOT IN ('walsender', 'autovacuum worker')
     AND a.pid NOT IN (SELECT v.pid FROM pg_stat_progress_vacuum AS v)
   ORDER BY a.xact_start
   LIMIT 1)
  UNION ALL
  (SELECT 'prepared', p.gid, date_part('epoch', pg_catalog.clock_timestamp() - p.prepared),
          age(p.transaction)::bigint
   FROM pg_prepared_xacts AS p
   ORDER BY p.prepared
   LIMIT 1)
  UNION ALL
  (SELECT 'slot', s.slot_name::text, NULL,
          greatest(age(s.xmin), age(s.catalog_xmin))::bigint
   FROM pg_replication_slots AS s
   WHERE coalesce(s.xmin, s.catalog_xmin) IS NOT NULL
   ORDER BY 4 DESC
   LIMIT 1)
$body$;

-- Turns a row change into a message. Arguments: topic, key column or '', columns or '{}', outbox.
CREATE FUNCTION "{schema}".row_changed() RETURNS trigger
LANGUAGE plpgsql AS $body$
DECLARE
  columns CONSTANT text[] := TG_ARGV[2];
  before  jsonb;
  after   jsonb;
  event   text;
BEGIN
  IF TG_OP <> 'INSERT' THEN before := to_jsonb(OLD); END IF;
  IF TG_OP <> 'DELETE' THEN after := to_jsonb(NEW); END IF;
  event := CASE TG_OP WHEN 'INSERT' THEN 'inserted' WHEN 'UPDATE' THEN 'updated'
                      ELSE 'deleted' END;
  DECLARE
    key_value CONSTANT text := coalesce(after, before) ->> TG_ARGV[1];
  BEGIN
    IF cardinality(columns) > 0 THEN
      SELECT jsonb_object_agg(c, before -> c) FILTER (WHERE before IS NOT NULL),
             jsonb_object_agg(c, after -> c) FILTER (WHERE after IS NOT NULL)
      INTO before, after
      FROM unnest(columns) AS c;
    END IF;
    IF before = after THEN RETURN NULL; END IF;
    PERFORM "{schema}".enqueue(
      topic => replace(TG_ARGV[0], '{event}', event),
      payload => jsonb_build_object('event', event, 'schema', TG_TABLE_SCHEMA,
                                    'table', TG_TABLE_NAME, 'old', before, 'new', after),
      key => key_value, outbox => TG_ARGV[3]);
  END;
  RETURN NULL;
END
$body$;

-- From now on every change of a row of `of_table` is a message in the same transaction. Called
-- again for the same table and outbox, the new settings hold. `key_column`: the primary key unless
-- given, '' for none; `columns`: all unless given; {event} in the topic is inserted, updated or
-- deleted.
CREATE FUNCTION "{schema}".watch_table(
  of_table regclass, topic text, key_column text DEFAULT NULL,
  events text[] DEFAULT '{insert,update,delete}', columns text[] DEFAULT NULL,
  outbox text DEFAULT 'default') RETURNS void
LANGUAGE plpgsql AS $body$
DECLARE
  known   CONSTANT text[] := ARRAY(
    SELECT a.attname::text FROM pg_attribute AS a
    WHERE a.attrelid = of_table AND a.attnum > 0 AND NOT a.attisdropped);
  missing text;
  problem text;
BEGIN
  IF NOT EXISTS (SELECT FROM "{schema}".outbox AS o WHERE o.name = watch_table.outbox) THEN
    RAISE EXCEPTION USING ERRCODE = 'undefined_table', MESSAGE =
      format('outbox: there is no %L in schema {schema}; make it first', outbox);
  END IF;
  IF (SELECT c.relkind NOT IN ('r', 'p') FROM pg_class AS c WHERE c.oid = of_table) THEN
    RAISE EXCEPTION USING ERRCODE = 'wrong_object_type', MESSAGE =
      format('of_table: %s is no table; name one whose rows change', of_table);
  END IF;
  -- Reads do not wait for whoever settles: that must not write messages.
  IF EXISTS (
    SELECT FROM pg_class AS c
    WHERE c.oid = of_table AND c.relnamespace = '"{schema}"'::regnamespace
      AND (c.relname IN ('migration', 'outbox', 'worker', 'scope', 'member', 'shard_owner', 'pause',
                         'counter', 'replay_job', 'audit_log', 'audit_head')
           OR EXISTS (SELECT FROM "{schema}".outbox AS o
                      WHERE c.relname ~ ('^' || o.name || '_(outbox|claim|dead|archive|'
                                         || 'archive_rest|a[0-9]{8})$'))))
  THEN
    RAISE EXCEPTION USING ERRCODE = 'wrong_object_type', MESSAGE =
      format('of_table: %s is a table of sagabox; name one of your own', of_table);
  END IF;
  IF key_column IS NULL THEN
    SELECT min(a.attname) INTO key_column
    FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = of_table AND a.attnum = ANY (i.indkey)
    WHERE i.indrelid = of_table AND i.indisprimary
    HAVING count(*) = 1;
    IF key_column IS NULL THEN
      RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE =
        format('key_column: %s has no primary key of one column; name the column whose rows keep '
               'their order, or '''' for none', of_table);
    END IF;
  END IF;
  SELECT c INTO missing
  FROM unnest(array_prepend(nullif(key_column, ''), columns)) AS c
  WHERE c <> ALL (known) LIMIT 1;
  IF missing IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'undefined_column', MESSAGE =
      format('%L is no column of %s; it has %s', missing, of_table,
             array_to_string(known, ', '));
  END IF;
  IF (cardinality(events) > 0 AND events <@ '{insert,update,delete}') IS NOT TRUE THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE =
      'events: give one or more of insert, update and delete';
  END IF;
  problem := "{schema}".text_problem('topic', replace(topic, '{event}', 'inserted'), 128, false);
  IF problem IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = problem;
  END IF;
  PERFORM "{schema}".unwatch_table(of_table, outbox);
  EXECUTE format(
    'CREATE TRIGGER %I AFTER %s ON %s FOR EACH ROW '
    'EXECUTE FUNCTION "{schema}".row_changed(%L, %L, %L, %L)',
    'sagabox_watch_' || outbox,
    (SELECT string_agg(DISTINCT e, ' OR ') FROM unnest(events) AS e), of_table, topic, key_column,
    coalesce(columns, '{}')::text, outbox);
END
$body$;

-- Whether it was watched.
CREATE FUNCTION "{schema}".unwatch_table(of_table regclass, outbox text DEFAULT 'default')
RETURNS boolean
LANGUAGE plpgsql AS $body$
DECLARE
  name CONSTANT text := 'sagabox_watch_' || outbox;
BEGIN
  IF NOT EXISTS (
    SELECT FROM pg_trigger AS t
    WHERE t.tgrelid = of_table AND t.tgname = name
      AND t.tgfoid = '"{schema}".row_changed()'::regprocedure) THEN
    RETURN false;
  END IF;
  EXECUTE format('DROP TRIGGER %I ON %s', name, of_table);
  RETURN true;
END
$body$;
)sql";

// The triggers are dropped too: they would fail without their function.
constexpr std::string_view operators_down = R"sql(
DROP FUNCTION "{schema}".watch_table, "{schema}".unwatch_table,
  "{schema}".horizon_holders, "{schema}".payload_text;
DROP FUNCTION "{schema}".row_changed() CASCADE;
)sql";

constexpr std::string_view operators_table_up = R"sql(
-- For people: every message, where it stands, newest state in words.
CREATE VIEW "{schema}"."{table}_messages" AS
SELECT CASE WHEN m.due IS NULL THEN 'pending' WHEN m.retrying THEN 'retrying' ELSE 'waiting' END
         AS state,
       m.seq, m.id, m.tenant, m.topic, m.key, m.aggregate_type, m.aggregate_id, m.attempts,
       m.replays, m.written_at, pg_catalog.clock_timestamp() - m.written_at AS age, m.due,
       NULL::timestamptz AS ended_at, m.code, m.error, NULL::text AS note, m.headers,
       octet_length(m.payload) AS payload_bytes,
       "{schema}".payload_text(m.payload, m.is_json) AS payload
FROM "{schema}"."{table}_outbox" AS m
UNION ALL
SELECT m.state, m.seq, m.id, m.tenant, m.topic, m.key, m.aggregate_type, m.aggregate_id,
       m.attempts, m.replays, m.written_at, pg_catalog.clock_timestamp() - m.written_at, NULL,
       m.ended_at, m.code, m.error, m.note, m.headers, octet_length(m.payload),
       "{schema}".payload_text(m.payload, m.is_json)
FROM "{schema}"."{table}_dead" AS m
UNION ALL
SELECT 'done', m.seq, m.id, m.tenant, m.topic, m.key, m.aggregate_type, m.aggregate_id,
       m.attempts, m.replays, m.written_at, pg_catalog.clock_timestamp() - m.written_at, NULL,
       m.ended_at, m.code, m.error, NULL, m.headers, octet_length(m.payload),
       "{schema}".payload_text(m.payload, m.is_json)
FROM "{schema}"."{table}_archive" AS m;
)sql";

constexpr std::string_view operators_table_down = R"sql(
DO $body$
DECLARE
  watched regclass;
BEGIN
  FOR watched IN
    SELECT t.tgrelid FROM pg_trigger AS t
    WHERE t.tgname = 'sagabox_watch_{table}'
      AND t.tgfoid = '"{schema}".row_changed()'::regprocedure
  LOOP
    PERFORM "{schema}".unwatch_table(watched, '{table}');
  END LOOP;
END
$body$;
DROP VIEW "{schema}"."{table}_messages";
)sql";

}  // namespace

Migration operators_step() noexcept {
  return {4, "operators", operators_up, operators_down, operators_table_up, operators_table_down};
}

}  // namespace sagabox::postgres
