-- A schema of version 4, as `pg_dump --no-owner --no-privileges` wrote it: two outboxes with pending,
-- waiting, dead, quarantined and delivered messages of three tenants. Its name is the_schema; the
-- test replaces that. The file is not to be edited: databases in use look like this one.
BEGIN;
SET LOCAL check_function_bodies = false;
SET LOCAL search_path = '';
CREATE SCHEMA the_schema;
CREATE DOMAIN the_schema.message_count AS integer
	CONSTRAINT not_negative CHECK ((VALUE >= 0));
CREATE DOMAIN the_schema.message_id AS text COLLATE pg_catalog."C"
	CONSTRAINT up_to_36_printable_characters CHECK (((VALUE ~ '^[!-~]+$'::text) AND (length(VALUE) <= 36)));
CREATE DOMAIN the_schema.message_key AS text COLLATE pg_catalog."C"
	CONSTRAINT null_if_there_is_none CHECK ((VALUE <> ''::text));
CREATE DOMAIN the_schema.message_priority AS smallint
	CONSTRAINT high_0_normal_1_low_2 CHECK (((VALUE >= 0) AND (VALUE <= 2)));
CREATE TYPE the_schema.written AS (
	id text,
	sequence bigint,
	duplicate boolean
);
CREATE FUNCTION the_schema."Billing_first"(of_id text, inserted bigint) RETURNS the_schema.written
    LANGUAGE plpgsql
    AS $$
DECLARE
  first bigint;
BEGIN
  IF inserted IS NULL THEN
    SELECT o.seq INTO first FROM "the_schema"."Billing_outbox" AS o WHERE o.id = of_id;
    IF FOUND THEN RETURN ROW(of_id, first, true)::"the_schema".written; END IF;
  END IF;
  SELECT e.seq INTO first
  FROM (SELECT d.seq FROM "the_schema"."Billing_dead" AS d WHERE d.id = of_id
        UNION ALL
        SELECT a.seq FROM "the_schema"."Billing_archive" AS a WHERE a.id = of_id) AS e
  LIMIT 1;
  IF FOUND THEN
    DELETE FROM "the_schema"."Billing_outbox" AS o WHERE o.seq = inserted;
    RETURN ROW(of_id, first, true)::"the_schema".written;
  END IF;
  IF inserted IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'serialization_failure', MESSAGE =
      format('id: the message %s was being settled at the same moment; roll back and try again',
             of_id);
  END IF;
  RETURN ROW(of_id, inserted, false)::"the_schema".written;
END
$$;
CREATE FUNCTION the_schema."Billing_put"(id text, topic text, payload bytea, is_json boolean, key text, tenant text, aggregate_type text, aggregate_id text, priority integer, headers jsonb, content_type text, occurred_at timestamp with time zone, not_before timestamp with time zone, delay interval, traceparent text, tracestate text, request_id text, correlation_id text) RETURNS the_schema.written
    LANGUAGE plpgsql
    AS $$
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
  problem := "the_schema".message_problem(
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
    INSERT INTO "the_schema"."Billing_outbox" AS o
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
    RETURN "the_schema"."Billing_first"(id, sequence);
  END IF;
  id := "the_schema".new_id();
  INSERT INTO "the_schema"."Billing_outbox" AS o
    (id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json,
     content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
     correlation_id, due)
  VALUES
    (id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json,
     content_type, nullif(headers::text, '{}'),
     coalesce(occurred_at, now_is), not_before, traceparent, tracestate, request_id,
     correlation_id, CASE WHEN not_before > now_is THEN not_before END)
  RETURNING o.seq INTO STRICT sequence;
  RETURN ROW(id, sequence, false)::"the_schema".written;
END
$$;
CREATE FUNCTION the_schema."Billing_wake"() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
  flags CONSTANT bigint := pg_sequence_last_value('"the_schema"."Billing_flags"');
BEGIN
  IF flags & 2147483647 <> 0
     AND flags >> 31 > date_part('epoch', pg_catalog.clock_timestamp())
     AND "the_schema".may_notify() THEN
    PERFORM pg_notify('sagabox the_schema', 'Billing');
  END IF;
  RETURN NULL;
END
$$;
CREATE FUNCTION the_schema.archive_ahead(of_outbox text, days_ahead integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
  today     date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  partition text;
BEGIN
  FOR day IN -1 .. days_ahead LOOP
    partition := of_outbox || '_a' || to_char(today + day, 'YYYYMMDD');
    CONTINUE WHEN to_regclass(format('%I.%I', 'the_schema', partition)) IS NOT NULL;
    PERFORM pg_advisory_xact_lock(hashtextextended('sagabox archive the_schema.' || of_outbox, 0));
    BEGIN
      EXECUTE format(
        'CREATE TABLE IF NOT EXISTS %I.%I PARTITION OF %I.%I FOR VALUES FROM (%L) TO (%L)',
        'the_schema', partition, 'the_schema', of_outbox || '_archive',
        (today + day)::timestamp AT TIME ZONE 'UTC',
        (today + day + 1)::timestamp AT TIME ZONE 'UTC');
    EXCEPTION WHEN check_violation OR insufficient_privilege THEN
      NULL;
    END;
  END LOOP;
END
$$;
CREATE FUNCTION the_schema.enqueue(topic text, payload bytea, key text DEFAULT NULL::text, id text DEFAULT NULL::text, tenant text DEFAULT 'default'::text, aggregate_type text DEFAULT '__GLOBAL__'::text, aggregate_id text DEFAULT NULL::text, priority integer DEFAULT 1, headers jsonb DEFAULT NULL::jsonb, content_type text DEFAULT NULL::text, occurred_at timestamp with time zone DEFAULT NULL::timestamp with time zone, not_before timestamp with time zone DEFAULT NULL::timestamp with time zone, delay interval DEFAULT NULL::interval, traceparent text DEFAULT NULL::text, tracestate text DEFAULT NULL::text, request_id text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, outbox text DEFAULT 'default'::text) RETURNS the_schema.written
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_variable
DECLARE
  is_json boolean;
  us      bigint;
  head    text;
  low     integer;
  written "the_schema".written;
BEGIN
  IF outbox = 'Billing' THEN
    RETURN "the_schema"."Billing_put"(
      id, topic, payload, 'f', key, tenant, aggregate_type, aggregate_id, priority, headers,
      content_type, occurred_at, not_before, delay, traceparent, tracestate, request_id,
      correlation_id);
  END IF;
  IF outbox = 'orders' THEN
    RETURN "the_schema".orders_put(
      id, topic, payload, 'f', key, tenant, aggregate_type, aggregate_id, priority, headers,
      content_type, occurred_at, not_before, delay, traceparent, tracestate, request_id,
      correlation_id);
  END IF;
  RAISE EXCEPTION USING ERRCODE = 'undefined_table', MESSAGE =
    format('outbox: there is no %L in schema the_schema; name one that there is (%s) or make it',
           outbox, 'Billing, orders');
END
$$;
CREATE FUNCTION the_schema.enqueue(topic text, payload json, key text DEFAULT NULL::text, id text DEFAULT NULL::text, tenant text DEFAULT 'default'::text, aggregate_type text DEFAULT '__GLOBAL__'::text, aggregate_id text DEFAULT NULL::text, priority integer DEFAULT 1, headers jsonb DEFAULT NULL::jsonb, content_type text DEFAULT NULL::text, occurred_at timestamp with time zone DEFAULT NULL::timestamp with time zone, not_before timestamp with time zone DEFAULT NULL::timestamp with time zone, delay interval DEFAULT NULL::interval, traceparent text DEFAULT NULL::text, tracestate text DEFAULT NULL::text, request_id text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, outbox text DEFAULT 'default'::text) RETURNS the_schema.written
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_variable
DECLARE
  is_json boolean;
  us      bigint;
  head    text;
  low     integer;
  written "the_schema".written;
BEGIN
  IF num_nulls(id, aggregate_id, headers, content_type, occurred_at, not_before, delay,
               traceparent, tracestate, request_id, correlation_id) = 11
     AND tenant = 'default' AND aggregate_type = '__GLOBAL__' AND priority = 1
     AND topic <> '' AND octet_length(topic) <= 128
     AND (key <> '' AND octet_length(key) <= 256) IS NOT FALSE
     AND octet_length(payload::text) <= 262144
     AND topic || coalesce(key, '') !~ '[\u0001-\u001f\u007f-\u009f]' THEN
    us := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
    head := current_setting('sagabox.ulid_head', true);
    IF right(head, -8) IS DISTINCT FROM to_hex(us / 1024000) THEN
      head := "the_schema".ulid_head(us / 1024000);
    END IF;
    low := (us / 1000 & 1023)::integer;
    IF outbox = 'Billing' THEN
      INSERT INTO "the_schema"."Billing_outbox" AS o (id, topic, key, payload)
      VALUES (left(head, 8)
        || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (low >> 5) + 1, 1)
        || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (low & 31) + 1, 1)
        || upper(to_hex((us % 1000 + 1024 << 52) + (random() * 4503599627370495)::bigint)
                 COLLATE "C"), topic, key, convert_to(payload::text, 'UTF8'))
      RETURNING o.id, o.seq, false INTO STRICT written;
      RETURN written;
    END IF;
    IF outbox = 'orders' THEN
      INSERT INTO "the_schema".orders_outbox AS o (id, topic, key, payload)
      VALUES (left(head, 8)
        || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (low >> 5) + 1, 1)
        || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (low & 31) + 1, 1)
        || upper(to_hex((us % 1000 + 1024 << 52) + (random() * 4503599627370495)::bigint)
                 COLLATE "C"), topic, key, convert_to(payload::text, 'UTF8'))
      RETURNING o.id, o.seq, false INTO STRICT written;
      RETURN written;
    END IF;
  END IF;
  IF outbox = 'Billing' THEN
    RETURN "the_schema"."Billing_put"(
      id, topic, convert_to(payload::text, 'UTF8'), 't', key, tenant, aggregate_type, aggregate_id, priority, headers,
      content_type, occurred_at, not_before, delay, traceparent, tracestate, request_id,
      correlation_id);
  END IF;
  IF outbox = 'orders' THEN
    RETURN "the_schema".orders_put(
      id, topic, convert_to(payload::text, 'UTF8'), 't', key, tenant, aggregate_type, aggregate_id, priority, headers,
      content_type, occurred_at, not_before, delay, traceparent, tracestate, request_id,
      correlation_id);
  END IF;
  RAISE EXCEPTION USING ERRCODE = 'undefined_table', MESSAGE =
    format('outbox: there is no %L in schema the_schema; name one that there is (%s) or make it',
           outbox, 'Billing, orders');
END
$$;
CREATE FUNCTION the_schema.enqueue(topic text, payload jsonb, key text DEFAULT NULL::text, id text DEFAULT NULL::text, tenant text DEFAULT 'default'::text, aggregate_type text DEFAULT '__GLOBAL__'::text, aggregate_id text DEFAULT NULL::text, priority integer DEFAULT 1, headers jsonb DEFAULT NULL::jsonb, content_type text DEFAULT NULL::text, occurred_at timestamp with time zone DEFAULT NULL::timestamp with time zone, not_before timestamp with time zone DEFAULT NULL::timestamp with time zone, delay interval DEFAULT NULL::interval, traceparent text DEFAULT NULL::text, tracestate text DEFAULT NULL::text, request_id text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, outbox text DEFAULT 'default'::text) RETURNS the_schema.written
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_variable
DECLARE
  is_json boolean;
  us      bigint;
  head    text;
  low     integer;
  written "the_schema".written;
BEGIN
  IF num_nulls(id, aggregate_id, headers, content_type, occurred_at, not_before, delay,
               traceparent, tracestate, request_id, correlation_id) = 11
     AND tenant = 'default' AND aggregate_type = '__GLOBAL__' AND priority = 1
     AND topic <> '' AND octet_length(topic) <= 128
     AND (key <> '' AND octet_length(key) <= 256) IS NOT FALSE
     AND octet_length(payload::text) <= 262144
     AND topic || coalesce(key, '') !~ '[\u0001-\u001f\u007f-\u009f]' THEN
    us := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
    head := current_setting('sagabox.ulid_head', true);
    IF right(head, -8) IS DISTINCT FROM to_hex(us / 1024000) THEN
      head := "the_schema".ulid_head(us / 1024000);
    END IF;
    low := (us / 1000 & 1023)::integer;
    IF outbox = 'Billing' THEN
      INSERT INTO "the_schema"."Billing_outbox" AS o (id, topic, key, payload)
      VALUES (left(head, 8)
        || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (low >> 5) + 1, 1)
        || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (low & 31) + 1, 1)
        || upper(to_hex((us % 1000 + 1024 << 52) + (random() * 4503599627370495)::bigint)
                 COLLATE "C"), topic, key, convert_to(payload::text, 'UTF8'))
      RETURNING o.id, o.seq, false INTO STRICT written;
      RETURN written;
    END IF;
    IF outbox = 'orders' THEN
      INSERT INTO "the_schema".orders_outbox AS o (id, topic, key, payload)
      VALUES (left(head, 8)
        || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (low >> 5) + 1, 1)
        || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (low & 31) + 1, 1)
        || upper(to_hex((us % 1000 + 1024 << 52) + (random() * 4503599627370495)::bigint)
                 COLLATE "C"), topic, key, convert_to(payload::text, 'UTF8'))
      RETURNING o.id, o.seq, false INTO STRICT written;
      RETURN written;
    END IF;
  END IF;
  IF outbox = 'Billing' THEN
    RETURN "the_schema"."Billing_put"(
      id, topic, convert_to(payload::text, 'UTF8'), 't', key, tenant, aggregate_type, aggregate_id, priority, headers,
      content_type, occurred_at, not_before, delay, traceparent, tracestate, request_id,
      correlation_id);
  END IF;
  IF outbox = 'orders' THEN
    RETURN "the_schema".orders_put(
      id, topic, convert_to(payload::text, 'UTF8'), 't', key, tenant, aggregate_type, aggregate_id, priority, headers,
      content_type, occurred_at, not_before, delay, traceparent, tracestate, request_id,
      correlation_id);
  END IF;
  RAISE EXCEPTION USING ERRCODE = 'undefined_table', MESSAGE =
    format('outbox: there is no %L in schema the_schema; name one that there is (%s) or make it',
           outbox, 'Billing, orders');
END
$$;
CREATE FUNCTION the_schema.enqueue(topic text, payload text, key text DEFAULT NULL::text, id text DEFAULT NULL::text, tenant text DEFAULT 'default'::text, aggregate_type text DEFAULT '__GLOBAL__'::text, aggregate_id text DEFAULT NULL::text, priority integer DEFAULT 1, headers jsonb DEFAULT NULL::jsonb, content_type text DEFAULT NULL::text, occurred_at timestamp with time zone DEFAULT NULL::timestamp with time zone, not_before timestamp with time zone DEFAULT NULL::timestamp with time zone, delay interval DEFAULT NULL::interval, traceparent text DEFAULT NULL::text, tracestate text DEFAULT NULL::text, request_id text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, outbox text DEFAULT 'default'::text) RETURNS the_schema.written
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_variable
DECLARE
  is_json boolean;
  us      bigint;
  head    text;
  low     integer;
  written "the_schema".written;
BEGIN
  IF num_nulls(id, aggregate_id, headers, content_type, occurred_at, not_before, delay,
               traceparent, tracestate, request_id, correlation_id) = 11
     AND tenant = 'default' AND aggregate_type = '__GLOBAL__' AND priority = 1
     AND topic <> '' AND octet_length(topic) <= 128
     AND (key <> '' AND octet_length(key) <= 256) IS NOT FALSE
     AND octet_length(payload::text) <= 262144
     AND topic || coalesce(key, '') !~ '[\u0001-\u001f\u007f-\u009f]' THEN
    BEGIN
      is_json := payload::json IS NOT NULL;
    EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
      -- Not the server's own text, which quotes the payload.
      RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE =
        'payload: not JSON; give one JSON value (RFC 8259), or a bytea for bytes';
    END;
    us := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
    head := current_setting('sagabox.ulid_head', true);
    IF right(head, -8) IS DISTINCT FROM to_hex(us / 1024000) THEN
      head := "the_schema".ulid_head(us / 1024000);
    END IF;
    low := (us / 1000 & 1023)::integer;
    IF outbox = 'Billing' THEN
      INSERT INTO "the_schema"."Billing_outbox" AS o (id, topic, key, payload)
      VALUES (left(head, 8)
        || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (low >> 5) + 1, 1)
        || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (low & 31) + 1, 1)
        || upper(to_hex((us % 1000 + 1024 << 52) + (random() * 4503599627370495)::bigint)
                 COLLATE "C"), topic, key, convert_to(payload, 'UTF8'))
      RETURNING o.id, o.seq, false INTO STRICT written;
      RETURN written;
    END IF;
    IF outbox = 'orders' THEN
      INSERT INTO "the_schema".orders_outbox AS o (id, topic, key, payload)
      VALUES (left(head, 8)
        || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (low >> 5) + 1, 1)
        || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (low & 31) + 1, 1)
        || upper(to_hex((us % 1000 + 1024 << 52) + (random() * 4503599627370495)::bigint)
                 COLLATE "C"), topic, key, convert_to(payload, 'UTF8'))
      RETURNING o.id, o.seq, false INTO STRICT written;
      RETURN written;
    END IF;
  END IF;
  IF outbox = 'Billing' THEN
    RETURN "the_schema"."Billing_put"(
      id, topic, convert_to(payload, 'UTF8'), 't', key, tenant, aggregate_type, aggregate_id, priority, headers,
      content_type, occurred_at, not_before, delay, traceparent, tracestate, request_id,
      correlation_id);
  END IF;
  IF outbox = 'orders' THEN
    RETURN "the_schema".orders_put(
      id, topic, convert_to(payload, 'UTF8'), 't', key, tenant, aggregate_type, aggregate_id, priority, headers,
      content_type, occurred_at, not_before, delay, traceparent, tracestate, request_id,
      correlation_id);
  END IF;
  RAISE EXCEPTION USING ERRCODE = 'undefined_table', MESSAGE =
    format('outbox: there is no %L in schema the_schema; name one that there is (%s) or make it',
           outbox, 'Billing, orders');
END
$$;
CREATE FUNCTION the_schema.headers_problem(headers jsonb) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    AS $$
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
$$;
CREATE FUNCTION the_schema.horizon_holders(OUT kind text, OUT holder text, OUT seconds double precision, OUT transactions bigint) RETURNS SETOF record
    LANGUAGE sql STABLE
    AS $$
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
$$;
CREATE FUNCTION the_schema.make_enqueue() RETURNS void
    LANGUAGE plpgsql
    AS $_$
DECLARE
  -- A ULID: ten digits of milliseconds, then the microseconds within, then chance. Ids grow, so
  -- that their index grows at one end.
  id_parts CONSTANT text := $parts$
    us := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
    head := current_setting('sagabox.ulid_head', true);
    IF right(head, -8) IS DISTINCT FROM to_hex(us / 1024000) THEN
      head := "the_schema".ulid_head(us / 1024000);
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
CREATE OR REPLACE FUNCTION "the_schema".new_id() RETURNS text
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
      INSERT INTO "the_schema".%2$I AS o (id, topic, key, payload)
      VALUES (%3$s, topic, key, %4$s)
      RETURNING o.id, o.seq, false INTO STRICT written;
      RETURN written;
    END IF;$branch$, o.name, o.name || '_outbox', id_value, of_payload.bytes), ''
             ORDER BY o.name <> 'default', o.name),
           string_agg(format($branch$
  IF outbox = %1$L THEN
    RETURN "the_schema".%2$I(
      id, topic, %3$s, %4$L, key, tenant, aggregate_type, aggregate_id, priority, headers,
      content_type, occurred_at, not_before, delay, traceparent, tracestate, request_id,
      correlation_id);
  END IF;$branch$, o.name, o.name || '_put', of_payload.bytes, of_payload.is_json), ''
             ORDER BY o.name <> 'default', o.name),
           string_agg(o.name, ', ' ORDER BY o.name)
    INTO inserts, puts, known
    FROM "the_schema".outbox AS o
    WHERE to_regproc(format('%I.%I', 'the_schema', o.name || '_put')) IS NOT NULL;
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
CREATE OR REPLACE FUNCTION "the_schema".enqueue(
  topic text, payload %s, key text DEFAULT NULL, id text DEFAULT NULL,
  tenant text DEFAULT 'default', aggregate_type text DEFAULT '__GLOBAL__',
  aggregate_id text DEFAULT NULL, priority integer DEFAULT 1, headers jsonb DEFAULT NULL,
  content_type text DEFAULT NULL, occurred_at timestamptz DEFAULT NULL,
  not_before timestamptz DEFAULT NULL, delay interval DEFAULT NULL, traceparent text DEFAULT NULL,
  tracestate text DEFAULT NULL, request_id text DEFAULT NULL, correlation_id text DEFAULT NULL,
  outbox text DEFAULT 'default') RETURNS "the_schema".written
LANGUAGE plpgsql AS %L
$create$, of_payload.type, format($whole$
#variable_conflict use_variable
DECLARE
  is_json boolean;
  us      bigint;
  head    text;
  low     integer;
  written "the_schema".written;
BEGIN%s%s
  RAISE EXCEPTION USING ERRCODE = 'undefined_table', MESSAGE =
    format('outbox: there is no %%L in schema the_schema; name one that there is (%%s) or make it',
           outbox, %L);
END
$whole$, usual, coalesce(puts, ''), coalesce(known, 'none')));
  END LOOP;
END
$_$;
CREATE FUNCTION the_schema.may_notify() RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
  SELECT CASE current_setting('sagabox.notify', true)
         WHEN 'on' THEN true
         WHEN 'off' THEN false
         ELSE current_setting('max_prepared_transactions') = '0' END
$$;
CREATE FUNCTION the_schema.message_problem(id text, topic text, payload bytea, key text, tenant text, aggregate_type text, aggregate_id text, priority integer, headers jsonb, content_type text, occurred_at timestamp with time zone, not_before timestamp with time zone, delay interval, traceparent text, tracestate text, request_id text, correlation_id text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $_$
  SELECT coalesce(
    CASE WHEN id !~ '^[!-~]{1,36}$' THEN
      'id: give 1 to 36 printable ASCII characters without spaces' END,
    "the_schema".text_problem('topic', topic, 128, false),
    "the_schema".text_problem('tenant', tenant, 64, false),
    "the_schema".text_problem('aggregate_type', aggregate_type, 64, false),
    "the_schema".text_problem('aggregate_id', aggregate_id, 128),
    "the_schema".text_problem('key', key, 256),
    "the_schema".text_problem('content_type', content_type, 255),
    CASE WHEN priority BETWEEN 0 AND 2 IS NOT TRUE THEN
      format('priority: %s is none; it is 0 (high), 1 (normal) or 2 (low)',
             coalesce(priority::text, 'null')) END,
    CASE WHEN payload IS NULL THEN
      'payload: missing; give JSON, ''null'' for nothing, or a bytea'
         WHEN octet_length(payload) > 1048576 THEN
      format('payload: %s bytes, at most 1048576 are allowed; store large objects elsewhere and '
             'send a reference', octet_length(payload)) END,
    "the_schema".headers_problem(headers),
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
    "the_schema".text_problem('tracestate', tracestate, 512),
    "the_schema".text_problem('request_id', request_id, 128),
    "the_schema".text_problem('correlation_id', correlation_id, 128))
$_$;
CREATE FUNCTION the_schema.new_id() RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
  us   bigint;
  head text;
  low  integer;
BEGIN
    us := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
    head := current_setting('sagabox.ulid_head', true);
    IF right(head, -8) IS DISTINCT FROM to_hex(us / 1024000) THEN
      head := "the_schema".ulid_head(us / 1024000);
    END IF;
    low := (us / 1000 & 1023)::integer;
  RETURN left(head, 8)
        || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (low >> 5) + 1, 1)
        || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (low & 31) + 1, 1)
        || upper(to_hex((us % 1000 + 1024 << 52) + (random() * 4503599627370495)::bigint)
                 COLLATE "C");
END
$$;
CREATE FUNCTION the_schema.orders_first(of_id text, inserted bigint) RETURNS the_schema.written
    LANGUAGE plpgsql
    AS $$
DECLARE
  first bigint;
BEGIN
  IF inserted IS NULL THEN
    SELECT o.seq INTO first FROM "the_schema"."orders_outbox" AS o WHERE o.id = of_id;
    IF FOUND THEN RETURN ROW(of_id, first, true)::"the_schema".written; END IF;
  END IF;
  SELECT e.seq INTO first
  FROM (SELECT d.seq FROM "the_schema"."orders_dead" AS d WHERE d.id = of_id
        UNION ALL
        SELECT a.seq FROM "the_schema"."orders_archive" AS a WHERE a.id = of_id) AS e
  LIMIT 1;
  IF FOUND THEN
    DELETE FROM "the_schema"."orders_outbox" AS o WHERE o.seq = inserted;
    RETURN ROW(of_id, first, true)::"the_schema".written;
  END IF;
  IF inserted IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'serialization_failure', MESSAGE =
      format('id: the message %s was being settled at the same moment; roll back and try again',
             of_id);
  END IF;
  RETURN ROW(of_id, inserted, false)::"the_schema".written;
END
$$;
CREATE FUNCTION the_schema.orders_put(id text, topic text, payload bytea, is_json boolean, key text, tenant text, aggregate_type text, aggregate_id text, priority integer, headers jsonb, content_type text, occurred_at timestamp with time zone, not_before timestamp with time zone, delay interval, traceparent text, tracestate text, request_id text, correlation_id text) RETURNS the_schema.written
    LANGUAGE plpgsql
    AS $$
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
  problem := "the_schema".message_problem(
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
    INSERT INTO "the_schema"."orders_outbox" AS o
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
    RETURN "the_schema"."orders_first"(id, sequence);
  END IF;
  id := "the_schema".new_id();
  INSERT INTO "the_schema"."orders_outbox" AS o
    (id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json,
     content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
     correlation_id, due)
  VALUES
    (id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json,
     content_type, nullif(headers::text, '{}'),
     coalesce(occurred_at, now_is), not_before, traceparent, tracestate, request_id,
     correlation_id, CASE WHEN not_before > now_is THEN not_before END)
  RETURNING o.seq INTO STRICT sequence;
  RETURN ROW(id, sequence, false)::"the_schema".written;
END
$$;
CREATE FUNCTION the_schema.orders_wake() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
  flags CONSTANT bigint := pg_sequence_last_value('"the_schema"."orders_flags"');
BEGIN
  IF flags & 2147483647 <> 0
     AND flags >> 31 > date_part('epoch', pg_catalog.clock_timestamp())
     AND "the_schema".may_notify() THEN
    PERFORM pg_notify('sagabox the_schema', 'orders');
  END IF;
  RETURN NULL;
END
$$;
CREATE FUNCTION the_schema.payload_text(payload bytea, is_json boolean) RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
  RETURN CASE WHEN is_json THEN convert_from(payload, 'UTF8') END;
EXCEPTION WHEN data_exception THEN
  RETURN NULL;
END
$$;
CREATE FUNCTION the_schema.row_changed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
    PERFORM "the_schema".enqueue(
      topic => replace(TG_ARGV[0], '{event}', event),
      payload => jsonb_build_object('event', event, 'schema', TG_TABLE_SCHEMA,
                                    'table', TG_TABLE_NAME, 'old', before, 'new', after),
      key => key_value, outbox => TG_ARGV[3]);
  END;
  RETURN NULL;
END
$$;
CREATE FUNCTION the_schema.set_asleep(flags regclass, sleeper integer, asleep boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
  now_is   bigint := date_part('epoch', pg_catalog.clock_timestamp());
  mine     bigint := 1::bigint << sleeper;
  was      bigint;
  sleepers bigint := 0;
  until    bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('sagabox flags ' || flags::oid, 0));
  was := coalesce(pg_sequence_last_value(flags), 0);
  until := was >> 31;
  IF until > now_is THEN sleepers := was & 2147483647 & ~mine; END IF;
  IF sleepers <> 0 THEN
    SELECT sleepers & coalesce(bit_or(1::bigint << l.objid::integer), 0) INTO sleepers
    FROM pg_locks AS l
    WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.objid::bigint BETWEEN 0 AND 30
      AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
      AND l.classid::bigint = hashtext('sagabox sleepers of the_schema')::bigint & 4294967295;
  END IF;
  IF asleep THEN
    sleepers := sleepers | mine;
    until := now_is + 10;
  END IF;
  PERFORM setval(flags, until << 31 | sleepers);
END
$$;
CREATE FUNCTION the_schema.take_sleeper() RETURNS integer
    LANGUAGE plpgsql
    AS $$
BEGIN
  FOR number IN 0 .. 30 LOOP
    IF pg_try_advisory_lock(hashtext('sagabox sleepers of the_schema'), number) THEN
      RETURN number;
    END IF;
  END LOOP;
  RETURN NULL;
END
$$;
CREATE FUNCTION the_schema.text_problem(field text, value text, length_max integer, may_be_empty boolean DEFAULT true) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
  SELECT CASE
    WHEN coalesce(value, '') = '' THEN
      CASE WHEN NOT may_be_empty
           THEN format('%s: empty; give 1 to %s printable characters', field, length_max) END
    WHEN length(value) > length_max THEN
      format('%s: %s characters, at most %s are allowed', field, length(value), length_max)
    WHEN value ~ '[\u0001-\u001f\u007f-\u009f]' THEN
      format('%s: has a control character; only printable characters are allowed', field)
  END
$$;
CREATE FUNCTION the_schema.ulid_head(of_number bigint) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
  head text := '';
BEGIN
  FOR place IN REVERSE 7 .. 0 LOOP
    head := head || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ',
                           (of_number >> 5 * place & 31)::integer + 1, 1);
  END LOOP;
  RETURN set_config('sagabox.ulid_head', head || to_hex(of_number), false);
END
$$;
CREATE FUNCTION the_schema.unwatch_table(of_table regclass, outbox text DEFAULT 'default'::text) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
  name CONSTANT text := 'sagabox_watch_' || outbox;
BEGIN
  IF NOT EXISTS (
    SELECT FROM pg_trigger AS t
    WHERE t.tgrelid = of_table AND t.tgname = name
      AND t.tgfoid = '"the_schema".row_changed()'::regprocedure) THEN
    RETURN false;
  END IF;
  EXECUTE format('DROP TRIGGER %I ON %s', name, of_table);
  RETURN true;
END
$$;
CREATE FUNCTION the_schema.watch_table(of_table regclass, topic text, key_column text DEFAULT NULL::text, events text[] DEFAULT '{insert,update,delete}'::text[], columns text[] DEFAULT NULL::text[], outbox text DEFAULT 'default'::text) RETURNS void
    LANGUAGE plpgsql
    AS $_$
DECLARE
  known   CONSTANT text[] := ARRAY(
    SELECT a.attname::text FROM pg_attribute AS a
    WHERE a.attrelid = of_table AND a.attnum > 0 AND NOT a.attisdropped);
  missing text;
  problem text;
BEGIN
  IF NOT EXISTS (SELECT FROM "the_schema".outbox AS o WHERE o.name = watch_table.outbox) THEN
    RAISE EXCEPTION USING ERRCODE = 'undefined_table', MESSAGE =
      format('outbox: there is no %L in schema the_schema; make it first', outbox);
  END IF;
  IF (SELECT c.relkind NOT IN ('r', 'p') FROM pg_class AS c WHERE c.oid = of_table) THEN
    RAISE EXCEPTION USING ERRCODE = 'wrong_object_type', MESSAGE =
      format('of_table: %s is no table; name one whose rows change', of_table);
  END IF;
  -- Reads do not wait for whoever settles: that must not write messages.
  IF EXISTS (
    SELECT FROM pg_class AS c
    WHERE c.oid = of_table AND c.relnamespace = '"the_schema"'::regnamespace
      AND (c.relname IN ('migration', 'outbox', 'worker', 'scope', 'member', 'shard_owner', 'pause',
                         'counter', 'replay_job', 'audit_log', 'audit_head')
           OR EXISTS (SELECT FROM "the_schema".outbox AS o
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
  problem := "the_schema".text_problem('topic', replace(topic, '{event}', 'inserted'), 128, false);
  IF problem IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = problem;
  END IF;
  PERFORM "the_schema".unwatch_table(of_table, outbox);
  EXECUTE format(
    'CREATE TRIGGER %I AFTER %s ON %s FOR EACH ROW '
    'EXECUTE FUNCTION "the_schema".row_changed(%L, %L, %L, %L)',
    'sagabox_watch_' || outbox,
    (SELECT string_agg(DISTINCT e, ' OR ') FROM unnest(events) AS e), of_table, topic, key_column,
    coalesce(columns, '{}')::text, outbox);
END
$_$;
CREATE TABLE the_schema."Billing_archive" (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    shard smallint NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    failed_for_good integer DEFAULT 0 NOT NULL,
    replays integer NOT NULL,
    written_at timestamp with time zone NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    payload bytea NOT NULL,
    is_json boolean NOT NULL,
    digest bytea,
    content_type text NOT NULL,
    headers text,
    occurred_at timestamp with time zone NOT NULL,
    not_before timestamp with time zone,
    traceparent text,
    tracestate text,
    request_id text,
    correlation_id text,
    code text,
    error text,
    history jsonb
)
PARTITION BY RANGE (ended_at);
CREATE TABLE the_schema."Billing_a20261117" (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    shard smallint NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    failed_for_good integer DEFAULT 0 NOT NULL,
    replays integer NOT NULL,
    written_at timestamp with time zone NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    payload bytea NOT NULL,
    is_json boolean NOT NULL,
    digest bytea,
    content_type text NOT NULL,
    headers text,
    occurred_at timestamp with time zone NOT NULL,
    not_before timestamp with time zone,
    traceparent text,
    tracestate text,
    request_id text,
    correlation_id text,
    code text,
    error text,
    history jsonb
);
CREATE TABLE the_schema."Billing_a20261118" (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    shard smallint NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    failed_for_good integer DEFAULT 0 NOT NULL,
    replays integer NOT NULL,
    written_at timestamp with time zone NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    payload bytea NOT NULL,
    is_json boolean NOT NULL,
    digest bytea,
    content_type text NOT NULL,
    headers text,
    occurred_at timestamp with time zone NOT NULL,
    not_before timestamp with time zone,
    traceparent text,
    tracestate text,
    request_id text,
    correlation_id text,
    code text,
    error text,
    history jsonb
);
CREATE TABLE the_schema."Billing_a20261119" (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    shard smallint NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    failed_for_good integer DEFAULT 0 NOT NULL,
    replays integer NOT NULL,
    written_at timestamp with time zone NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    payload bytea NOT NULL,
    is_json boolean NOT NULL,
    digest bytea,
    content_type text NOT NULL,
    headers text,
    occurred_at timestamp with time zone NOT NULL,
    not_before timestamp with time zone,
    traceparent text,
    tracestate text,
    request_id text,
    correlation_id text,
    code text,
    error text,
    history jsonb
);
CREATE TABLE the_schema."Billing_a20261120" (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    shard smallint NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    failed_for_good integer DEFAULT 0 NOT NULL,
    replays integer NOT NULL,
    written_at timestamp with time zone NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    payload bytea NOT NULL,
    is_json boolean NOT NULL,
    digest bytea,
    content_type text NOT NULL,
    headers text,
    occurred_at timestamp with time zone NOT NULL,
    not_before timestamp with time zone,
    traceparent text,
    tracestate text,
    request_id text,
    correlation_id text,
    code text,
    error text,
    history jsonb
);
CREATE TABLE the_schema."Billing_a20261121" (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    shard smallint NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    failed_for_good integer DEFAULT 0 NOT NULL,
    replays integer NOT NULL,
    written_at timestamp with time zone NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    payload bytea NOT NULL,
    is_json boolean NOT NULL,
    digest bytea,
    content_type text NOT NULL,
    headers text,
    occurred_at timestamp with time zone NOT NULL,
    not_before timestamp with time zone,
    traceparent text,
    tracestate text,
    request_id text,
    correlation_id text,
    code text,
    error text,
    history jsonb
);
CREATE TABLE the_schema."Billing_archive_rest" (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    shard smallint NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    failed_for_good integer DEFAULT 0 NOT NULL,
    replays integer NOT NULL,
    written_at timestamp with time zone NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    payload bytea NOT NULL,
    is_json boolean NOT NULL,
    digest bytea,
    content_type text NOT NULL,
    headers text,
    occurred_at timestamp with time zone NOT NULL,
    not_before timestamp with time zone,
    traceparent text,
    tracestate text,
    request_id text,
    correlation_id text,
    code text,
    error text,
    history jsonb
);
CREATE TABLE the_schema."Billing_claim" (
    seq bigint NOT NULL,
    shard smallint NOT NULL,
    lane smallint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000', autovacuum_analyze_scale_factor='0', autovacuum_analyze_threshold='50000', autovacuum_vacuum_cost_delay='0', vacuum_truncate=off);
CREATE TABLE the_schema."Billing_dead" (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    shard smallint NOT NULL,
    state text NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    note text,
    attempts integer NOT NULL,
    failed_for_good integer DEFAULT 0 NOT NULL,
    replays integer NOT NULL,
    written_at timestamp with time zone NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    payload bytea NOT NULL,
    is_json boolean NOT NULL,
    digest bytea,
    content_type text NOT NULL,
    headers text,
    occurred_at timestamp with time zone NOT NULL,
    not_before timestamp with time zone,
    traceparent text,
    tracestate text,
    request_id text,
    correlation_id text,
    code text,
    error text,
    history jsonb,
    CONSTRAINT "Billing_dead_attempts_check" CHECK ((attempts >= 0)),
    CONSTRAINT "Billing_dead_state_check" CHECK ((state = ANY (ARRAY['dead'::text, 'quarantined'::text])))
);
CREATE SEQUENCE the_schema."Billing_flags"
    START WITH 0
    INCREMENT BY 1
    MINVALUE 0
    NO MAXVALUE
    CACHE 1;
CREATE TABLE the_schema."Billing_outbox" (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    seq bigint NOT NULL,
    id the_schema.message_id DEFAULT the_schema.new_id() NOT NULL,
    shard smallint GENERATED ALWAYS AS (((COALESCE((hashtextextended((key)::text, (0)::bigint) & (2147483647)::bigint), seq) % (16)::bigint))::smallint) STORED NOT NULL,
    lane smallint GENERATED ALWAYS AS (
CASE
    WHEN (key IS NULL) THEN (priority)::smallint
    ELSE (1)::smallint
END) STORED NOT NULL,
    due timestamp with time zone,
    retrying boolean DEFAULT false NOT NULL,
    attempts the_schema.message_count DEFAULT 0 NOT NULL,
    failed_for_good integer DEFAULT 0 NOT NULL,
    replays integer DEFAULT 0 NOT NULL,
    written_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    tenant text DEFAULT 'default'::text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    aggregate_type text DEFAULT '__GLOBAL__'::text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text COLLATE pg_catalog."C",
    key the_schema.message_key,
    priority the_schema.message_priority DEFAULT 1 NOT NULL,
    payload bytea NOT NULL,
    is_json boolean DEFAULT true NOT NULL,
    digest bytea,
    content_type text DEFAULT 'application/json'::text NOT NULL,
    headers text,
    occurred_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    not_before timestamp with time zone,
    traceparent text,
    tracestate text,
    request_id text,
    correlation_id text,
    code text,
    error text,
    history jsonb,
    targets_done bigint
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000', autovacuum_analyze_scale_factor='0', autovacuum_analyze_threshold='50000', autovacuum_vacuum_cost_delay='0', vacuum_truncate=off);
CREATE VIEW the_schema."Billing_messages" AS
 SELECT
        CASE
            WHEN (m.due IS NULL) THEN 'pending'::text
            WHEN m.retrying THEN 'retrying'::text
            ELSE 'waiting'::text
        END AS state,
    m.seq,
    m.id,
    m.tenant,
    m.topic,
    m.key,
    m.aggregate_type,
    m.aggregate_id,
    m.attempts,
    m.replays,
    m.written_at,
    (clock_timestamp() - m.written_at) AS age,
    m.due,
    NULL::timestamp with time zone AS ended_at,
    m.code,
    m.error,
    NULL::text AS note,
    m.headers,
    octet_length(m.payload) AS payload_bytes,
    the_schema.payload_text(m.payload, m.is_json) AS payload
   FROM the_schema."Billing_outbox" m
UNION ALL
 SELECT m.state,
    m.seq,
    m.id,
    m.tenant,
    m.topic,
    m.key,
    m.aggregate_type,
    m.aggregate_id,
    m.attempts,
    m.replays,
    m.written_at,
    (clock_timestamp() - m.written_at) AS age,
    NULL::timestamp with time zone AS due,
    m.ended_at,
    m.code,
    m.error,
    m.note,
    m.headers,
    octet_length(m.payload) AS payload_bytes,
    the_schema.payload_text(m.payload, m.is_json) AS payload
   FROM the_schema."Billing_dead" m
UNION ALL
 SELECT 'done'::text AS state,
    m.seq,
    m.id,
    m.tenant,
    m.topic,
    m.key,
    m.aggregate_type,
    m.aggregate_id,
    m.attempts,
    m.replays,
    m.written_at,
    (clock_timestamp() - m.written_at) AS age,
    NULL::timestamp with time zone AS due,
    m.ended_at,
    m.code,
    m.error,
    NULL::text AS note,
    m.headers,
    octet_length(m.payload) AS payload_bytes,
    the_schema.payload_text(m.payload, m.is_json) AS payload
   FROM the_schema."Billing_archive" m;
CREATE SEQUENCE the_schema."Billing_seq"
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE the_schema."Billing_seq" OWNED BY the_schema."Billing_outbox".seq;
CREATE TABLE the_schema.audit_head (
    only_one boolean DEFAULT true NOT NULL,
    number bigint NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT audit_head_only_one_check CHECK (only_one)
);
CREATE TABLE the_schema.audit_log (
    number bigint NOT NULL,
    kind text NOT NULL,
    at timestamp with time zone NOT NULL,
    outbox bytea DEFAULT '\x'::bytea NOT NULL,
    tenant bytea DEFAULT '\x'::bytea NOT NULL,
    topic bytea DEFAULT '\x'::bytea NOT NULL,
    message_id bytea DEFAULT '\x'::bytea NOT NULL,
    attempt bigint DEFAULT 0 NOT NULL,
    digest bytea NOT NULL,
    traceparent bytea DEFAULT '\x'::bytea NOT NULL,
    code bytea DEFAULT '\x'::bytea NOT NULL,
    detail bytea DEFAULT '\x'::bytea NOT NULL,
    actor bytea DEFAULT '\x'::bytea NOT NULL,
    previous bytea NOT NULL,
    hash bytea NOT NULL
);
CREATE TABLE the_schema.counter (
    outbox text NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    slot smallint DEFAULT 0 NOT NULL,
    value bigint DEFAULT 0 NOT NULL
);
CREATE TABLE the_schema.member (
    scope text NOT NULL COLLATE pg_catalog."C",
    worker text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE the_schema.migration (
    number integer NOT NULL,
    outbox text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
CREATE TABLE the_schema.orders_archive (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    shard smallint NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    failed_for_good integer DEFAULT 0 NOT NULL,
    replays integer NOT NULL,
    written_at timestamp with time zone NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    payload bytea NOT NULL,
    is_json boolean NOT NULL,
    digest bytea,
    content_type text NOT NULL,
    headers text,
    occurred_at timestamp with time zone NOT NULL,
    not_before timestamp with time zone,
    traceparent text,
    tracestate text,
    request_id text,
    correlation_id text,
    code text,
    error text,
    history jsonb
)
PARTITION BY RANGE (ended_at);
CREATE TABLE the_schema.orders_a20261117 (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    shard smallint NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    failed_for_good integer DEFAULT 0 NOT NULL,
    replays integer NOT NULL,
    written_at timestamp with time zone NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    payload bytea NOT NULL,
    is_json boolean NOT NULL,
    digest bytea,
    content_type text NOT NULL,
    headers text,
    occurred_at timestamp with time zone NOT NULL,
    not_before timestamp with time zone,
    traceparent text,
    tracestate text,
    request_id text,
    correlation_id text,
    code text,
    error text,
    history jsonb
);
CREATE TABLE the_schema.orders_a20261118 (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    shard smallint NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    failed_for_good integer DEFAULT 0 NOT NULL,
    replays integer NOT NULL,
    written_at timestamp with time zone NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    payload bytea NOT NULL,
    is_json boolean NOT NULL,
    digest bytea,
    content_type text NOT NULL,
    headers text,
    occurred_at timestamp with time zone NOT NULL,
    not_before timestamp with time zone,
    traceparent text,
    tracestate text,
    request_id text,
    correlation_id text,
    code text,
    error text,
    history jsonb
);
CREATE TABLE the_schema.orders_a20261119 (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    shard smallint NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    failed_for_good integer DEFAULT 0 NOT NULL,
    replays integer NOT NULL,
    written_at timestamp with time zone NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    payload bytea NOT NULL,
    is_json boolean NOT NULL,
    digest bytea,
    content_type text NOT NULL,
    headers text,
    occurred_at timestamp with time zone NOT NULL,
    not_before timestamp with time zone,
    traceparent text,
    tracestate text,
    request_id text,
    correlation_id text,
    code text,
    error text,
    history jsonb
);
CREATE TABLE the_schema.orders_a20261120 (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    shard smallint NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    failed_for_good integer DEFAULT 0 NOT NULL,
    replays integer NOT NULL,
    written_at timestamp with time zone NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    payload bytea NOT NULL,
    is_json boolean NOT NULL,
    digest bytea,
    content_type text NOT NULL,
    headers text,
    occurred_at timestamp with time zone NOT NULL,
    not_before timestamp with time zone,
    traceparent text,
    tracestate text,
    request_id text,
    correlation_id text,
    code text,
    error text,
    history jsonb
);
CREATE TABLE the_schema.orders_a20261121 (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    shard smallint NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    failed_for_good integer DEFAULT 0 NOT NULL,
    replays integer NOT NULL,
    written_at timestamp with time zone NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    payload bytea NOT NULL,
    is_json boolean NOT NULL,
    digest bytea,
    content_type text NOT NULL,
    headers text,
    occurred_at timestamp with time zone NOT NULL,
    not_before timestamp with time zone,
    traceparent text,
    tracestate text,
    request_id text,
    correlation_id text,
    code text,
    error text,
    history jsonb
);
CREATE TABLE the_schema.orders_archive_rest (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    shard smallint NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    failed_for_good integer DEFAULT 0 NOT NULL,
    replays integer NOT NULL,
    written_at timestamp with time zone NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    payload bytea NOT NULL,
    is_json boolean NOT NULL,
    digest bytea,
    content_type text NOT NULL,
    headers text,
    occurred_at timestamp with time zone NOT NULL,
    not_before timestamp with time zone,
    traceparent text,
    tracestate text,
    request_id text,
    correlation_id text,
    code text,
    error text,
    history jsonb
);
CREATE TABLE the_schema.orders_claim (
    seq bigint NOT NULL,
    shard smallint NOT NULL,
    lane smallint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000', autovacuum_analyze_scale_factor='0', autovacuum_analyze_threshold='50000', autovacuum_vacuum_cost_delay='0', vacuum_truncate=off);
CREATE TABLE the_schema.orders_dead (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    shard smallint NOT NULL,
    state text NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    note text,
    attempts integer NOT NULL,
    failed_for_good integer DEFAULT 0 NOT NULL,
    replays integer NOT NULL,
    written_at timestamp with time zone NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    payload bytea NOT NULL,
    is_json boolean NOT NULL,
    digest bytea,
    content_type text NOT NULL,
    headers text,
    occurred_at timestamp with time zone NOT NULL,
    not_before timestamp with time zone,
    traceparent text,
    tracestate text,
    request_id text,
    correlation_id text,
    code text,
    error text,
    history jsonb,
    CONSTRAINT orders_dead_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT orders_dead_state_check CHECK ((state = ANY (ARRAY['dead'::text, 'quarantined'::text])))
);
CREATE SEQUENCE the_schema.orders_flags
    START WITH 0
    INCREMENT BY 1
    MINVALUE 0
    NO MAXVALUE
    CACHE 1;
CREATE TABLE the_schema.orders_outbox (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    seq bigint NOT NULL,
    id the_schema.message_id DEFAULT the_schema.new_id() NOT NULL,
    shard smallint GENERATED ALWAYS AS (((COALESCE((hashtextextended((key)::text, (0)::bigint) & (2147483647)::bigint), seq) % (16)::bigint))::smallint) STORED NOT NULL,
    lane smallint GENERATED ALWAYS AS (
CASE
    WHEN (key IS NULL) THEN (priority)::smallint
    ELSE (1)::smallint
END) STORED NOT NULL,
    due timestamp with time zone,
    retrying boolean DEFAULT false NOT NULL,
    attempts the_schema.message_count DEFAULT 0 NOT NULL,
    failed_for_good integer DEFAULT 0 NOT NULL,
    replays integer DEFAULT 0 NOT NULL,
    written_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    tenant text DEFAULT 'default'::text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    aggregate_type text DEFAULT '__GLOBAL__'::text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text COLLATE pg_catalog."C",
    key the_schema.message_key,
    priority the_schema.message_priority DEFAULT 1 NOT NULL,
    payload bytea NOT NULL,
    is_json boolean DEFAULT true NOT NULL,
    digest bytea,
    content_type text DEFAULT 'application/json'::text NOT NULL,
    headers text,
    occurred_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    not_before timestamp with time zone,
    traceparent text,
    tracestate text,
    request_id text,
    correlation_id text,
    code text,
    error text,
    history jsonb,
    targets_done bigint
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000', autovacuum_analyze_scale_factor='0', autovacuum_analyze_threshold='50000', autovacuum_vacuum_cost_delay='0', vacuum_truncate=off);
CREATE VIEW the_schema.orders_messages AS
 SELECT
        CASE
            WHEN (m.due IS NULL) THEN 'pending'::text
            WHEN m.retrying THEN 'retrying'::text
            ELSE 'waiting'::text
        END AS state,
    m.seq,
    m.id,
    m.tenant,
    m.topic,
    m.key,
    m.aggregate_type,
    m.aggregate_id,
    m.attempts,
    m.replays,
    m.written_at,
    (clock_timestamp() - m.written_at) AS age,
    m.due,
    NULL::timestamp with time zone AS ended_at,
    m.code,
    m.error,
    NULL::text AS note,
    m.headers,
    octet_length(m.payload) AS payload_bytes,
    the_schema.payload_text(m.payload, m.is_json) AS payload
   FROM the_schema.orders_outbox m
UNION ALL
 SELECT m.state,
    m.seq,
    m.id,
    m.tenant,
    m.topic,
    m.key,
    m.aggregate_type,
    m.aggregate_id,
    m.attempts,
    m.replays,
    m.written_at,
    (clock_timestamp() - m.written_at) AS age,
    NULL::timestamp with time zone AS due,
    m.ended_at,
    m.code,
    m.error,
    m.note,
    m.headers,
    octet_length(m.payload) AS payload_bytes,
    the_schema.payload_text(m.payload, m.is_json) AS payload
   FROM the_schema.orders_dead m
UNION ALL
 SELECT 'done'::text AS state,
    m.seq,
    m.id,
    m.tenant,
    m.topic,
    m.key,
    m.aggregate_type,
    m.aggregate_id,
    m.attempts,
    m.replays,
    m.written_at,
    (clock_timestamp() - m.written_at) AS age,
    NULL::timestamp with time zone AS due,
    m.ended_at,
    m.code,
    m.error,
    NULL::text AS note,
    m.headers,
    octet_length(m.payload) AS payload_bytes,
    the_schema.payload_text(m.payload, m.is_json) AS payload
   FROM the_schema.orders_archive m;
CREATE SEQUENCE the_schema.orders_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE the_schema.orders_seq OWNED BY the_schema.orders_outbox.seq;
CREATE TABLE the_schema.outbox (
    name text NOT NULL,
    shards smallint NOT NULL,
    made_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT outbox_shards_check CHECK ((shards > 0))
);
CREATE TABLE the_schema.pause (
    outbox text NOT NULL,
    topic text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    actor text DEFAULT ''::text NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    since timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
CREATE TABLE the_schema.replay_job (
    outbox text NOT NULL,
    id bigint NOT NULL,
    state text DEFAULT 'running'::text NOT NULL,
    from_state text NOT NULL,
    tenant text,
    topic text,
    aggregate_type text,
    key text,
    code text,
    ended_from timestamp with time zone,
    ended_until timestamp with time zone,
    first bigint,
    last_wanted bigint,
    retrying boolean DEFAULT false NOT NULL,
    cursor bigint DEFAULT 0 NOT NULL,
    last bigint DEFAULT 0 NOT NULL,
    rate_max bigint DEFAULT 0 NOT NULL,
    matched bigint DEFAULT 0 NOT NULL,
    replayed bigint DEFAULT 0 NOT NULL,
    actor text DEFAULT ''::text NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT replay_job_from_state_check CHECK ((from_state = ANY (ARRAY['dead'::text, 'quarantined'::text, 'done'::text]))),
    CONSTRAINT replay_job_state_check CHECK ((state = ANY (ARRAY['running'::text, 'stopped'::text, 'finished'::text, 'failed'::text])))
);
CREATE TABLE the_schema.scope (
    name text NOT NULL COLLATE pg_catalog."C",
    shards smallint NOT NULL,
    CONSTRAINT scope_shards_check CHECK ((shards > 0))
);
CREATE TABLE the_schema.shard_owner (
    scope text NOT NULL COLLATE pg_catalog."C",
    shard smallint NOT NULL,
    owner text COLLATE pg_catalog."C",
    epoch bigint DEFAULT 0 NOT NULL
);
CREATE TABLE the_schema.worker (
    id text NOT NULL COLLATE pg_catalog."C",
    lease_until timestamp with time zone NOT NULL,
    joined_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
ALTER TABLE ONLY the_schema."Billing_archive" ATTACH PARTITION the_schema."Billing_a20261117" FOR VALUES FROM ('2026-11-17 00:00:00+00') TO ('2026-11-18 00:00:00+00');
ALTER TABLE ONLY the_schema."Billing_archive" ATTACH PARTITION the_schema."Billing_a20261118" FOR VALUES FROM ('2026-11-18 00:00:00+00') TO ('2026-11-19 00:00:00+00');
ALTER TABLE ONLY the_schema."Billing_archive" ATTACH PARTITION the_schema."Billing_a20261119" FOR VALUES FROM ('2026-11-19 00:00:00+00') TO ('2026-11-20 00:00:00+00');
ALTER TABLE ONLY the_schema."Billing_archive" ATTACH PARTITION the_schema."Billing_a20261120" FOR VALUES FROM ('2026-11-20 00:00:00+00') TO ('2026-11-21 00:00:00+00');
ALTER TABLE ONLY the_schema."Billing_archive" ATTACH PARTITION the_schema."Billing_a20261121" FOR VALUES FROM ('2026-11-21 00:00:00+00') TO ('2026-11-22 00:00:00+00');
ALTER TABLE ONLY the_schema."Billing_archive" ATTACH PARTITION the_schema."Billing_archive_rest" DEFAULT;
ALTER TABLE ONLY the_schema.orders_archive ATTACH PARTITION the_schema.orders_a20261117 FOR VALUES FROM ('2026-11-17 00:00:00+00') TO ('2026-11-18 00:00:00+00');
ALTER TABLE ONLY the_schema.orders_archive ATTACH PARTITION the_schema.orders_a20261118 FOR VALUES FROM ('2026-11-18 00:00:00+00') TO ('2026-11-19 00:00:00+00');
ALTER TABLE ONLY the_schema.orders_archive ATTACH PARTITION the_schema.orders_a20261119 FOR VALUES FROM ('2026-11-19 00:00:00+00') TO ('2026-11-20 00:00:00+00');
ALTER TABLE ONLY the_schema.orders_archive ATTACH PARTITION the_schema.orders_a20261120 FOR VALUES FROM ('2026-11-20 00:00:00+00') TO ('2026-11-21 00:00:00+00');
ALTER TABLE ONLY the_schema.orders_archive ATTACH PARTITION the_schema.orders_a20261121 FOR VALUES FROM ('2026-11-21 00:00:00+00') TO ('2026-11-22 00:00:00+00');
ALTER TABLE ONLY the_schema.orders_archive ATTACH PARTITION the_schema.orders_archive_rest DEFAULT;
ALTER TABLE ONLY the_schema."Billing_outbox" ALTER COLUMN seq SET DEFAULT nextval('the_schema."Billing_seq"'::regclass);
ALTER TABLE ONLY the_schema.orders_outbox ALTER COLUMN seq SET DEFAULT nextval('the_schema.orders_seq'::regclass);
INSERT INTO the_schema."Billing_outbox" VALUES
	('821', 1, '01M7PWEFVM4B34BB420BF4844E', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.533174+00', 'acme', 'ok.billed.v1', '__GLOBAL__', NULL, 'customer-7', 1, '\x7b226e223a317d', true, NULL, 'application/json', NULL, '2026-11-18 08:30:20.531916+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO the_schema.audit_head VALUES
	(true, 7, '\x822a4f6675f4a6325103b7ce21f435059aa8cf32b965b6b8a3b39d12fe1b6a86');
INSERT INTO the_schema.audit_log VALUES
	(1, 'DeadLetter', '2026-11-18 08:30:18.345264+00', '\x6f7264657273', '\x61636d65', '\x72656a6563742e706c616365642e7631', '\x646561642d33', 1, '\x215ddd5567ca2590efd4ea109b4e56cbe591e2676fbf54a9262692c539166da6', '\x', '\x50524f56494445522e52454a4543544544', '\x687474703a2f2f3132372e302e302e313a353539382f72656a6563743a203430302066726f6d203132372e302e302e31', '\x', '\x0000000000000000000000000000000000000000000000000000000000000000', '\x170e60178a68d54229f42ed6a4304fb0bf1d5cf843e334f13b257dd3327f383a'),
	(2, 'DeadLetter', '2026-11-18 08:30:18.348441+00', '\x6f7264657273', '\x64656661756c74', '\x72656a6563742e706c616365642e7631', '\x646561642d34', 1, '\xf3e0792e105e2bfe88e7b3bab5097b93a59a8c5b239fe3c6f87a8d0f72ab9032', '\x', '\x50524f56494445522e52454a4543544544', '\x687474703a2f2f3132372e302e302e313a353539382f72656a6563743a203430302066726f6d203132372e302e302e31', '\x', '\x170e60178a68d54229f42ed6a4304fb0bf1d5cf843e334f13b257dd3327f383a', '\x85bbf8d353d7778763e681b032d8fef31a9d4308725097cb195fb47b91334ea4'),
	(3, 'DeadLetter', '2026-11-18 08:30:18.348441+00', '\x6f7264657273', '\x61636d65', '\x72656a6563742e706c616365642e7631', '\x646561642d35', 1, '\x11d0a8967009cbcdf468f09e5b09e73e7119b528c35a0e0b23f2ae052786b8fa', '\x', '\x50524f56494445522e52454a4543544544', '\x687474703a2f2f3132372e302e302e313a353539382f72656a6563743a203430302066726f6d203132372e302e302e31', '\x', '\x85bbf8d353d7778763e681b032d8fef31a9d4308725097cb195fb47b91334ea4', '\x22b6050ccc207cbb2d05055537ed38ffe7d43c8ca2adf5880e147d5ebd31a403'),
	(4, 'DeadLetter', '2026-11-18 08:30:18.348441+00', '\x6f7264657273', '\x61636d65', '\x72656a6563742e706c616365642e7631', '\x646561642d31', 1, '\x2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd', '\x', '\x50524f56494445522e52454a4543544544', '\x687474703a2f2f3132372e302e302e313a353539382f72656a6563743a203430302066726f6d203132372e302e302e31', '\x', '\x22b6050ccc207cbb2d05055537ed38ffe7d43c8ca2adf5880e147d5ebd31a403', '\xb7deaf58458a9d21d5064c43d60c95441731209c1945120bc6533b298223488d'),
	(5, 'DeadLetter', '2026-11-18 08:30:19.357744+00', '\x6f7264657273', '\x64656661756c74', '\x72656a6563742e706c616365642e7631', '\x646561642d32', 1, '\x363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8', '\x', '\x50524f56494445522e52454a4543544544', '\x687474703a2f2f3132372e302e302e313a353539382f72656a6563743a203430302066726f6d203132372e302e302e31', '\x', '\xb7deaf58458a9d21d5064c43d60c95441731209c1945120bc6533b298223488d', '\xf139b7170a4128c2e723424309bfaae9b2ecf1d61c24fab526cd5b3f44674994'),
	(6, 'Quarantined', '2026-11-18 08:30:19.535365+00', '\x6f7264657273', '\x64656661756c74', '\x72656a6563742e706c616365642e7631', '\x646561642d34', 1, '\xf3e0792e105e2bfe88e7b3bab5097b93a59a8c5b239fe3c6f87a8d0f72ab9032', '\x', '\x', '\x6c6f6f6b6564206174', '\x6f7073', '\xf139b7170a4128c2e723424309bfaae9b2ecf1d61c24fab526cd5b3f44674994', '\xf92630de91c2bec64780d36e67535ab4f4333cc9b11d73cbd6851342c9512958'),
	(7, 'Quarantined', '2026-11-18 08:30:19.535365+00', '\x6f7264657273', '\x61636d65', '\x72656a6563742e706c616365642e7631', '\x646561642d35', 1, '\x11d0a8967009cbcdf468f09e5b09e73e7119b528c35a0e0b23f2ae052786b8fa', '\x', '\x', '\x6c6f6f6b6564206174', '\x6f7073', '\xf92630de91c2bec64780d36e67535ab4f4333cc9b11d73cbd6851342c9512958', '\x822a4f6675f4a6325103b7ce21f435059aa8cf32b965b6b8a3b39d12fe1b6a86');
INSERT INTO the_schema.counter VALUES
	('orders', 'taken', 0, 0),
	('Billing', 'taken', 0, 0);
INSERT INTO the_schema.member VALUES
	('outbox:orders', '01M7PWEDMFAJMZDB7VNPN1KDZZ'),
	('purge:orders', '01M7PWEDMFAJMZDB7VNPN1KDZZ'),
	('replay:orders', '01M7PWEDMFAJMZDB7VNPN1KDZZ');
INSERT INTO the_schema.migration VALUES
	(1, '', 'outbox', '2026-11-18 08:30:17.571313+00'),
	(2, '', 'enqueue', '2026-11-18 08:30:17.577389+00'),
	(3, '', 'wake', '2026-11-18 08:30:17.577939+00'),
	(4, '', 'operators', '2026-11-18 08:30:17.583244+00'),
	(1, 'orders', 'outbox', '2026-11-18 08:30:17.675208+00'),
	(2, 'orders', 'enqueue', '2026-11-18 08:30:17.688649+00'),
	(3, 'orders', 'wake', '2026-11-18 08:30:17.689577+00'),
	(4, 'orders', 'operators', '2026-11-18 08:30:17.697889+00'),
	(1, 'Billing', 'outbox', '2026-11-18 08:30:17.956588+00'),
	(2, 'Billing', 'enqueue', '2026-11-18 08:30:17.963912+00'),
	(3, 'Billing', 'wake', '2026-11-18 08:30:17.964902+00'),
	(4, 'Billing', 'operators', '2026-11-18 08:30:17.969653+00');
INSERT INTO the_schema.orders_a20261118 VALUES
	(1, 'done-1', 4, '2026-11-18 08:30:18.341946+00', 1, 0, 0, '2026-11-18 08:30:18.088568+00', 'default', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-1', 1, '\x7b226e223a317d', true, NULL, 'application/json', NULL, '2026-11-18 08:30:18.08779+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(2, 'done-2', 12, '2026-11-18 08:30:18.341946+00', 1, 0, 0, '2026-11-18 08:30:18.092889+00', 'default', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-0', 1, '\x7b226e223a327d', true, NULL, 'application/json', NULL, '2026-11-18 08:30:18.09278+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(3, 'done-3', 4, '2026-11-18 08:30:18.348206+00', 1, 0, 0, '2026-11-18 08:30:18.093807+00', 'acme', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-1', 1, '\x7b226e223a337d', true, NULL, 'application/json', NULL, '2026-11-18 08:30:18.093716+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(4, 'done-4', 12, '2026-11-18 08:30:18.348206+00', 1, 0, 0, '2026-11-18 08:30:18.094706+00', 'acme', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-0', 1, '\x7b226e223a347d', true, NULL, 'application/json', NULL, '2026-11-18 08:30:18.094605+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO the_schema.orders_dead VALUES
	(7, 'dead-3', 4, 'dead', '2026-11-18 08:30:18.345264+00', NULL, 1, 1, 0, '2026-11-18 08:30:18.097975+00', 'acme', 'reject.placed.v1', '__GLOBAL__', NULL, 'refused-3', 1, '\x7b226e223a337d', true, NULL, 'application/json', NULL, '2026-11-18 08:30:18.097918+00', NULL, NULL, NULL, NULL, NULL, 'PROVIDER.REJECTED', 'http://127.0.0.1:5598/reject: 400 from 127.0.0.1', '[{"at": 1794990618345264, "code": "PROVIDER.REJECTED", "error": "http://127.0.0.1:5598/reject: 400 from 127.0.0.1", "number": 1}]'),
	(5, 'dead-1', 0, 'dead', '2026-11-18 08:30:18.348441+00', NULL, 1, 1, 0, '2026-11-18 08:30:18.096318+00', 'acme', 'reject.placed.v1', '__GLOBAL__', NULL, 'refused-1', 1, '\x7b226e223a317d', true, NULL, 'application/json', NULL, '2026-11-18 08:30:18.096222+00', NULL, NULL, NULL, NULL, NULL, 'PROVIDER.REJECTED', 'http://127.0.0.1:5598/reject: 400 from 127.0.0.1', '[{"at": 1794990618348441, "code": "PROVIDER.REJECTED", "error": "http://127.0.0.1:5598/reject: 400 from 127.0.0.1", "number": 1}]'),
	(6, 'dead-2', 0, 'dead', '2026-11-18 08:30:19.357744+00', NULL, 1, 1, 0, '2026-11-18 08:30:18.097153+00', 'default', 'reject.placed.v1', '__GLOBAL__', NULL, 'refused-2', 1, '\x7b226e223a327d', true, NULL, 'application/json', NULL, '2026-11-18 08:30:18.097052+00', NULL, NULL, NULL, NULL, NULL, 'PROVIDER.REJECTED', 'http://127.0.0.1:5598/reject: 400 from 127.0.0.1', '[{"at": 1794990619357744, "code": "PROVIDER.REJECTED", "error": "http://127.0.0.1:5598/reject: 400 from 127.0.0.1", "number": 1}]'),
	(8, 'dead-4', 4, 'quarantined', '2026-11-18 08:30:19.536012+00', 'looked at', 1, 1, 0, '2026-11-18 08:30:18.09849+00', 'default', 'reject.placed.v1', '__GLOBAL__', NULL, 'refused-4', 1, '\x7b226e223a347d', true, NULL, 'application/json', NULL, '2026-11-18 08:30:18.098433+00', NULL, NULL, NULL, NULL, NULL, 'PROVIDER.REJECTED', 'http://127.0.0.1:5598/reject: 400 from 127.0.0.1', '[{"at": 1794990618348441, "code": "PROVIDER.REJECTED", "error": "http://127.0.0.1:5598/reject: 400 from 127.0.0.1", "number": 1}]'),
	(9, 'dead-5', 13, 'quarantined', '2026-11-18 08:30:19.536084+00', 'looked at', 1, 1, 0, '2026-11-18 08:30:18.099002+00', 'acme', 'reject.placed.v1', '__GLOBAL__', NULL, 'refused-5', 1, '\x7b226e223a357d', true, NULL, 'application/json', NULL, '2026-11-18 08:30:18.098953+00', NULL, NULL, NULL, NULL, NULL, 'PROVIDER.REJECTED', 'http://127.0.0.1:5598/reject: 400 from 127.0.0.1', '[{"at": 1794990618348441, "code": "PROVIDER.REJECTED", "error": "http://127.0.0.1:5598/reject: 400 from 127.0.0.1", "number": 1}]'),
	(43, 'done-2', 12, 'dead', '2026-11-18 08:30:19.357744+00', NULL, 1, 1, 0, '2026-11-18 08:30:18.097153+00', 'default', 'reject.placed.v1', '__GLOBAL__', NULL, 'customer-0', 1, '\x7b226e223a327d', true, NULL, 'application/json', NULL, '2026-11-18 08:30:18.097052+00', NULL, NULL, NULL, NULL, NULL, 'PROVIDER.REJECTED', 'http://127.0.0.1:5598/reject: 400 from 127.0.0.1', '[{"at": 1794990619357744, "code": "PROVIDER.REJECTED", "error": "http://127.0.0.1:5598/reject: 400 from 127.0.0.1", "number": 1}]');
INSERT INTO the_schema.orders_outbox VALUES
	('809', 11, 'ours-acme-1', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:19.654319+00', 'acme', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-7', 1, '\x7b226e223a3130317d', true, '\x63884d7c4440ba0f9b8b60fd7601272a3fe161f263d3be67e614c8deeb973999', 'application/json', NULL, '2026-11-18 08:30:19.630519+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('810', 12, 'ours-default-1', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:19.791108+00', 'default', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-7', 1, '\x7b226e223a3230317d', true, '\x181f7a353f3ea08c6d35f2321cc1a46dd73f3e81e693a477ee1d4ccda3329e52', 'application/json', NULL, '2026-11-18 08:30:19.759671+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('811', 13, 'ours-acme-2', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:19.943067+00', 'acme', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-7', 1, '\x7b226e223a3130327d', true, '\x78f8646ce8bf258e50adab8d1c6fafa6a01b53bc41d2d356233e83e547f75340', 'application/json', NULL, '2026-11-18 08:30:19.910263+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('812', 14, 'ours-default-2', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.071079+00', 'default', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-7', 1, '\x7b226e223a3230327d', true, '\x37a78680171a914cd5d1bc64bb75c8c33cff1816d8d6731910c14ee887e12284', 'application/json', NULL, '2026-11-18 08:30:20.056703+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('813', 15, 'ours-acme-3', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.223111+00', 'acme', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-7', 1, '\x7b226e223a3130337d', true, '\x55c7313153038e404883e62978ef6f060ed4fd95ab862e8dcddf004723a07012', 'application/json', NULL, '2026-11-18 08:30:20.206319+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('814', 16, 'ours-default-3', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.36675+00', 'default', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-7', 1, '\x7b226e223a3230337d', true, '\x2f4aa79050f577ac3c0ce1c7741074be260041c4b32a4e14b8a7b86a61534d20', 'application/json', NULL, '2026-11-18 08:30:20.342597+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('794', 10, 'retrying-1', DEFAULT, DEFAULT, '2026-01-02 00:00:00+00', true, 1, 1, 0, '2026-11-18 08:30:18.10017+00', 'acme', 'flaky.placed.v1', '__GLOBAL__', NULL, 'customer-7', 1, '\x7b226e223a3130307d', true, NULL, 'application/json', NULL, '2026-11-18 08:30:18.100111+00', NULL, NULL, NULL, NULL, NULL, 'PROVIDER.UNAVAILABLE', 'http://127.0.0.1:5598/flaky: 500 from 127.0.0.1', '[{"at": 1794990618343654, "code": "PROVIDER.UNAVAILABLE", "error": "http://127.0.0.1:5598/flaky: 500 from 127.0.0.1", "number": 1}]', 0),
	('816', 17, 'pending-1', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.494358+00', 'default', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-1', 1, '\x7b226e223a317d', true, NULL, 'application/json', '{"source": "dump"}', '2026-11-18 08:30:20.493767+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('816', 18, 'pending-2', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.502108+00', 'acme', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-2', 1, '\x7b226e223a327d', true, NULL, 'application/json', '{"source": "dump"}', '2026-11-18 08:30:20.50199+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('816', 19, 'pending-3', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.503156+00', 'acme', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-0', 1, '\x7b226e223a337d', true, NULL, 'application/json', '{"source": "dump"}', '2026-11-18 08:30:20.503063+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('816', 20, 'pending-4', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.503947+00', 'umbrella', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-1', 1, '\x7b226e223a347d', true, NULL, 'application/json', '{"source": "dump"}', '2026-11-18 08:30:20.503866+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('816', 21, 'pending-5', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.504686+00', 'umbrella', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-2', 1, '\x7b226e223a357d', true, NULL, 'application/json', '{"source": "dump"}', '2026-11-18 08:30:20.504595+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('816', 22, 'pending-6', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.505404+00', 'default', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-0', 1, '\x7b226e223a367d', true, NULL, 'application/json', '{"source": "dump"}', '2026-11-18 08:30:20.505327+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('816', 23, 'pending-7', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.510469+00', 'default', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-1', 1, '\x7b226e223a377d', true, NULL, 'application/json', '{"source": "dump"}', '2026-11-18 08:30:20.510402+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('816', 24, 'pending-8', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.511058+00', 'acme', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-2', 1, '\x7b226e223a387d', true, NULL, 'application/json', '{"source": "dump"}', '2026-11-18 08:30:20.511008+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('816', 25, 'pending-9', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.511563+00', 'acme', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-0', 1, '\x7b226e223a397d', true, NULL, 'application/json', '{"source": "dump"}', '2026-11-18 08:30:20.511517+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('816', 26, 'pending-10', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.512142+00', 'umbrella', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-1', 1, '\x7b226e223a31307d', true, NULL, 'application/json', '{"source": "dump"}', '2026-11-18 08:30:20.512096+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('816', 27, 'pending-11', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.51261+00', 'umbrella', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-2', 1, '\x7b226e223a31317d', true, NULL, 'application/json', '{"source": "dump"}', '2026-11-18 08:30:20.512567+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('816', 28, 'pending-12', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.513087+00', 'default', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-0', 1, '\x7b226e223a31327d', true, NULL, 'application/json', '{"source": "dump"}', '2026-11-18 08:30:20.513043+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('816', 29, 'pending-13', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.517639+00', 'default', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-1', 1, '\x7b226e223a31337d', true, NULL, 'application/json', '{"source": "dump"}', '2026-11-18 08:30:20.513504+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('816', 30, 'pending-14', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.518429+00', 'acme', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-2', 1, '\x7b226e223a31347d', true, NULL, 'application/json', '{"source": "dump"}', '2026-11-18 08:30:20.518367+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('816', 31, 'pending-15', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.518995+00', 'acme', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-0', 1, '\x7b226e223a31357d', true, NULL, 'application/json', '{"source": "dump"}', '2026-11-18 08:30:20.518946+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('816', 32, 'pending-16', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.519483+00', 'umbrella', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-1', 1, '\x7b226e223a31367d', true, NULL, 'application/json', '{"source": "dump"}', '2026-11-18 08:30:20.519439+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('816', 33, 'pending-17', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.519968+00', 'umbrella', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-2', 1, '\x7b226e223a31377d', true, NULL, 'application/json', '{"source": "dump"}', '2026-11-18 08:30:20.519924+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('816', 34, 'pending-18', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.520435+00', 'default', 'ok.placed.v1', '__GLOBAL__', NULL, 'customer-0', 1, '\x7b226e223a31387d', true, NULL, 'application/json', '{"source": "dump"}', '2026-11-18 08:30:20.520392+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('817', 35, 'keyless-1', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.521863+00', 'umbrella', 'ok.nokey.v1', '__GLOBAL__', NULL, NULL, 0, '\x7b226e223a317d', true, NULL, 'application/json', NULL, '2026-11-18 08:30:20.521802+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('817', 36, 'keyless-2', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.52238+00', 'umbrella', 'ok.nokey.v1', '__GLOBAL__', NULL, NULL, 1, '\x7b226e223a317d', true, NULL, 'application/json', NULL, '2026-11-18 08:30:20.522335+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('817', 37, 'keyless-3', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.522845+00', 'umbrella', 'ok.nokey.v1', '__GLOBAL__', NULL, NULL, 2, '\x7b226e223a317d', true, NULL, 'application/json', NULL, '2026-11-18 08:30:20.522802+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('818', 38, 'bytes-1', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.526718+00', 'default', 'ok.bytes.v1', '__GLOBAL__', NULL, NULL, 1, '\x0001ff', false, NULL, 'application/octet-stream', NULL, '2026-11-18 08:30:20.526632+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('819', 39, 'delayed-1', DEFAULT, DEFAULT, '2026-01-01 00:00:00+00', false, 0, 0, 0, '2026-11-18 08:30:20.529795+00', 'acme', 'ok.delayed.v1', '__GLOBAL__', NULL, 'delayed', 1, '\x7b7d', true, NULL, 'application/json', NULL, '2026-11-18 08:30:20.529796+00', '2026-01-01 00:00:00+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('819', 40, 'delayed-2', DEFAULT, DEFAULT, '2999-01-01 00:00:00+00', false, 0, 0, 0, '2026-11-18 08:30:20.530098+00', 'acme', 'ok.delayed.v1', '__GLOBAL__', NULL, 'much later', 1, '\x7b7d', true, NULL, 'application/json', NULL, '2026-11-18 08:30:20.530098+00', '2999-01-01 00:00:00+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('820', 41, 'dead-1', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.530417+00', 'acme', 'ok.again.v1', '__GLOBAL__', NULL, 'refused-1', 1, '\x7b22616761696e223a747275657d', true, NULL, 'application/json', NULL, '2026-11-18 08:30:20.530417+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('820', 42, 'done-1', DEFAULT, DEFAULT, NULL, false, 0, 0, 0, '2026-11-18 08:30:20.530458+00', 'default', 'ok.again.v1', '__GLOBAL__', NULL, 'customer-1', 1, '\x7b22616761696e223a747275657d', true, NULL, 'application/json', NULL, '2026-11-18 08:30:20.530458+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO the_schema.outbox VALUES
	('orders', 16, '2026-11-18 08:30:17.628712+00'),
	('Billing', 16, '2026-11-18 08:30:17.933596+00');
INSERT INTO the_schema.pause VALUES
	('Billing', '', 'ops', '', '2026-11-18 08:30:20.538515+00');
INSERT INTO the_schema.scope VALUES
	('outbox:orders', 16),
	('purge:orders', 1),
	('replay:orders', 1);
INSERT INTO the_schema.shard_owner VALUES
	('outbox:orders', 0, NULL, 1),
	('outbox:orders', 1, NULL, 1),
	('outbox:orders', 2, NULL, 1),
	('outbox:orders', 3, NULL, 1),
	('outbox:orders', 4, NULL, 1),
	('outbox:orders', 5, NULL, 1),
	('outbox:orders', 6, NULL, 1),
	('outbox:orders', 7, NULL, 1),
	('outbox:orders', 8, NULL, 1),
	('outbox:orders', 9, NULL, 1),
	('outbox:orders', 10, NULL, 1),
	('outbox:orders', 11, NULL, 1),
	('outbox:orders', 12, NULL, 1),
	('outbox:orders', 13, NULL, 1),
	('outbox:orders', 14, NULL, 1),
	('outbox:orders', 15, NULL, 1),
	('purge:orders', 0, NULL, 1),
	('replay:orders', 0, NULL, 1);
INSERT INTO the_schema.worker VALUES
	('01M7PWEDMFAJMZDB7VNPN1KDZZ', '-infinity', '2026-11-18 08:30:18.274765+00');
SELECT pg_catalog.setval('the_schema."Billing_flags"', 0, false);
SELECT pg_catalog.setval('the_schema."Billing_seq"', 1, true);
SELECT pg_catalog.setval('the_schema.orders_flags', 3854713021943250945, true);
SELECT pg_catalog.setval('the_schema.orders_seq', 43, true);
ALTER TABLE ONLY the_schema."Billing_claim"
    ADD CONSTRAINT "Billing_claim_pkey" PRIMARY KEY (seq);
ALTER TABLE ONLY the_schema."Billing_dead"
    ADD CONSTRAINT "Billing_dead_pkey" PRIMARY KEY (seq);
ALTER TABLE ONLY the_schema."Billing_outbox"
    ADD CONSTRAINT "Billing_outbox_pkey" PRIMARY KEY (seq);
ALTER TABLE ONLY the_schema.audit_head
    ADD CONSTRAINT audit_head_pkey PRIMARY KEY (only_one);
ALTER TABLE ONLY the_schema.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (number);
ALTER TABLE ONLY the_schema.counter
    ADD CONSTRAINT counter_pkey PRIMARY KEY (outbox, name, slot);
ALTER TABLE ONLY the_schema.member
    ADD CONSTRAINT member_pkey PRIMARY KEY (worker, scope);
ALTER TABLE ONLY the_schema.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (number, outbox);
ALTER TABLE ONLY the_schema.orders_claim
    ADD CONSTRAINT orders_claim_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY the_schema.orders_dead
    ADD CONSTRAINT orders_dead_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY the_schema.orders_outbox
    ADD CONSTRAINT orders_outbox_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY the_schema.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (name);
ALTER TABLE ONLY the_schema.pause
    ADD CONSTRAINT pause_pkey PRIMARY KEY (outbox, topic);
ALTER TABLE ONLY the_schema.replay_job
    ADD CONSTRAINT replay_job_pkey PRIMARY KEY (outbox, id);
ALTER TABLE ONLY the_schema.scope
    ADD CONSTRAINT scope_pkey PRIMARY KEY (name);
ALTER TABLE ONLY the_schema.shard_owner
    ADD CONSTRAINT shard_owner_pkey PRIMARY KEY (scope, shard);
ALTER TABLE ONLY the_schema.worker
    ADD CONSTRAINT worker_pkey PRIMARY KEY (id);
CREATE INDEX "Billing_archive_ended" ON ONLY the_schema."Billing_archive" USING brin (ended_at);
CREATE INDEX "Billing_a20261117_ended_at_idx" ON the_schema."Billing_a20261117" USING brin (ended_at);
CREATE INDEX "Billing_archive_id" ON ONLY the_schema."Billing_archive" USING btree (id);
CREATE INDEX "Billing_a20261117_id_idx" ON the_schema."Billing_a20261117" USING btree (id);
CREATE INDEX "Billing_archive_by_seq" ON ONLY the_schema."Billing_archive" USING btree (seq);
CREATE INDEX "Billing_a20261117_seq_idx" ON the_schema."Billing_a20261117" USING btree (seq);
CREATE INDEX "Billing_a20261118_ended_at_idx" ON the_schema."Billing_a20261118" USING brin (ended_at);
CREATE INDEX "Billing_a20261118_id_idx" ON the_schema."Billing_a20261118" USING btree (id);
CREATE INDEX "Billing_a20261118_seq_idx" ON the_schema."Billing_a20261118" USING btree (seq);
CREATE INDEX "Billing_a20261119_ended_at_idx" ON the_schema."Billing_a20261119" USING brin (ended_at);
CREATE INDEX "Billing_a20261119_id_idx" ON the_schema."Billing_a20261119" USING btree (id);
CREATE INDEX "Billing_a20261119_seq_idx" ON the_schema."Billing_a20261119" USING btree (seq);
CREATE INDEX "Billing_a20261120_ended_at_idx" ON the_schema."Billing_a20261120" USING brin (ended_at);
CREATE INDEX "Billing_a20261120_id_idx" ON the_schema."Billing_a20261120" USING btree (id);
CREATE INDEX "Billing_a20261120_seq_idx" ON the_schema."Billing_a20261120" USING btree (seq);
CREATE INDEX "Billing_a20261121_ended_at_idx" ON the_schema."Billing_a20261121" USING brin (ended_at);
CREATE INDEX "Billing_a20261121_id_idx" ON the_schema."Billing_a20261121" USING btree (id);
CREATE INDEX "Billing_a20261121_seq_idx" ON the_schema."Billing_a20261121" USING btree (seq);
CREATE INDEX "Billing_archive_rest_ended_at_idx" ON the_schema."Billing_archive_rest" USING brin (ended_at);
CREATE INDEX "Billing_archive_rest_id_idx" ON the_schema."Billing_archive_rest" USING btree (id);
CREATE INDEX "Billing_archive_rest_seq_idx" ON the_schema."Billing_archive_rest" USING btree (seq);
CREATE INDEX "Billing_claim_shard" ON the_schema."Billing_claim" USING btree (shard, lane, seq) WHERE (lane >= 0);
CREATE INDEX "Billing_dead_ended" ON the_schema."Billing_dead" USING btree (state, ended_at);
CREATE UNIQUE INDEX "Billing_dead_id" ON the_schema."Billing_dead" USING btree (id);
CREATE INDEX "Billing_dead_tenant" ON the_schema."Billing_dead" USING btree (tenant, state, ended_at);
CREATE INDEX "Billing_outbox_fresh" ON the_schema."Billing_outbox" USING btree (shard, lane, seq) WHERE (due IS NULL);
CREATE UNIQUE INDEX "Billing_outbox_id" ON the_schema."Billing_outbox" USING btree (id);
CREATE INDEX "Billing_outbox_keys" ON the_schema."Billing_outbox" USING btree (shard, seq) WHERE (retrying AND (key IS NOT NULL));
CREATE INDEX "Billing_outbox_tenant" ON the_schema."Billing_outbox" USING btree (tenant, seq) WHERE (tenant <> 'default'::text);
CREATE INDEX "Billing_outbox_waiting" ON the_schema."Billing_outbox" USING btree (shard, due, seq) WHERE (due IS NOT NULL);
CREATE INDEX orders_archive_ended ON ONLY the_schema.orders_archive USING brin (ended_at);
CREATE INDEX orders_a20261117_ended_at_idx ON the_schema.orders_a20261117 USING brin (ended_at);
CREATE INDEX orders_archive_id ON ONLY the_schema.orders_archive USING btree (id);
CREATE INDEX orders_a20261117_id_idx ON the_schema.orders_a20261117 USING btree (id);
CREATE INDEX orders_archive_by_seq ON ONLY the_schema.orders_archive USING btree (seq);
CREATE INDEX orders_a20261117_seq_idx ON the_schema.orders_a20261117 USING btree (seq);
CREATE INDEX orders_a20261118_ended_at_idx ON the_schema.orders_a20261118 USING brin (ended_at);
CREATE INDEX orders_a20261118_id_idx ON the_schema.orders_a20261118 USING btree (id);
CREATE INDEX orders_a20261118_seq_idx ON the_schema.orders_a20261118 USING btree (seq);
CREATE INDEX orders_a20261119_ended_at_idx ON the_schema.orders_a20261119 USING brin (ended_at);
CREATE INDEX orders_a20261119_id_idx ON the_schema.orders_a20261119 USING btree (id);
CREATE INDEX orders_a20261119_seq_idx ON the_schema.orders_a20261119 USING btree (seq);
CREATE INDEX orders_a20261120_ended_at_idx ON the_schema.orders_a20261120 USING brin (ended_at);
CREATE INDEX orders_a20261120_id_idx ON the_schema.orders_a20261120 USING btree (id);
CREATE INDEX orders_a20261120_seq_idx ON the_schema.orders_a20261120 USING btree (seq);
CREATE INDEX orders_a20261121_ended_at_idx ON the_schema.orders_a20261121 USING brin (ended_at);
CREATE INDEX orders_a20261121_id_idx ON the_schema.orders_a20261121 USING btree (id);
CREATE INDEX orders_a20261121_seq_idx ON the_schema.orders_a20261121 USING btree (seq);
CREATE INDEX orders_archive_rest_ended_at_idx ON the_schema.orders_archive_rest USING brin (ended_at);
CREATE INDEX orders_archive_rest_id_idx ON the_schema.orders_archive_rest USING btree (id);
CREATE INDEX orders_archive_rest_seq_idx ON the_schema.orders_archive_rest USING btree (seq);
CREATE INDEX orders_claim_shard ON the_schema.orders_claim USING btree (shard, lane, seq) WHERE (lane >= 0);
CREATE INDEX orders_dead_ended ON the_schema.orders_dead USING btree (state, ended_at);
CREATE UNIQUE INDEX orders_dead_id ON the_schema.orders_dead USING btree (id);
CREATE INDEX orders_dead_tenant ON the_schema.orders_dead USING btree (tenant, state, ended_at);
CREATE INDEX orders_outbox_fresh ON the_schema.orders_outbox USING btree (shard, lane, seq) WHERE (due IS NULL);
CREATE UNIQUE INDEX orders_outbox_id ON the_schema.orders_outbox USING btree (id);
CREATE INDEX orders_outbox_keys ON the_schema.orders_outbox USING btree (shard, seq) WHERE (retrying AND (key IS NOT NULL));
CREATE INDEX orders_outbox_tenant ON the_schema.orders_outbox USING btree (tenant, seq) WHERE (tenant <> 'default'::text);
CREATE INDEX orders_outbox_waiting ON the_schema.orders_outbox USING btree (shard, due, seq) WHERE (due IS NOT NULL);
ALTER INDEX the_schema."Billing_archive_ended" ATTACH PARTITION the_schema."Billing_a20261117_ended_at_idx";
ALTER INDEX the_schema."Billing_archive_id" ATTACH PARTITION the_schema."Billing_a20261117_id_idx";
ALTER INDEX the_schema."Billing_archive_by_seq" ATTACH PARTITION the_schema."Billing_a20261117_seq_idx";
ALTER INDEX the_schema."Billing_archive_ended" ATTACH PARTITION the_schema."Billing_a20261118_ended_at_idx";
ALTER INDEX the_schema."Billing_archive_id" ATTACH PARTITION the_schema."Billing_a20261118_id_idx";
ALTER INDEX the_schema."Billing_archive_by_seq" ATTACH PARTITION the_schema."Billing_a20261118_seq_idx";
ALTER INDEX the_schema."Billing_archive_ended" ATTACH PARTITION the_schema."Billing_a20261119_ended_at_idx";
ALTER INDEX the_schema."Billing_archive_id" ATTACH PARTITION the_schema."Billing_a20261119_id_idx";
ALTER INDEX the_schema."Billing_archive_by_seq" ATTACH PARTITION the_schema."Billing_a20261119_seq_idx";
ALTER INDEX the_schema."Billing_archive_ended" ATTACH PARTITION the_schema."Billing_a20261120_ended_at_idx";
ALTER INDEX the_schema."Billing_archive_id" ATTACH PARTITION the_schema."Billing_a20261120_id_idx";
ALTER INDEX the_schema."Billing_archive_by_seq" ATTACH PARTITION the_schema."Billing_a20261120_seq_idx";
ALTER INDEX the_schema."Billing_archive_ended" ATTACH PARTITION the_schema."Billing_a20261121_ended_at_idx";
ALTER INDEX the_schema."Billing_archive_id" ATTACH PARTITION the_schema."Billing_a20261121_id_idx";
ALTER INDEX the_schema."Billing_archive_by_seq" ATTACH PARTITION the_schema."Billing_a20261121_seq_idx";
ALTER INDEX the_schema."Billing_archive_ended" ATTACH PARTITION the_schema."Billing_archive_rest_ended_at_idx";
ALTER INDEX the_schema."Billing_archive_id" ATTACH PARTITION the_schema."Billing_archive_rest_id_idx";
ALTER INDEX the_schema."Billing_archive_by_seq" ATTACH PARTITION the_schema."Billing_archive_rest_seq_idx";
ALTER INDEX the_schema.orders_archive_ended ATTACH PARTITION the_schema.orders_a20261117_ended_at_idx;
ALTER INDEX the_schema.orders_archive_id ATTACH PARTITION the_schema.orders_a20261117_id_idx;
ALTER INDEX the_schema.orders_archive_by_seq ATTACH PARTITION the_schema.orders_a20261117_seq_idx;
ALTER INDEX the_schema.orders_archive_ended ATTACH PARTITION the_schema.orders_a20261118_ended_at_idx;
ALTER INDEX the_schema.orders_archive_id ATTACH PARTITION the_schema.orders_a20261118_id_idx;
ALTER INDEX the_schema.orders_archive_by_seq ATTACH PARTITION the_schema.orders_a20261118_seq_idx;
ALTER INDEX the_schema.orders_archive_ended ATTACH PARTITION the_schema.orders_a20261119_ended_at_idx;
ALTER INDEX the_schema.orders_archive_id ATTACH PARTITION the_schema.orders_a20261119_id_idx;
ALTER INDEX the_schema.orders_archive_by_seq ATTACH PARTITION the_schema.orders_a20261119_seq_idx;
ALTER INDEX the_schema.orders_archive_ended ATTACH PARTITION the_schema.orders_a20261120_ended_at_idx;
ALTER INDEX the_schema.orders_archive_id ATTACH PARTITION the_schema.orders_a20261120_id_idx;
ALTER INDEX the_schema.orders_archive_by_seq ATTACH PARTITION the_schema.orders_a20261120_seq_idx;
ALTER INDEX the_schema.orders_archive_ended ATTACH PARTITION the_schema.orders_a20261121_ended_at_idx;
ALTER INDEX the_schema.orders_archive_id ATTACH PARTITION the_schema.orders_a20261121_id_idx;
ALTER INDEX the_schema.orders_archive_by_seq ATTACH PARTITION the_schema.orders_a20261121_seq_idx;
ALTER INDEX the_schema.orders_archive_ended ATTACH PARTITION the_schema.orders_archive_rest_ended_at_idx;
ALTER INDEX the_schema.orders_archive_id ATTACH PARTITION the_schema.orders_archive_rest_id_idx;
ALTER INDEX the_schema.orders_archive_by_seq ATTACH PARTITION the_schema.orders_archive_rest_seq_idx;
CREATE TRIGGER "Billing_wake" AFTER INSERT ON the_schema."Billing_outbox" FOR EACH STATEMENT EXECUTE FUNCTION the_schema."Billing_wake"();
CREATE TRIGGER orders_wake AFTER INSERT ON the_schema.orders_outbox FOR EACH STATEMENT EXECUTE FUNCTION the_schema.orders_wake();
ALTER TABLE ONLY the_schema.counter
    ADD CONSTRAINT counter_outbox_fkey FOREIGN KEY (outbox) REFERENCES the_schema.outbox(name) ON DELETE CASCADE;
ALTER TABLE ONLY the_schema.member
    ADD CONSTRAINT member_scope_fkey FOREIGN KEY (scope) REFERENCES the_schema.scope(name);
ALTER TABLE ONLY the_schema.member
    ADD CONSTRAINT member_worker_fkey FOREIGN KEY (worker) REFERENCES the_schema.worker(id) ON DELETE CASCADE;
ALTER TABLE ONLY the_schema.pause
    ADD CONSTRAINT pause_outbox_fkey FOREIGN KEY (outbox) REFERENCES the_schema.outbox(name) ON DELETE CASCADE;
ALTER TABLE ONLY the_schema.replay_job
    ADD CONSTRAINT replay_job_outbox_fkey FOREIGN KEY (outbox) REFERENCES the_schema.outbox(name) ON DELETE CASCADE;
ALTER TABLE ONLY the_schema.shard_owner
    ADD CONSTRAINT shard_owner_scope_fkey FOREIGN KEY (scope) REFERENCES the_schema.scope(name);
COMMIT;
