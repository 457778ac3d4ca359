#include "core/text.hpp"
#include "stores/postgres/operate/schema_steps.hpp"

namespace sagabox::postgres {
namespace {

constexpr std::string_view enqueue_up = R"sql(
-- What a written message became. With `duplicate` the id was there already, nothing was inserted,
-- and `sequence` is the first one's.
CREATE TYPE "{schema}".written AS (id text, sequence bigint, duplicate boolean);

-- The first eight digits of a ULID, which change once in 1,024 ms, and after them the number they
-- stand for. The session remembers them: making all of an id anew took a seventh of `enqueue`.
CREATE FUNCTION "{schema}".ulid_head(of_number bigint) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
  head text := '';
BEGIN
  FOR place IN REVERSE 7 .. 0 LOOP
    head := head || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ',
                           (of_number >> 5 * place & 31)::integer + 1, 1);
  END LOOP;
  RETURN set_config('sagabox.ulid_head', head || to_hex(of_number), false);
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

-- Makes `new_id` and `enqueue` anew, the latter for the outboxes that there are: branches for each,
-- so that their statements are planned once a session. A session makes every expression ready anew
-- in each transaction, a good thousand instructions for an operator: what most messages are passes
-- with few of them, and without calling anything.
CREATE FUNCTION "{schema}".make_enqueue() RETURNS void
LANGUAGE plpgsql AS $make$
DECLARE
  -- A ULID: ten digits of milliseconds, then the microseconds within, then chance. Ids grow, so
  -- that their index grows at one end.
  id_parts CONSTANT text := $parts$
    us := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
    head := current_setting('sagabox.ulid_head', true);
    IF right(head, -8) IS DISTINCT FROM to_hex(us / 1024000) THEN
      head := "{schema}".ulid_head(us / 1024000);
    END IF;
    low := (us / 1000 & 1023)::integer;$parts$;
  id_value CONSTANT text := $value$left(head, 8)
        || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (low >> 5) + 1, 1)
        || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (low & 31) + 1, 1)
        || upper(to_hex((us % 1000 + 1024 << 52) + (random() * 4503599627370495)::bigint)
                 COLLATE "C")$value$;
  of_payload record;
  inserts    text;
  usual      text;
  puts       text;
  known      text;
BEGIN
  EXECUTE format($create$
CREATE OR REPLACE FUNCTION "{schema}".new_id() RETURNS text
LANGUAGE plpgsql AS %L
$create$, format($whole$
DECLARE
  us   bigint;
  head text;
  low  integer;
BEGIN%s
  RETURN %s;
END
$whole$, id_parts, id_value));

  FOR of_payload IN
    SELECT * FROM (VALUES
      ('text', 'convert_to(payload, ''UTF8'')', true, $check$
    BEGIN
      is_json := payload::json IS NOT NULL;
    EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
      -- Not the server's own text, which quotes the payload.
      RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE =
        'payload: not JSON; give one JSON value (RFC 8259), or a bytea for bytes';
    END;$check$),
      ('json', 'convert_to(payload::text, ''UTF8'')', true, ''),
      ('jsonb', 'convert_to(payload::text, ''UTF8'')', true, ''),
      ('bytea', 'payload', false, '')) AS v(type, bytes, is_json, checks)
  LOOP
    SELECT string_agg(format($branch$
    IF outbox = %1$L THEN
      INSERT INTO "{schema}".%2$I AS o (id, topic, key, payload)
      VALUES (%3$s, topic, key, %4$s)
      RETURNING o.id, o.seq, false INTO STRICT written;
      RETURN written;
    END IF;$branch$, o.name, o.name || '_outbox', id_value, of_payload.bytes), ''
             ORDER BY o.name <> 'default', o.name),
           string_agg(format($branch$
  IF outbox = %1$L THEN
    RETURN "{schema}".%2$I(
      id, topic, %3$s, %4$L, key, tenant, aggregate_type, aggregate_id, priority, headers,
      content_type, occurred_at, not_before, delay, traceparent, tracestate, request_id,
      correlation_id);
  END IF;$branch$, o.name, o.name || '_put', of_payload.bytes, of_payload.is_json), ''
             ORDER BY o.name <> 'default', o.name),
           string_agg(o.name, ', ' ORDER BY o.name)
    INTO inserts, puts, known
    FROM "{schema}".outbox AS o
    WHERE to_regproc(format('%I.%I', '{schema}', o.name || '_put')) IS NOT NULL;
    usual := '';
    IF of_payload.is_json THEN
      -- No other can have the id that is made here: looking for it would cost a fifth.
      usual := format($usual$
  IF num_nulls(id, aggregate_id, headers, content_type, occurred_at, not_before, delay,
               traceparent, tracestate, request_id, correlation_id) = 11
     AND tenant = 'default' AND aggregate_type = '__GLOBAL__' AND priority = 1
     AND topic <> '' AND octet_length(topic) <= 128
     AND (key <> '' AND octet_length(key) <= 256) IS NOT FALSE
     AND octet_length(payload::text) <= 262144
     AND topic || coalesce(key, '') !~ '[\u0001-\u001f\u007f-\u009f]' THEN%s%s%s
  END IF;$usual$, of_payload.checks, id_parts, inserts);
    END IF;
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
#variable_conflict use_variable
DECLARE
  is_json boolean;
  us      bigint;
  head    text;
  low     integer;
  written "{schema}".written;
BEGIN%s%s
  RAISE EXCEPTION USING ERRCODE = 'undefined_table', MESSAGE =
    format('outbox: there is no %%L in schema {schema}; name one that there is (%%s) or make it',
           outbox, %L);
END
$whole$, usual, coalesce(puts, ''), coalesce(known, 'none')));
  END LOOP;
END
$make$;
SELECT "{schema}".make_enqueue();
)sql";

constexpr std::string_view enqueue_down = R"sql(
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
DROP FUNCTION IF EXISTS "{schema}".ulid_head(bigint);
DROP TYPE "{schema}".written;
)sql";

// Inserts the messages that `enqueue` does not insert itself. No digest is stored: a digest tells
// the relay that a message was checked by its own rules, and PostgreSQL accepts more JSON (escapes
// of lone surrogates, deep nesting).
constexpr std::string_view put = R"sql(
-- One message into this outbox. The id of one that is pending, dead or retained is a duplicate.
CREATE FUNCTION "{schema}"."{table}_put"(
  id text, topic text, payload bytea, is_json boolean, key text, tenant text,
  aggregate_type text, aggregate_id text, priority integer, headers jsonb, content_type text,
  occurred_at timestamptz, not_before timestamptz, delay interval, traceparent text,
  tracestate text, request_id text, correlation_id text) RETURNS "{schema}".written
LANGUAGE plpgsql AS $body$
#variable_conflict use_variable
DECLARE
  sequence bigint;
  problem  text;
  now_is   timestamptz;
BEGIN
  IF is_json AND octet_length(payload) <= 1048576 THEN
    BEGIN
      is_json := convert_from(payload, 'UTF8')::json IS NOT NULL;
    EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
      -- Not the server's own text, which quotes the payload.
      RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE =
        'payload: not JSON; give one JSON value (RFC 8259), or a bytea for bytes';
    END;
  END IF;
  problem := "{schema}".message_problem(
    id, topic, payload, key, tenant, aggregate_type, aggregate_id, priority, headers,
    content_type, occurred_at, not_before, delay, traceparent, tracestate, request_id,
    correlation_id);
  IF problem IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = problem;
  END IF;
  key            := nullif(key, '');
  aggregate_id   := nullif(aggregate_id, '');
  content_type   := coalesce(nullif(content_type, ''), CASE WHEN is_json THEN 'application/json'
                                                            ELSE 'application/octet-stream' END);
  traceparent    := nullif(traceparent, '');
  tracestate     := nullif(tracestate, '');
  request_id     := nullif(request_id, '');
  correlation_id := nullif(correlation_id, '');
  now_is         := clock_timestamp();
  not_before     := coalesce(now_is + delay, not_before);
  IF id IS NOT NULL THEN
    INSERT INTO "{schema}"."{table}_outbox" AS o
      (id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json,
       content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
       correlation_id, due)
    VALUES
      (id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json,
       content_type, nullif(headers::text, '{}'),
       coalesce(occurred_at, now_is), not_before, traceparent, tracestate, request_id,
       correlation_id, CASE WHEN not_before > now_is THEN not_before END)
    ON CONFLICT DO NOTHING
    RETURNING o.seq INTO sequence;
    RETURN "{schema}"."{table}_first"({id}, sequence);
  END IF;
  id := "{schema}".new_id();
  INSERT INTO "{schema}"."{table}_outbox" AS o
    (id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json,
     content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
     correlation_id, due)
  VALUES
    (id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json,
     content_type, nullif(headers::text, '{}'),
     coalesce(occurred_at, now_is), not_before, traceparent, tracestate, request_id,
     correlation_id, CASE WHEN not_before > now_is THEN not_before END)
  RETURNING o.seq INTO STRICT sequence;
  RETURN ROW(id, sequence, false)::"{schema}".written;
END
$body$;

-- Which message was the first of this id, `inserted` or another; it is taken back if another.
-- Looks after the insert: each statement sees what was settled meanwhile.
CREATE FUNCTION "{schema}"."{table}_first"({of_id}, inserted bigint)
RETURNS "{schema}".written
LANGUAGE plpgsql AS $body$
DECLARE
  first bigint;
BEGIN
  IF inserted IS NULL THEN
    SELECT o.seq INTO first FROM "{schema}"."{table}_outbox" AS o
    WHERE o.id = of_id{of_tenant};
    IF FOUND THEN RETURN ROW(of_id, first, true)::"{schema}".written; END IF;
  END IF;
  SELECT e.seq INTO first
  FROM (SELECT d.seq FROM "{schema}"."{table}_dead" AS d WHERE d.id = of_id{of_tenant}
        UNION ALL
        SELECT a.seq FROM "{schema}"."{table}_archive" AS a
        WHERE a.id = of_id{of_tenant}) AS e
  ORDER BY e.seq + 0 DESC  -- an expression: not by walking the index of sequences
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
)sql";

constexpr std::string_view enqueue_table_up = R"sql(
ALTER TABLE "{schema}"."{table}_outbox" ALTER COLUMN id SET DEFAULT "{schema}".new_id();
{put}
SELECT "{schema}".make_enqueue();
)sql";

constexpr std::string_view enqueue_table_down = R"sql(
ALTER TABLE "{schema}"."{table}_outbox" ALTER COLUMN id SET DEFAULT gen_random_uuid()::text;
DROP FUNCTION "{schema}"."{table}_put", "{schema}"."{table}_first";
SELECT "{schema}".make_enqueue();
)sql";

}  // namespace

std::string put_functions(IdScope scope) {
  const bool by_tenant = scope == IdScope::tenant;
  std::string whole(put);
  whole = replaced(whole, "{id}", by_tenant ? "id, tenant" : "id");
  whole = replaced(whole, "{of_id}", by_tenant ? "of_id text, of_tenant text" : "of_id text");
  return replaced(whole, "{of_tenant}", by_tenant ? " AND tenant = of_tenant" : "");
}

Migration enqueue_step() {
  static const std::string whole =
      replaced(enqueue_table_up, "{put}", put_functions(IdScope::outbox));
  return {2, "enqueue", enqueue_up, enqueue_down, whole, enqueue_table_down};
}

}  // namespace sagabox::postgres
