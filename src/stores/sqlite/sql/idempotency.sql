-- Records of requests. ?1 tenant, ?2 consumer, ?3 key. Times are microseconds.

-- name: idempotency_take
-- ?4 hash, ?5 ticket, ?6 lease, ?7 ttl, ?8 now. Inserts the request or takes over a free record. No
-- row if another record blocks it.
INSERT INTO sagabox_idempotency AS known
  (tenant, consumer, key, request_hash, ticket, created_at, changed_at, lease_until, expires_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?8, ?8, ?8 + ?6, ?8 + ?7)
ON CONFLICT (tenant, consumer, key) DO UPDATE
SET (request_hash, state, ticket, changed_at, lease_until, expires_at, result, result_digest, code,
     error) =
    (excluded.request_hash, 'in_flight', excluded.ticket, excluded.changed_at,
     excluded.lease_until, excluded.expires_at, NULL, NULL, NULL, NULL),
    created_at = CASE WHEN known.expires_at <= ?8
                       AND (known.state <> 'in_flight' OR known.lease_until <= ?8)
                      THEN ?8 ELSE known.created_at END,
    attempts = CASE WHEN known.expires_at <= ?8
                     AND (known.state <> 'in_flight' OR known.lease_until <= ?8) THEN 1
                    WHEN known.state = 'in_flight' AND known.ticket = ?5 THEN known.attempts
                    ELSE known.attempts + 1 END
WHERE known.state = 'released'
   OR (known.expires_at <= ?8 AND (known.state <> 'in_flight' OR known.lease_until <= ?8))
   OR (known.state = 'in_flight' AND known.lease_until <= ?8
       AND known.request_hash = excluded.request_hash)
   OR (known.state = 'in_flight' AND known.ticket = ?5)
RETURNING attempts, created_at, changed_at;

-- name: idempotency_look
-- ?4 now. The record that blocks the request, and the current time.
SELECT ?4, tenant, consumer, key, request_hash, state, ticket, attempts, created_at, changed_at,
       lease_until, expires_at, result, result_digest, code, error
FROM sagabox_idempotency
WHERE tenant = ?1 AND consumer = ?2 AND key = ?3;

-- name: idempotency_finish
-- ?4 ticket, ?5 now, ?6 result, ?7 its digest. Returns a row if the ticket is the holder's.
UPDATE sagabox_idempotency
SET state = 'succeeded', result = ?6, result_digest = ?7, changed_at = ?5
WHERE tenant = ?1 AND consumer = ?2 AND key = ?3 AND ticket = ?4
  AND state IN ('in_flight', 'succeeded')
RETURNING 1;

-- name: idempotency_fail
-- ?4 ticket, ?5 now, ?6 state, ?7 code, ?8 error. Returns a row if the ticket is the holder's.
UPDATE sagabox_idempotency
SET state = ?6, code = ?7, error = ?8, changed_at = ?5
WHERE tenant = ?1 AND consumer = ?2 AND key = ?3 AND ticket = ?4 AND state IN ('in_flight', ?6)
RETURNING 1;

-- name: idempotency_renew
-- ?4 ticket, ?5 now, ?6 lease. Returns a row if the ticket is the holder's.
UPDATE sagabox_idempotency
SET lease_until = ?5 + ?6
WHERE tenant = ?1 AND consumer = ?2 AND key = ?3 AND ticket = ?4 AND state = 'in_flight'
RETURNING 1;

-- name: idempotency_purge_expired
-- ?1 rows at most, ?2 now. Returns a row for each that was removed.
DELETE FROM sagabox_idempotency
WHERE (tenant, consumer, key) IN (
  SELECT tenant, consumer, key FROM sagabox_idempotency
  WHERE expires_at <= ?2 AND (state <> 'in_flight' OR lease_until <= ?2)
  ORDER BY expires_at
  LIMIT ?1)
RETURNING 1;

-- name: idempotency_purge_key
-- Returns a row if there was one.
DELETE FROM sagabox_idempotency WHERE tenant = ?1 AND consumer = ?2 AND key = ?3 RETURNING 1;

-- name: idempotency_made
-- No row if the table does not exist.
SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'sagabox_idempotency';

-- name: idempotency_list
-- Rows after ?1, ?2 and ?3; ?4 consumer and ?5 state, if they are not null; ?6 rows.
SELECT tenant, consumer, key, request_hash, state, ticket, attempts, created_at, changed_at,
       lease_until, expires_at, result, result_digest, code, error
FROM sagabox_idempotency
WHERE (tenant, consumer, key) > (?1, ?2, ?3)
  AND (?4 IS NULL OR consumer = ?4) AND (?5 IS NULL OR state = ?5)
ORDER BY tenant, consumer, key
LIMIT ?6;

-- name: idempotency_list_of_tenant
-- The same for tenant ?1 only.
SELECT tenant, consumer, key, request_hash, state, ticket, attempts, created_at, changed_at,
       lease_until, expires_at, result, result_digest, code, error
FROM sagabox_idempotency
WHERE tenant = ?1 AND (consumer, key) > (?2, ?3)
  AND (?4 IS NULL OR consumer = ?4) AND (?5 IS NULL OR state = ?5)
ORDER BY consumer, key
LIMIT ?6;

-- name: idempotency_list_of_consumer
-- The same for tenant ?1 and consumer ?4 only; ?2 is the same consumer.
SELECT tenant, consumer, key, request_hash, state, ticket, attempts, created_at, changed_at,
       lease_until, expires_at, result, result_digest, code, error
FROM sagabox_idempotency
WHERE tenant = ?1 AND consumer = ?2 AND key > ?3
  AND consumer = ?4 AND (?5 IS NULL OR state = ?5)
ORDER BY key
LIMIT ?6;

-- name: idempotency_get
SELECT tenant, consumer, key, request_hash, state, ticket, attempts, created_at, changed_at,
       lease_until, expires_at, result, result_digest, code, error
FROM sagabox_idempotency
WHERE tenant = ?1 AND consumer = ?2 AND key = ?3;
