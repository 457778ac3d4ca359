-- Sagas. Times are microseconds. Lists are JSON text; "in turn" says that a statement runs once for
-- each element of its lists.

-- name: saga_append
-- ?1 id, ?2 saga, ?3 definition, ?4 tenant, ?5 kind, ?6 body, ?7 now; each command in turn.
INSERT INTO sagabox_saga_inbox (id, saga, definition, tenant, kind, body, written_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: saga_shards
SELECT 1 FROM sqlite_schema WHERE name = 'sagabox_saga';

-- name: saga_define
-- ?1 name, ?2 version, ?3 digest, ?4 text, ?5 time. The digest that is stored then.
INSERT INTO sagabox_saga_definition (name, version, digest, text, registered_at)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (name, version) DO NOTHING;
SELECT digest FROM sagabox_saga_definition WHERE name = ?1 AND version = ?2;

-- name: saga_definitions
-- ?1 name; '' means all.
SELECT name, version, digest, text, registered_at
FROM sagabox_saga_definition
WHERE ?1 = '' OR name = ?1
ORDER BY name, version;

-- name: saga_read_inbox
-- ?1 definition; shards ?2, after ?3, rows at most ?4; bytes at most ?5. The number of the range,
-- three columns that tell nothing here, the command. There is one shard. One row more than asked
-- for, if there is one, and one more than fits.
SELECT (SELECT s.key + 1 FROM json_each(?2) AS s WHERE s.value = 0), NULL, NULL, NULL,
       seq, id, saga, definition, tenant, kind, body, written_at, 0
FROM (
  SELECT seq, id, saga, definition, tenant, kind, body, written_at,
         row_number() OVER (ORDER BY seq) AS place,
         sum(octets) OVER (ORDER BY seq) AS octets_to, octets
  FROM (
    SELECT *, length(CAST(body AS BLOB)) AS octets
    FROM sagabox_saga_inbox
    WHERE definition = ?1
      AND seq > (SELECT a.value FROM json_each(?3) AS a JOIN json_each(?2) AS s ON s.key = a.key
                 WHERE s.value = 0)
    ORDER BY seq
    LIMIT coalesce((SELECT m.value + 1 FROM json_each(?4) AS m JOIN json_each(?2) AS s
                    ON s.key = m.key WHERE s.value = 0), 0)))
WHERE place <= 2 OR octets_to - octets <= ?5
ORDER BY seq;

-- name: saga_draw_transaction
-- Commits come in order here.
SELECT 1;

-- name: saga_load
-- ?1 ids.
SELECT id, tenant, definition, definition_version, 0, state, quarantined, version, due, key,
       isolate, started_at, changed_at, ended_at, body, person, overdue_from
FROM sagabox_saga
WHERE id IN (SELECT value FROM json_each(?1))
ORDER BY id;

-- name: saga_load_due
-- ?1 definition, ?2 shard, after ?3 time and ?4 id, ?5 rows at most, ?6 now.
SELECT id, tenant, definition, definition_version, 0, state, quarantined, version, due, key,
       isolate, started_at, changed_at, ended_at, body, person, overdue_from
FROM sagabox_saga
WHERE definition = ?1 AND ?2 = 0 AND (due, id) > (?3, ?4) AND due <= ?6
  AND due IS NOT NULL AND state IN ('running', 'compensating', 'paused')
ORDER BY due, id
LIMIT ?5;

-- name: saga_results
-- ?1 ids.
SELECT id, saga, applied, reason, at
FROM sagabox_saga_command
WHERE id IN (SELECT value FROM json_each(?1))
ORDER BY id;

-- name: saga_hold
-- ?1 scope, ?2 owner; shards ?3, epochs ?4. The shards whose fence holds.
SELECT o.shard
FROM json_each(?3) AS s
JOIN json_each(?4) AS e ON e.key = s.key
JOIN sagabox_owner AS o ON o.scope = ?1 AND o.shard = s.value AND o.epoch = e.value
WHERE o.owner = ?2;

-- name: saga_versions
-- ?1 ids.
SELECT id, version FROM sagabox_saga WHERE id IN (SELECT value FROM json_each(?1));

-- name: saga_holders
-- ?1 definition, ?2 tenant, ?3 isolation key; each key in turn. The active saga that has it.
SELECT tenant, isolate, id
FROM sagabox_saga
WHERE definition = ?1 AND tenant = ?2 AND isolate = ?3 AND isolate <> ''
  AND state IN ('running', 'compensating', 'paused');

-- name: saga_write
-- ?1 definition, ?2 id, ?3 tenant, ?4 version of the definition, ?5 state, ?6 quarantined,
-- ?7 version, ?8 due, ?9 key, ?10 isolation key, ?11 started, ?12 changed, ?13 ended, ?14 body,
-- ?15 waits for a person, ?16 overdue from; 0 stands for no time. Each saga in turn. A row for each that was written: a new one has version 1.
INSERT INTO sagabox_saga AS s
  (id, tenant, definition, definition_version, state, quarantined, version, due, key, isolate,
   started_at, changed_at, ended_at, body, person, overdue_from)
SELECT ?2, ?3, ?1, ?4, ?5, ?6, ?7, nullif(?8, 0), ?9, ?10, ?11, ?12, nullif(?13, 0), ?14,
       ?15, nullif(?16, 0)
WHERE ?7 = 1 OR EXISTS (SELECT 1 FROM sagabox_saga WHERE id = ?2)
ON CONFLICT (id) DO UPDATE
SET definition_version = excluded.definition_version, state = excluded.state,
    quarantined = excluded.quarantined, version = excluded.version, due = excluded.due,
    key = excluded.key, isolate = excluded.isolate, started_at = excluded.started_at,
    changed_at = excluded.changed_at, ended_at = excluded.ended_at, body = excluded.body,
    person = excluded.person, overdue_from = excluded.overdue_from
WHERE s.version = excluded.version - 1
RETURNING 1;

-- name: saga_add_history
-- ?1 saga, ?2 number, ?3 time, ?4 event, ?5 step, ?6 detail, ?7 hash; each line in turn.
INSERT INTO sagabox_saga_history (saga, number, at, event, step, detail, hash)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (saga, number) DO NOTHING;

-- name: saga_cut_history
-- ?1 saga, ?2 the last number that goes, ?3 the last one that always stays; each saga in turn.
DELETE FROM sagabox_saga_history
WHERE saga = ?1 AND number > ?3 AND number <= ?2;

-- name: saga_add_labels
-- ?1 saga, ?2 name, ?3 value; each in turn.
INSERT INTO sagabox_saga_label (saga, name, value)
VALUES (?1, ?2, ?3)
ON CONFLICT (name, value, saga) DO NOTHING;

-- name: saga_take
-- ?1 definition, ?2 shards, ?3 sequences.
DELETE FROM sagabox_saga_inbox
WHERE seq IN (SELECT value FROM json_each(?3)) AND definition = ?1;

-- name: saga_add_results
-- ?1 id, ?2 saga, ?3 applied, ?4 reason, ?5 time; each in turn.
INSERT INTO sagabox_saga_command (id, saga, applied, reason, at)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (id) DO NOTHING;

-- name: saga_list
-- After ?1; ?2 tenant, ?3 definition, ?4 state, ?5 quarantined, ?6 key, ?7 started from, ?8 to,
-- where they are not null; ?9 rows at most, ?10 whether with bodies.
SELECT id, tenant, definition, definition_version, 0, state, quarantined, version, due, key,
       isolate, started_at, changed_at, ended_at, CASE WHEN ?10 THEN body ELSE '' END,
       person, overdue_from
FROM sagabox_saga
WHERE id > ?1
  AND (?2 IS NULL OR tenant = ?2) AND (?3 IS NULL OR definition = ?3)
  AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR quarantined = ?5)
  AND (?6 IS NULL OR key = ?6) AND (?7 IS NULL OR started_at >= ?7)
  AND (?8 IS NULL OR started_at < ?8)
ORDER BY id
LIMIT ?9;

-- name: saga_list_labelled
-- The same; ?11 name and ?12 value of a label.
SELECT id, tenant, definition, definition_version, 0, state, quarantined, version, due, key,
       isolate, started_at, changed_at, ended_at, CASE WHEN ?10 THEN body ELSE '' END,
       person, overdue_from
FROM sagabox_saga_label AS l
CROSS JOIN sagabox_saga AS s ON s.id = l.saga
WHERE l.name = ?11 AND l.value = ?12 AND l.saga > ?1
  AND (?2 IS NULL OR tenant = ?2) AND (?3 IS NULL OR definition = ?3)
  AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR quarantined = ?5)
  AND (?6 IS NULL OR key = ?6) AND (?7 IS NULL OR started_at >= ?7)
  AND (?8 IS NULL OR started_at < ?8)
ORDER BY l.saga
LIMIT ?9;

-- name: saga_get
-- ?1 id.
SELECT id, tenant, definition, definition_version, 0, state, quarantined, version, due, key,
       isolate, started_at, changed_at, ended_at, body, person, overdue_from
FROM sagabox_saga
WHERE id = ?1;

-- name: saga_labels
-- ?1 sagas.
SELECT saga, name, value
FROM sagabox_saga_label
WHERE saga IN (SELECT value FROM json_each(?1))
ORDER BY saga, name, value;

-- name: saga_history
-- ?1 saga, after ?2, ?3 rows at most.
SELECT number, at, event, step, detail, hash
FROM sagabox_saga_history
WHERE saga = ?1 AND number > ?2
ORDER BY number
LIMIT ?3;

-- name: saga_count
-- ?1 tenant; null means all.
SELECT definition, state, count(*), min(started_at)
FROM sagabox_saga
WHERE ?1 IS NULL OR tenant = ?1
GROUP BY definition, state;

-- name: saga_backlog
-- ?1 definition, ?2 now. Running, compensating, paused, dead, those that wait for a decision and for
-- an approval, the oldest active one, since when one is overdue, now. What is due is looked at from
-- its beginning, so many rows at most. The list of states is the condition of the indexes, word for
-- word: without it SQLite does not use them.
SELECT
  (SELECT count(*) FROM (SELECT 1 FROM sagabox_saga
    WHERE definition = ?1 AND state = 'running'
      AND state IN ('running', 'compensating', 'paused') LIMIT 1000000) AS running),
  (SELECT count(*) FROM (SELECT 1 FROM sagabox_saga
    WHERE definition = ?1 AND state = 'compensating'
      AND state IN ('running', 'compensating', 'paused') LIMIT 1000000) AS compensating),
  (SELECT count(*) FROM (SELECT 1 FROM sagabox_saga
    WHERE definition = ?1 AND state = 'paused'
      AND state IN ('running', 'compensating', 'paused') LIMIT 1000000) AS paused),
  (SELECT count(*) FROM (SELECT 1 FROM sagabox_saga
    WHERE definition = ?1 AND state = 'failed' AND NOT quarantined LIMIT 1000000) AS dead),
  (SELECT count(*) FROM (SELECT 1 FROM sagabox_saga
    WHERE definition = ?1 AND person = 'decision' AND person <> ''
      AND state IN ('running', 'compensating', 'paused') LIMIT 1000000) AS decision),
  (SELECT count(*) FROM (SELECT 1 FROM sagabox_saga
    WHERE definition = ?1 AND person = 'approval' AND person <> ''
      AND state IN ('running', 'compensating', 'paused') LIMIT 1000000) AS approval),
  (SELECT min(started_at) FROM (
    SELECT min(started_at) AS started_at FROM sagabox_saga
    WHERE definition = ?1 AND state = 'running'
      AND state IN ('running', 'compensating', 'paused')
    UNION ALL SELECT min(started_at) AS started_at FROM sagabox_saga
    WHERE definition = ?1 AND state = 'compensating'
      AND state IN ('running', 'compensating', 'paused')
    UNION ALL SELECT min(started_at) AS started_at FROM sagabox_saga
    WHERE definition = ?1 AND state = 'paused'
      AND state IN ('running', 'compensating', 'paused')
  )),
  (SELECT min(coalesce(overdue_from, due)) FROM (
     SELECT due, overdue_from FROM sagabox_saga
     WHERE definition = ?1 AND due IS NOT NULL AND due <= ?2
       AND state IN ('running', 'compensating', 'paused')
     ORDER BY due LIMIT 20000)
   WHERE coalesce(overdue_from, due) <= ?2),
  ?2;

-- name: saga_without_due
-- ?1 definition, after ?2 id, ?3 rows at most.
SELECT id, tenant, definition, definition_version, 0, state, quarantined, version, due, key,
       isolate, started_at, changed_at, ended_at, body, person, overdue_from
FROM sagabox_saga
WHERE definition = ?1 AND id > ?2 AND due IS NULL AND state IN ('running', 'compensating')
ORDER BY id
LIMIT ?3;

-- name: saga_pending
-- ?1 saga, ?2 rows at most.
SELECT seq, id, saga, definition, tenant, kind, body, written_at, 0
FROM sagabox_saga_inbox
WHERE saga = ?1
ORDER BY seq
LIMIT ?2;

-- name: saga_purge
-- ?1 definition, ?2 age, ?3 rows at most, ?4 now. How many.
CREATE TEMP TABLE IF NOT EXISTS sagabox_saga_old (id TEXT PRIMARY KEY);
DELETE FROM temp.sagabox_saga_old;
INSERT INTO temp.sagabox_saga_old (id)
SELECT id FROM sagabox_saga
WHERE definition = ?1 AND state IN ('completed', 'cancelled') AND ended_at <= ?4 - ?2
ORDER BY ended_at
LIMIT ?3;
DELETE FROM sagabox_saga_history WHERE saga IN (SELECT id FROM temp.sagabox_saga_old);
DELETE FROM sagabox_saga_label WHERE saga IN (SELECT id FROM temp.sagabox_saga_old);
DELETE FROM sagabox_saga_command WHERE saga IN (SELECT id FROM temp.sagabox_saga_old);
DELETE FROM sagabox_saga WHERE id IN (SELECT id FROM temp.sagabox_saga_old);
SELECT count(*) FROM temp.sagabox_saga_old;

-- name: saga_purge_refused
-- ?1 age, ?2 rows at most, ?3 now. Refused commands of sagas that are not there.
DELETE FROM sagabox_saga_command
WHERE id IN (
  SELECT id FROM sagabox_saga_command AS c
  WHERE NOT applied AND at <= ?3 - ?1
    AND NOT EXISTS (SELECT 1 FROM sagabox_saga AS s WHERE s.id = c.saga)
  ORDER BY at
  LIMIT ?2);
