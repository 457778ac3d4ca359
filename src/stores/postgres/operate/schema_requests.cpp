#include "stores/postgres/operate/schema_steps.hpp"

namespace sagabox::postgres {
namespace {

constexpr std::string_view idempotency_up = R"sql(
-- Which requests are under way or done. A record is written when its request is let through and
-- changed once when that ends: pages keep room for this second version, which then needs no entries
-- in the indexes.
CREATE TABLE "{schema}".idempotency (
  tenant        text        COLLATE "C" NOT NULL,
  consumer      text        COLLATE "C" NOT NULL,
  key           text        COLLATE "C" NOT NULL,
  request_hash  bytea       NOT NULL,
  state         text        COLLATE "C" NOT NULL DEFAULT 'in_flight'
                            CHECK (state IN ('in_flight', 'succeeded', 'failed', 'released')),
  ticket        bigint      NOT NULL,
  attempts      integer     NOT NULL DEFAULT 1,
  created_at    timestamptz NOT NULL,
  changed_at    timestamptz NOT NULL,
  lease_until   timestamptz NOT NULL,
  expires_at    timestamptz NOT NULL,
  result        bytea,
  result_digest bytea,
  code          text,
  error         text,
  PRIMARY KEY (tenant, consumer, key)
) WITH (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000,
  autovacuum_vacuum_insert_scale_factor = 0.1
);
CREATE INDEX idempotency_expires ON "{schema}".idempotency (expires_at);
)sql";

constexpr std::string_view idempotency_down = R"sql(
DROP TABLE "{schema}".idempotency;
)sql";

constexpr std::string_view inbox_up = R"sql(
CREATE DOMAIN "{schema}".inbox_name AS text COLLATE "C"
  CONSTRAINT of_1_to_255_characters CHECK (value <> '' AND length(value) <= 255);

-- What consumers have done. Written in their own transactions, never changed.
CREATE TABLE "{schema}".inbox (
  tenant   "{schema}".inbox_name NOT NULL,
  consumer "{schema}".inbox_name NOT NULL,
  key      "{schema}".inbox_name NOT NULL,
  taken_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant, consumer, key)
);
CREATE INDEX inbox_taken_at ON "{schema}".inbox (taken_at);

-- Which steps of sagas have run here: 'acted', 'undone' after that, or 'refused' when the
-- compensation came first. `state_before` is the state that the last call found.
CREATE TABLE "{schema}".barrier (
  tenant       "{schema}".inbox_name NOT NULL,
  saga         "{schema}".inbox_name NOT NULL,
  step         "{schema}".inbox_name NOT NULL,
  round        bigint      NOT NULL,
  state        text        COLLATE "C" NOT NULL CHECK (state IN ('acted', 'undone', 'refused')),
  state_before text        COLLATE "C",
  keep_until   timestamptz NOT NULL,
  PRIMARY KEY (tenant, saga, step, round)
);
CREATE INDEX barrier_keep_until ON "{schema}".barrier (keep_until);

-- Whether the caller is the first to take this key. The key is taken when its transaction commits;
-- another one that asks meanwhile waits for that. With the rights of its owner: EXECUTE is all that
-- a consumer needs.
CREATE FUNCTION "{schema}".first_time(tenant text, consumer text, key text) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
  WITH taken AS (
    INSERT INTO "{schema}".inbox (tenant, consumer, key)
    VALUES ($1, $2, $3)
    ON CONFLICT (tenant, consumer, key) DO NOTHING
    RETURNING 1
  )
  SELECT EXISTS (SELECT FROM taken)
$body$;
REVOKE ALL ON FUNCTION "{schema}".first_time FROM PUBLIC;

-- What a participant of a saga does with a call: 'run', or skip it: 'repeated' and
-- 'nothing_to_undo' are answered as done, 'too_late' as failed.
CREATE FUNCTION "{schema}".barrier(
  saga text, step text, direction text, deadline timestamptz, round bigint DEFAULT 0,
  retention interval DEFAULT '1 day', tenant text DEFAULT 'default') RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
#variable_conflict use_column
DECLARE
  before text;
BEGIN
  IF (direction IN ('action', 'compensation')) IS NOT TRUE THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
      MESSAGE = format('direction: %L; give ''action'' or ''compensation''', direction);
  END IF;
  IF deadline IS NULL OR retention IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed',
      MESSAGE = 'deadline and retention: give those of the saga';
  END IF;
  INSERT INTO "{schema}".barrier AS known (tenant, saga, step, round, state, keep_until)
  VALUES ($7, $1, $2, $5, CASE direction WHEN 'action' THEN 'acted' ELSE 'refused' END,
          deadline + retention)
  ON CONFLICT (tenant, saga, step, round) DO UPDATE
  SET state_before = known.state,
      state = CASE WHEN known.state = 'acted' AND excluded.state = 'refused'
                   THEN 'undone' ELSE known.state END,
      keep_until = greatest(known.keep_until, excluded.keep_until)
  RETURNING known.state_before INTO before;
  RETURN CASE
    WHEN direction = 'action' THEN
      CASE before WHEN 'acted' THEN 'repeated' WHEN 'undone' THEN 'too_late'
                  WHEN 'refused' THEN 'too_late' ELSE 'run' END
    ELSE CASE before WHEN 'acted' THEN 'run' WHEN 'undone' THEN 'repeated'
                     ELSE 'nothing_to_undo' END
  END;
END
$body$;
REVOKE ALL ON FUNCTION "{schema}".barrier FROM PUBLIC;
)sql";

constexpr std::string_view inbox_down = R"sql(
DROP FUNCTION "{schema}".barrier(text, text, text, timestamptz, bigint, interval, text);
DROP FUNCTION "{schema}".first_time(text, text, text);
DROP TABLE "{schema}".barrier, "{schema}".inbox;
DROP DOMAIN "{schema}".inbox_name;
)sql";

// A key that is asked for again is kept as long from then on as a new one: what was skipped may
// come once more. The plan of the UPDATE may be made while the table is empty, and is kept.
constexpr std::string_view inbox_renewal_up = R"sql(
CREATE OR REPLACE FUNCTION "{schema}".first_time(tenant text, consumer text, key text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off AS $body$
#variable_conflict use_column
BEGIN
  INSERT INTO "{schema}".inbox (tenant, consumer, key)
  VALUES ($1, $2, $3)
  ON CONFLICT (tenant, consumer, key) DO NOTHING;
  IF FOUND THEN RETURN true; END IF;
  UPDATE "{schema}".inbox
  SET taken_at = clock_timestamp()
  WHERE tenant = $1 AND consumer = $2 AND key = $3
    AND taken_at <= clock_timestamp() - interval '1 hour';
  RETURN false;
END
$body$;
)sql";

constexpr std::string_view inbox_renewal_down = R"sql(
CREATE OR REPLACE FUNCTION "{schema}".first_time(tenant text, consumer text, key text)
RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
  WITH taken AS (
    INSERT INTO "{schema}".inbox (tenant, consumer, key)
    VALUES ($1, $2, $3)
    ON CONFLICT (tenant, consumer, key) DO NOTHING
    RETURNING 1
  )
  SELECT EXISTS (SELECT FROM taken)
$body$;
)sql";

}  // namespace

Migration idempotency_step() noexcept {
  return {1, "idempotency", idempotency_up, idempotency_down};
}

Migration inbox_step() noexcept { return {1, "inbox", inbox_up, inbox_down}; }
Migration inbox_renewal_step() noexcept {
  return {2, "inbox renewal", inbox_renewal_up, inbox_renewal_down};
}

}  // namespace sagabox::postgres
