#include "stores/postgres/schema_steps.hpp"

namespace sagabox::postgres {
namespace {

constexpr std::string_view up = R"sql(
-- What a written message became. With `duplicate` the id was there already, nothing was inserted,
-- and `sequence` is the first one's.
CREATE TYPE "{schema}".written AS (id text, sequence bigint, duplicate boolean);

-- A ULID: ten digits of milliseconds, then the microseconds within, then chance. Ids grow, so that
-- their index grows at one end.
CREATE FUNCTION "{schema}".new_id() RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
  digits CONSTANT text COLLATE "C" := '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  us     bigint  := date_part('epoch', clock_timestamp()) * 1000000;
  high   integer := (us / 1000) >> 25;
  low    integer := (us / 1000) & 33554431;
  chance text    COLLATE "C" := gen_random_uuid();
BEGIN
  RETURN substr(digits, (high >> 20 & 31) + 1, 1) || substr(digits, (high >> 15 & 31) + 1, 1)
      || substr(digits, (high >> 10 & 31) + 1, 1) || substr(digits, (high >> 5 & 31) + 1, 1)
      || substr(digits, (high & 31) + 1, 1)       || substr(digits, (low >> 20 & 31) + 1, 1)
      || substr(digits, (low >> 15 & 31) + 1, 1)  || substr(digits, (low >> 10 & 31) + 1, 1)
      || substr(digits, (low >> 5 & 31) + 1, 1)   || substr(digits, (low & 31) + 1, 1)
      || upper(substr(to_hex(us % 1000 + 4096), 2) || left(chance, 8) || right(chance, 5));
END
$body$;

-- What is wrong with one text of a message, and what would be right; NULL when nothing is.
CREATE FUNCTION "{schema}".text_problem(field text, value text, length_max integer,
                                        may_be_empty boolean DEFAULT true) RETURNS text
LANGUAGE sql IMMUTABLE AS $body$
  SELECT CASE
    WHEN coalesce(value, '') = '' THEN
      CASE WHEN NOT may_be_empty
           THEN format('%s: empty; give 1 to %s printable characters', field, length_max) END
    WHEN length(value) > length_max THEN
      format('%s: %s characters, at most %s are allowed', field, length(value), length_max)
    WHEN value ~ '[\u0001-\u001f\u007f-\u009f]' THEN
      format('%s: has a control character; only printable characters are allowed', field)
  END
$body$;

-- The same for headers.
CREATE FUNCTION "{schema}".headers_problem(headers jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $body$
DECLARE
  bytes   bigint := 0;
  problem text;
  entry   record;
BEGIN
  IF headers IS NULL THEN RETURN NULL; END IF;
  IF jsonb_typeof(headers) <> 'object' THEN
    RETURN 'headers: not a JSON object; give {"name": "value"}';
  END IF;
  FOR entry IN SELECT h.key AS name, h.value ->> 0 AS text_value, h.value
               FROM (SELECT key, jsonb_build_array(value) AS value FROM jsonb_each(headers)) AS h
  LOOP
    IF entry.name = '' THEN
      RETURN 'headers: a name is empty; every header needs a name';
    END IF;
    IF jsonb_typeof(entry.value -> 0) <> 'string' THEN
      RETURN format('headers: the value of %I is no string; values are strings', entry.name);
    END IF;
    IF entry.name || entry.text_value ~ '[\u0001-\u001f\u007f-\u009f]' THEN
      RETURN 'headers: a name or value has a control character; only printable characters are '
             'allowed';
    END IF;
    bytes := bytes + octet_length(entry.name) + octet_length(entry.text_value);
  END LOOP;
  IF bytes > 65536 THEN
    RETURN format('headers: %s bytes, at most 65536 are allowed for all names and values together',
                  bytes);
  END IF;
  RETURN NULL;
END
$body$;

-- What is wrong with a message, its payload's JSON aside; NULL when nothing is.
CREATE FUNCTION "{schema}".message_problem(
  id text, topic text, payload bytea, key text, tenant text, aggregate_type text,
  aggregate_id text, priority integer, headers jsonb, content_type text, occurred_at timestamptz,
  not_before timestamptz, delay interval, traceparent text, tracestate text, request_id text,
  correlation_id text) RETURNS text
LANGUAGE sql IMMUTABLE AS $body$
  SELECT coalesce(
    CASE WHEN id !~ '^[!-~]{1,36}$' THEN
      'id: give 1 to 36 printable ASCII characters without spaces' END,
    "{schema}".text_problem('topic', topic, 128, false),
    "{schema}".text_problem('tenant', tenant, 64, false),
    "{schema}".text_problem('aggregate_type', aggregate_type, 64, false),
    "{schema}".text_problem('aggregate_id', aggregate_id, 128),
    "{schema}".text_problem('key', key, 256),
    "{schema}".text_problem('content_type', content_type, 255),
    CASE WHEN priority BETWEEN 0 AND 2 IS NOT TRUE THEN
      format('priority: %s is none; it is 0 (high), 1 (normal) or 2 (low)',
             coalesce(priority::text, 'null')) END,
    CASE WHEN payload IS NULL THEN
      'payload: missing; give JSON, ''null'' for nothing, or a bytea'
         WHEN octet_length(payload) > 1048576 THEN
      format('payload: %s bytes, at most 1048576 are allowed; store large objects elsewhere and '
             'send a reference', octet_length(payload)) END,
    "{schema}".headers_problem(headers),
    CASE WHEN NOT (occurred_at >= '1000-01-01 UTC' AND occurred_at < '10000-01-01 UTC') THEN
      'occurred_at: outside the years 1000 to 9999' END,
    CASE WHEN NOT (not_before >= '1000-01-01 UTC' AND not_before < '10000-01-01 UTC') THEN
      'not_before: outside the years 1000 to 9999' END,
    CASE WHEN not_before IS NOT NULL AND delay IS NOT NULL THEN
      'delay: not_before is given too; give one of them' END,
    CASE WHEN traceparent <> '' AND (
           traceparent !~ ('^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-'
                           || '[0-9a-f]{2}(-[^\u0001-\u001f\u007f-\u009f]*)?$')
           OR octet_length(traceparent) > CASE WHEN traceparent LIKE '00%' THEN 55 ELSE 512 END)
      THEN
      'traceparent: not W3C trace context; it must read 00-<32 hex>-<16 hex>-<2 hex> in lower '
      'case, ids not all zero' END,
    "{schema}".text_problem('tracestate', tracestate, 512),
    "{schema}".text_problem('request_id', request_id, 128),
    "{schema}".text_problem('correlation_id', correlation_id, 128))
$body$;

-- Makes `enqueue` anew for the outboxes that there are: a branch each, so that their statements
-- are planned once a session.
CREATE FUNCTION "{schema}".make_enqueue() RETURNS void
LANGUAGE plpgsql AS $make$
DECLARE
  of_payload record;
  branches   text;
  known      text;
BEGIN
  FOR of_payload IN
    SELECT * FROM (VALUES
      ('text',  'convert_to(payload, ''UTF8'')', true),
      ('json',  'convert_to(payload::text, ''UTF8'')', true),
      ('jsonb', 'convert_to(payload::text, ''UTF8'')', true),
      ('bytea', 'payload', false)) AS v(type, bytes, is_json)
  LOOP
    SELECT string_agg(format($branch$
  IF outbox = %L THEN
    RETURN "{schema}".%I(
      id, topic, %s, %L, key, tenant, aggregate_type, aggregate_id, priority, headers,
      content_type, occurred_at, not_before, delay, traceparent, tracestate, request_id,
      correlation_id);
  END IF;
$branch$, o.name, o.name || '_put', of_payload.bytes, of_payload.is_json), ''
             ORDER BY o.name <> 'default', o.name),
           string_agg(o.name, ', ' ORDER BY o.name)
    INTO branches, known
    FROM "{schema}".outbox AS o
    WHERE to_regproc(format('%I.%I', '{schema}', o.name || '_put')) IS NOT NULL;
    EXECUTE format($create$
CREATE OR REPLACE FUNCTION "{schema}".enqueue(
  topic text, payload %s, key text DEFAULT NULL, id text DEFAULT NULL,
  tenant text DEFAULT 'default', aggregate_type text DEFAULT '__GLOBAL__',
  aggregate_id text DEFAULT NULL, priority integer DEFAULT 1, headers jsonb DEFAULT NULL,
  content_type text DEFAULT NULL, occurred_at timestamptz DEFAULT NULL,
  not_before timestamptz DEFAULT NULL, delay interval DEFAULT NULL, traceparent text DEFAULT NULL,
  tracestate text DEFAULT NULL, request_id text DEFAULT NULL, correlation_id text DEFAULT NULL,
  outbox text DEFAULT 'default') RETURNS "{schema}".written
LANGUAGE plpgsql AS %L
$create$, of_payload.type, format($whole$
BEGIN%s
  RAISE EXCEPTION USING ERRCODE = 'undefined_table', MESSAGE =
    format('outbox: there is no %%L in schema {schema}; name one that there is (%%s) or make it',
           outbox, %L);
END
$whole$, coalesce(branches, ''), coalesce(known, 'none')));
  END LOOP;
END
$make$;
SELECT "{schema}".make_enqueue();
)sql";

constexpr std::string_view down = R"sql(
DROP FUNCTION "{schema}".enqueue(
  text, text, text, text, text, text, text, integer, jsonb, text, timestamptz, timestamptz,
  interval, text, text, text, text, text);
DROP FUNCTION "{schema}".enqueue(
  text, json, text, text, text, text, text, integer, jsonb, text, timestamptz, timestamptz,
  interval, text, text, text, text, text);
DROP FUNCTION "{schema}".enqueue(
  text, jsonb, text, text, text, text, text, integer, jsonb, text, timestamptz, timestamptz,
  interval, text, text, text, text, text);
DROP FUNCTION "{schema}".enqueue(
  text, bytea, text, text, text, text, text, integer, jsonb, text, timestamptz, timestamptz,
  interval, text, text, text, text, text);
DROP FUNCTION "{schema}".make_enqueue(), "{schema}".message_problem, "{schema}".headers_problem,
  "{schema}".text_problem, "{schema}".new_id();
DROP TYPE "{schema}".written;
)sql";

// Checks what almost every message passes in one expression; `message_problem` is asked only when
// that says no. A digest tells the relay that a message was checked by its own rules: where
// PostgreSQL's idea of JSON is wider (escapes of lone surrogates, deep nesting) there is none,
// and the relay checks.
constexpr std::string_view table_up = R"sql(
ALTER TABLE "{schema}"."{table}_outbox" ALTER COLUMN id SET DEFAULT "{schema}".new_id();

-- One message into this outbox. The id of one that is pending, dead or retained is a duplicate.
CREATE FUNCTION "{schema}"."{table}_put"(
  id text, topic text, payload bytea, is_json boolean, key text, tenant text,
  aggregate_type text, aggregate_id text, priority integer, headers jsonb, content_type text,
  occurred_at timestamptz, not_before timestamptz, delay interval, traceparent text,
  tracestate text, request_id text, correlation_id text) RETURNS "{schema}".written
LANGUAGE plpgsql AS $body$
#variable_conflict use_variable
DECLARE
  now_is    CONSTANT timestamptz := clock_timestamp();
  json_text text;
  sequence  bigint;
  checked   boolean := true;
  plain     boolean;
  problem   text;
BEGIN
  plain := length(topic) BETWEEN 1 AND 128 AND length(tenant) BETWEEN 1 AND 64
      AND length(aggregate_type) BETWEEN 1 AND 64 AND priority BETWEEN 0 AND 2
      AND octet_length(payload) <= 1048576
      AND coalesce(length(key), 1) BETWEEN 1 AND 256
      AND coalesce(length(aggregate_id), 1) BETWEEN 1 AND 128
      AND concat(topic, tenant, aggregate_type, key, aggregate_id)
          !~ '[\u0001-\u001f\u007f-\u009f]'
      AND coalesce(id, content_type, traceparent, tracestate, request_id, correlation_id) IS NULL
      AND headers IS NULL AND occurred_at IS NULL AND not_before IS NULL;
  IF plain IS NOT TRUE THEN
    problem := "{schema}".message_problem(
      id, topic, payload, key, tenant, aggregate_type, aggregate_id, priority, headers,
      content_type, occurred_at, not_before, delay, traceparent, tracestate, request_id,
      correlation_id);
    IF problem IS NOT NULL THEN
      RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = problem;
    END IF;
    key            := nullif(key, '');
    aggregate_id   := nullif(aggregate_id, '');
    content_type   := nullif(content_type, '');
    traceparent    := nullif(traceparent, '');
    tracestate     := nullif(tracestate, '');
    request_id     := nullif(request_id, '');
    correlation_id := nullif(correlation_id, '');
  END IF;
  IF is_json THEN
    content_type := coalesce(content_type, 'application/json');
    BEGIN
      json_text := convert_from(payload, 'UTF8');
      checked := json_text::json IS NOT NULL
        AND strpos(json_text, '\u') = 0
        AND (length(json_text) <= 1024
             OR length(json_text) - length(translate(json_text, '[{', '')) <= 512);
    EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
      -- Not the server's own text, which quotes the payload.
      RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE =
        'payload: not JSON; give one JSON value (RFC 8259), or a bytea for bytes';
    END;
  END IF;
  IF delay IS NOT NULL THEN not_before := now_is + delay; END IF;
  IF id IS NOT NULL THEN
    INSERT INTO "{schema}"."{table}_outbox" AS o
      (id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json, digest,
       content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
       correlation_id, due)
    VALUES
      (id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json,
       CASE WHEN checked THEN sha256(payload) END,
       coalesce(content_type, 'application/octet-stream'), nullif(headers::text, '{}'),
       coalesce(occurred_at, now_is), not_before, traceparent, tracestate, request_id,
       correlation_id, CASE WHEN not_before > now_is THEN not_before END)
    ON CONFLICT DO NOTHING
    RETURNING o.seq INTO sequence;
    RETURN "{schema}"."{table}_first"(id, sequence);
  END IF;
  -- The same, where no other can have the id: looking for it would cost a fifth.
  id := "{schema}".new_id();
  IF plain AND tenant = 'default' AND aggregate_type = '__GLOBAL__' AND aggregate_id IS NULL
     AND priority = 1 AND is_json AND delay IS NULL THEN
    -- What most messages are: defaults are cheaper than values.
    INSERT INTO "{schema}"."{table}_outbox" AS o (id, topic, key, payload, digest, occurred_at)
    VALUES (id, topic, key, payload, CASE WHEN checked THEN sha256(payload) END, now_is)
    RETURNING o.seq INTO sequence;
    RETURN ROW(id, sequence, false)::"{schema}".written;
  END IF;
  INSERT INTO "{schema}"."{table}_outbox" AS o
    (id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json, digest,
     content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
     correlation_id, due)
  VALUES
    (id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json,
     CASE WHEN checked THEN sha256(payload) END,
     coalesce(content_type, 'application/octet-stream'), nullif(headers::text, '{}'),
     coalesce(occurred_at, now_is), not_before, traceparent, tracestate, request_id,
     correlation_id, CASE WHEN not_before > now_is THEN not_before END)
  RETURNING o.seq INTO sequence;
  RETURN ROW(id, sequence, false)::"{schema}".written;
END
$body$;

-- Which message was the first of this id, `inserted` or another; it is taken back if another.
-- Looks after the insert: each statement sees what was settled meanwhile.
CREATE FUNCTION "{schema}"."{table}_first"(of_id text, inserted bigint) RETURNS "{schema}".written
LANGUAGE plpgsql AS $body$
DECLARE
  first bigint;
BEGIN
  IF inserted IS NULL THEN
    SELECT o.seq INTO first FROM "{schema}"."{table}_outbox" AS o WHERE o.id = of_id;
    IF FOUND THEN RETURN ROW(of_id, first, true)::"{schema}".written; END IF;
  END IF;
  SELECT e.seq INTO first
  FROM (SELECT d.seq FROM "{schema}"."{table}_dead" AS d WHERE d.id = of_id
        UNION ALL
        SELECT a.seq FROM "{schema}"."{table}_archive" AS a WHERE a.id = of_id) AS e
  LIMIT 1;
  IF FOUND THEN
    DELETE FROM "{schema}"."{table}_outbox" AS o WHERE o.seq = inserted;
    RETURN ROW(of_id, first, true)::"{schema}".written;
  END IF;
  IF inserted IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'serialization_failure', MESSAGE =
      format('id: the message %s was being settled at the same moment; roll back and try again',
             of_id);
  END IF;
  RETURN ROW(of_id, inserted, false)::"{schema}".written;
END
$body$;
SELECT "{schema}".make_enqueue();
)sql";

constexpr std::string_view table_down = R"sql(
ALTER TABLE "{schema}"."{table}_outbox" ALTER COLUMN id SET DEFAULT gen_random_uuid()::text;
DROP FUNCTION "{schema}"."{table}_put", "{schema}"."{table}_first";
SELECT "{schema}".make_enqueue();
)sql";

}  // namespace

Migration enqueue_step() noexcept { return {2, "enqueue", up, down, table_up, table_down}; }

}  // namespace sagabox::postgres
