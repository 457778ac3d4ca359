-- Records of requests. $1 tenant, $2 consumer, $3 key.

-- name: idempotency_take
-- $4 hash, $5 ticket, $6 lease and $7 ttl in microseconds. Inserts the request or takes over a free
-- record. No row if another record blocks it.
INSERT INTO "{schema}".idempotency AS known
  (tenant, consumer, key, request_hash, ticket, created_at, changed_at, lease_until, expires_at)
SELECT $1, $2, $3, $4, $5, at, at, at + $6 * interval '1 microsecond',
       at + $7 * interval '1 microsecond'
FROM clock_timestamp() AS at
ON CONFLICT (tenant, consumer, key) DO UPDATE
SET (request_hash, state, ticket, changed_at, lease_until, expires_at, result, result_digest,
     code, error) =
    (excluded.request_hash, 'in_flight', excluded.ticket, excluded.changed_at,
     excluded.lease_until, excluded.expires_at, NULL, NULL, NULL, NULL),
    created_at = CASE WHEN known.expires_at <= excluded.created_at
                       AND (known.state <> 'in_flight'
                            OR known.lease_until <= excluded.created_at)
                      THEN excluded.created_at ELSE known.created_at END,
    attempts = CASE WHEN known.expires_at <= excluded.created_at
                     AND (known.state <> 'in_flight'
                          OR known.lease_until <= excluded.created_at)
                    THEN 1
                    WHEN known.state = 'in_flight' AND known.ticket = excluded.ticket
                    THEN known.attempts
                    ELSE known.attempts + 1 END
WHERE known.state = 'released'
   OR (known.expires_at <= excluded.created_at
       AND (known.state <> 'in_flight' OR known.lease_until <= excluded.created_at))
   OR (known.state = 'in_flight' AND known.lease_until <= excluded.created_at
       AND known.request_hash = excluded.request_hash)
   OR (known.state = 'in_flight' AND known.ticket = excluded.ticket)
RETURNING attempts, created_at, changed_at;

-- name: idempotency_look
-- The record that blocks the request, and the current time.
SELECT clock_timestamp(), tenant, consumer, key, request_hash, state, ticket, attempts, created_at,
       changed_at, lease_until, expires_at, result, result_digest, code, error
FROM "{schema}".idempotency
WHERE tenant = $1 AND consumer = $2 AND key = $3;

-- name: idempotency_finish
-- $4 ticket, $6 result, $7 its digest. Returns a row if the ticket is the holder's.
UPDATE "{schema}".idempotency
SET state = 'succeeded', result = $6, result_digest = $7, changed_at = clock_timestamp()
WHERE tenant = $1 AND consumer = $2 AND key = $3 AND ticket = $4
  AND state IN ('in_flight', 'succeeded')
RETURNING 1;

-- name: idempotency_fail
-- $4 ticket, $6 state, $7 code, $8 error. Returns a row if the ticket is the holder's.
UPDATE "{schema}".idempotency
SET state = $6, code = $7, error = $8, changed_at = clock_timestamp()
WHERE tenant = $1 AND consumer = $2 AND key = $3 AND ticket = $4 AND state IN ('in_flight', $6)
RETURNING 1;

-- name: idempotency_renew
-- $4 ticket, $6 lease in microseconds. Returns a row if the ticket is the holder's.
UPDATE "{schema}".idempotency
SET lease_until = clock_timestamp() + $6 * interval '1 microsecond'
WHERE tenant = $1 AND consumer = $2 AND key = $3 AND ticket = $4 AND state = 'in_flight'
RETURNING 1;

-- name: idempotency_purge_expired
-- $1 rows at most. Returns a row for each that was removed.
DELETE FROM "{schema}".idempotency
WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM "{schema}".idempotency
  WHERE expires_at <= (SELECT clock_timestamp())
    AND (state <> 'in_flight' OR lease_until <= (SELECT clock_timestamp()))
  ORDER BY expires_at
  LIMIT $1
  FOR UPDATE SKIP LOCKED))
RETURNING 1;

-- name: idempotency_purge_key
-- Returns a row if there was one.
DELETE FROM "{schema}".idempotency WHERE tenant = $1 AND consumer = $2 AND key = $3 RETURNING 1;

-- name: idempotency_made
-- No row if the table does not exist.
SELECT 1 WHERE to_regclass('"{schema}".idempotency') IS NOT NULL;

-- name: idempotency_list
-- Rows after $1, $2 and $3; $4 consumer and $5 state, if they are not null; $6 rows.
SELECT tenant, consumer, key, request_hash, state, ticket, attempts, created_at, changed_at,
       lease_until, expires_at, result, result_digest, code, error
FROM "{schema}".idempotency
WHERE (tenant, consumer, key) > ($1, $2, $3)
  AND ($4::text IS NULL OR consumer = $4) AND ($5::text IS NULL OR state = $5)
ORDER BY tenant, consumer, key
LIMIT $6;

-- name: idempotency_list_of_tenant
-- The same for tenant $1 only.
SELECT tenant, consumer, key, request_hash, state, ticket, attempts, created_at, changed_at,
       lease_until, expires_at, result, result_digest, code, error
FROM "{schema}".idempotency
WHERE tenant = $1 AND (consumer, key) > ($2, $3)
  AND ($4::text IS NULL OR consumer = $4) AND ($5::text IS NULL OR state = $5)
ORDER BY consumer, key
LIMIT $6;

-- name: idempotency_list_of_consumer
-- The same for tenant $1 and consumer $4 only; $2 is the same consumer.
SELECT tenant, consumer, key, request_hash, state, ticket, attempts, created_at, changed_at,
       lease_until, expires_at, result, result_digest, code, error
FROM "{schema}".idempotency
WHERE tenant = $1 AND consumer = $2 AND key > $3
  AND consumer = $4 AND ($5::text IS NULL OR state = $5)
ORDER BY key
LIMIT $6;

-- name: idempotency_get
SELECT tenant, consumer, key, request_hash, state, ticket, attempts, created_at, changed_at,
       lease_until, expires_at, result, result_digest, code, error
FROM "{schema}".idempotency
WHERE tenant = $1 AND consumer = $2 AND key = $3;
